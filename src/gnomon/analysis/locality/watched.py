"""Static counters of a process: few bytes each, counted exactly by breakpoint registers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.locality.model import StaticCount
from gnomon.analysis.locality.objects import variables_of
from gnomon.errors import UsageError
from gnomon.sources.breakpoints import MOST, Access, Breakpoint, BreakpointCounters
from gnomon.sources.mappings import read_mappings
from gnomon.units import parse_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DYNAMIC = 3  # ET_DYN: a program that can be loaded anywhere


def parse_range(text: str) -> tuple[int, int] | None:
    """Return start and end of START-END or START+SIZE, None for anything else."""
    for sign in ("-", "+"):
        first, found, second = text.partition(sign)
        if not found:
            continue
        try:
            start = int(first, 0)
            return start, int(second, 0) if sign == "-" else start + parse_size(second, "--static")
        except ValueError:
            break
    return None


class Watched:
    """Ranges or variables of a process to be watched, as they were written by the user."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        if len(texts) > MOST:
            raise UsageError(
                f"{len(texts)} static counters are asked for, and a processor has {MOST} "
                "breakpoint registers: leave some away, or trace the program with --by trace."
            )
        self._texts = texts
        self._counters: BreakpointCounters | None = None
        self._counts: dict[str, list[int]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        # x86 has registers for writes and for all accesses: with few ranges both are counted.
        self._both = 2 * len(texts) <= MOST

    def __bool__(self) -> bool:
        return bool(self._texts)

    def set(self, pid: int) -> None:
        """Watch a process that has not run yet, or not on; what another one counted is kept."""
        self._take()
        found: dict[str, tuple[int, int]] = {}
        variables: dict[str, tuple[int, int]] | None = None
        for text in self._texts:
            given = parse_range(text)
            if given is None:
                variables = _variables(pid) if variables is None else variables
                given = variables.get(text)
            if given is not None:
                found[text] = given
        self._places.update(found)
        kinds = (Access.READ_WRITE, Access.WRITE) if self._both else (Access.READ_WRITE,)
        wanted = tuple(
            Breakpoint(text, start, end - start, kind)
            for text, (start, end) in found.items()
            for kind in kinds
        )
        self._counters = BreakpointCounters(pid, wanted) if wanted else None

    def counts(self, nodes: int) -> tuple[StaticCount, ...]:
        """Return what was counted; from which node is not known, and stands with the first."""
        self._take()

        def column(number: int) -> NDArray[np.int64]:
            return np.array([number, *[0] * (nodes - 1)], np.int64)

        return tuple(
            StaticCount(
                *self._places[text],
                column(counts[0]),
                column(counts[1]) if self._both else None,
                "" if parse_range(text) else text,
            )
            for text, counts in self._counts.items()
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of ranges that were not found."""
        return tuple(
            f"the program has no variable '{text}': its symbols name none, so nothing was counted."
            for text in self._texts
            if text not in self._places
        )

    def _take(self) -> None:
        if self._counters is None:
            return
        for each, count in zip(self._counters.breakpoints, self._counters.read(), strict=True):
            pair = self._counts.setdefault(each.name, [0, 0])
            pair[each.access is Access.WRITE] += count
        self._counters.close()
        self._counters = None


def _variables(pid: int) -> dict[str, tuple[int, int]]:
    """Return where the variables of a process are, by name."""
    try:
        program = Path(f"/proc/{pid}/exe").readlink()
        with Path(f"/proc/{pid}/exe").open("rb") as stream:
            kind = int.from_bytes(stream.read(18)[16:], "little")
    except OSError:
        return {}
    name = os.fspath(program)
    base = next((m.start - m.offset for m in read_mappings(pid) if m.name == name), 0)
    return {
        each.name: (each.start, each.end)
        for each in variables_of(name, base if kind == _DYNAMIC else 0)
    }
