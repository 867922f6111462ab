"""What the kernel tells of a process: the pages it writes, and static counters in registers.

A stream has one access for each look that finds a page written. A static counter is a breakpoint
register: it counts few bytes, and exactly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native
from gnomon.analysis.locality.result import UNKNOWN, MappingUse, Origin, StaticCount
from gnomon.analysis.locality.streams import Accesses, Stream
from gnomon.errors import UsageError
from gnomon.measure.run import Stopper
from gnomon.sources.page_tracking import PageTracking, check_kernel
from gnomon.units import format_duration, parse_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.launch import Command
    from gnomon.sources.breakpoints import BreakpointCounters
    from gnomon.sources.page_tracking import PageTick

INTERVAL_NS = 50_000_000
_DYNAMIC = 3  # ET_DYN: a program that can be loaded anywhere
_SEEN = (
    "pages found written, one access for each look; a look every {}, which does not see what the "
    "program has unmapped before"
)


class PagesStream(Stream):
    """What the kernel's page tables tell of a program: written pages, and mappings referenced.

    `static` ranges are counted exactly by breakpoint registers, apart from the stream.
    """

    def __init__(
        self,
        target: Command | int,
        nodes: int,
        *,
        interval_ns: int | None = None,
        duration_ns: int | None = None,
        static: tuple[str, ...] = (),
    ) -> None:
        check_kernel()
        self._target = target
        self._interval_ns = interval_ns or INTERVAL_NS
        self._duration_ns = duration_ns  # of a process that runs on
        self._watched = Watched(static) if static else None
        what = f"process {target}" if isinstance(target, int) else " ".join(target.argv)
        self._page = os.sysconf("SC_PAGE_SIZE")
        self.origin = Origin(
            kind="tracked",
            what=what,
            machine="",
            seen=_SEEN.format(format_duration(self._interval_ns)),
            nodes=nodes,
            page_bytes=self._page,
            asker="process",
        )

    def __iter__(self) -> Iterator[Accesses]:
        with Stopper().installed() as stopper, self._tracking() as tracking:
            stopper.watch(tracking)
            for tick in tracking.ticks(self._interval_ns, duration_ns=self._duration_ns):
                yield self._accesses(tick, tracking.pid)
                self.duration_ns = float(tick.time_ns)
            stopper.watch(None)
            record = tracking.record()
            self.interrupted = stopper.requested
            self.exit_status = tracking.exit_status
            if self._watched is not None:
                self.static = self._watched.counts(self.origin.nodes)
        self.mappings = used(record.ticks, {m.start: m.name for m in record.mappings}, self._page)
        self.warnings = (*record.notes, *(self._watched.notes if self._watched else ()))

    def _tracking(self) -> PageTracking:
        at_start = self._watched.set if self._watched else None
        if isinstance(self._target, int):
            return PageTracking.of_process(self._target, at_start=at_start)
        return PageTracking.of_command(self._target, at_start=at_start)

    def _accesses(self, tick: PageTick, pid: int) -> Accesses:
        pages = tick.pages(self._page)
        count = len(pages)
        return Accesses(
            time_ns=np.full(count, tick.time_ns, np.int64),
            address=pages,
            size=np.full(count, self._page, np.uint32),
            write=np.ones(count, np.bool_),
            source=np.full(count, UNKNOWN, np.int16),
            home=self._homes_of(pages, pid),
            thread=np.full(count, pid, np.int32),
        )

    def _homes_of(self, pages: NDArray[np.uint64], pid: int) -> NDArray[np.int16]:
        """Return the node of each page; on a host with one there is nothing to ask."""
        if self.origin.nodes < 2:
            return np.zeros(len(pages), np.int16)
        homes = np.full(len(pages), UNKNOWN, np.int16)
        with suppress(OSError):
            told = np.frombuffer(_native.page_nodes(pid, pages), np.int32)
            homes = np.where(told >= 0, told, UNKNOWN).astype(np.int16)
        return homes


def used(
    ticks: tuple[PageTick, ...], names: dict[int, str], page_bytes: int
) -> tuple[MappingUse, ...]:
    """Return what was referenced and written in each mapping, most referenced first."""
    referenced: dict[tuple[int, int], list[int]] = {}
    for tick in ticks:
        for where, size in tick.referenced.items():
            referenced.setdefault(where, []).append(size)
    written = [tick.written for tick in ticks if len(tick.written)]
    runs = np.concatenate(written) if written else np.empty((0, 2), np.uint64)
    found = []
    for (start, end), sizes in referenced.items():
        low = np.clip(runs[:, 0], start, end)
        inside = int((np.clip(runs[:, 1], start, end) - low).sum())
        found.append(
            MappingUse(
                names.get(start, ""),
                start,
                end,
                looks=len(sizes),
                referenced=max(sizes),
                written=inside // page_bytes,
            )
        )
    return tuple(sorted(found, key=lambda use: (-use.referenced, use.start)))


# ---- static counters ------------------------------------------------------------------------


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
        from gnomon.sources.breakpoints import MOST

        if len(texts) > MOST:
            raise UsageError(
                f"{len(texts)} static counters are too many: a processor has {MOST} "
                "breakpoint registers: name fewer, or trace the program with --by trace."
            )
        self._texts = texts
        self._counters: BreakpointCounters | None = None
        self._counts: dict[str, list[int]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        # x86 has registers for writes and for all accesses: with few ranges both are counted.
        self._both = 2 * len(texts) <= MOST

    def set(self, pid: int) -> None:
        """Watch a process that has not run yet, or not on; what another one counted is kept."""
        from gnomon.sources.breakpoints import Access, Breakpoint, BreakpointCounters

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
        from gnomon.sources.breakpoints import Access

        if self._counters is None:
            return
        for each, count in zip(self._counters.breakpoints, self._counters.read(), strict=True):
            pair = self._counts.setdefault(each.name, [0, 0])
            pair[each.access is Access.WRITE] += count
        self._counters.close()
        self._counters = None


def _variables(pid: int) -> dict[str, tuple[int, int]]:
    """Return where the variables of a process are, by name."""
    from gnomon.analysis.locality.objects import variables_of
    from gnomon.sources.mappings import read_mappings

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
