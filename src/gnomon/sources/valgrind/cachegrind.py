"""Valgrind's cachegrind: the command line that starts it, and the files that it leaves.

Every process leaves a log when it begins and its counts when it ends, each in a file that
ends with its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gnomon.errors import UsageError

_SHAPE = re.compile(r"desc: (I1|D1|LL) cache:\s*(\d+) B, (\d+) B, (?:(\d+)-way|direct-mapped)")
# Only a program that was started has its valgrind read symbols of its own; after a fork
# there is a new log and no such line.
_STARTED = re.compile(r"Reading syms from \S*/cachegrind-")
_UNKNOWN_INSTRUCTION = re.compile(r"Unrecognised instruction at address (0x[0-9a-f]+)")
_TAIL = 4096  # bytes at the end of a file of counts that surely hold its last line
_SMALLEST_LINE = 16


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a simulated cache: its size, its ways, and the size of its lines in bytes."""

    size: int
    ways: int
    line: int

    @classmethod
    def parse(cls, text: str, cache: str) -> Shape:
        """Read `SIZE,WAYS,LINE`, as in `32768,8,64`."""
        words = [word.strip() for word in text.split(",")]
        if len(words) != 3 or not all(w.isascii() and w.isdigit() for w in words):
            raise UsageError(
                f"'{text}' is no shape for {cache}: give size, ways and line size in bytes, "
                "as in 32768,8,64."
            )
        shape = cls(*map(int, words))
        if why := shape._flaw():
            raise UsageError(f"'{text}' is no shape for {cache}: {why}.")
        return shape

    def _flaw(self) -> str:
        if not _power_of_two(self.line) or self.line < _SMALLEST_LINE:
            return f"a line of {self.line} bytes is no power of two from {_SMALLEST_LINE} up"
        if self.ways < 1 or self.size <= self.line:
            return "a cache has at least one way and more than one line"
        sets, rest = divmod(self.size, self.line * self.ways)
        if rest or not _power_of_two(sets):
            return f"{self.ways} ways of {self.line}-byte lines do not make a power of two of sets"
        return ""

    @property
    def option(self) -> str:
        """The shape as valgrind's options have it."""
        return f"{self.size},{self.ways},{self.line}"

    @property
    def text(self) -> str:
        """The shape as people write it."""
        size, unit = self.size, "B"
        for larger in ("KiB", "MiB"):
            if size % 1024 == 0:
                size, unit = size // 1024, larger
        return f"{size} {unit} {self.ways}-way {self.line} B lines"


def _power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@dataclass(frozen=True, slots=True)
class Simulation:
    """What cachegrind is to simulate beside counting instructions; less is faster.

    A cache without a shape is like the host's, as far as valgrind can tell.
    """

    caches: bool = True
    branches: bool = True
    i1: Shape | None = None
    d1: Shape | None = None
    ll: Shape | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The options that say so."""
        shapes = (("I1", self.i1), ("D1", self.d1), ("LL", self.ll))
        return (
            f"--cache-sim={'yes' if self.caches else 'no'}",
            f"--branch-sim={'yes' if self.branches else 'no'}",
            *(f"--{name}={shape.option}" for name, shape in shapes if shape is not None),
        )


def command_line(
    valgrind: tuple[str, ...], folder: Path, simulation: Simulation, argv: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the words that run a program and its children and leave their files in a folder.

    `valgrind` is its path, with options that its version needs.
    """
    place = str(folder).replace("%", "%%")
    return (
        *valgrind,
        "--tool=cachegrind",
        # Neither VALGRIND_OPTS nor a .valgrindrc may change what is counted.
        "--command-line-only=yes",
        "--vgdb=no",  # it would leave pipes in the folder for temporary files
        "--trace-children=yes",
        "-v",  # the only way to tell from a log how a process began
        f"--log-file={place}/log.%p",
        f"--cachegrind-out-file={place}/counts.%p",
        *simulation.options,
        "--",
        *argv,
    )


@dataclass(frozen=True, slots=True)
class ProcessCounts:
    """What one process left: its counts by valgrind's names, None when there are none.

    A `forked` one began as a copy of its parent, whose counts so far are among its own.
    `unknown_instruction` is the address of one that valgrind does not know.
    """

    pid: int
    counts: dict[str, int] | None
    forked: bool
    unknown_instruction: str


def processes(folder: Path) -> Iterator[ProcessCounts]:
    """Yield what each process left in a folder, in the order of their numbers."""
    numbers = [int(path.suffix[1:]) for path in folder.glob("log.*")]
    for pid in sorted(numbers):
        log = (folder / f"log.{pid}").read_text(errors="replace")
        unknown = _UNKNOWN_INSTRUCTION.search(log)
        yield ProcessCounts(
            pid,
            read_counts(folder / f"counts.{pid}"),
            forked=_STARTED.search(log) is None,
            unknown_instruction=unknown[1] if unknown else "",
        )


def read_counts(path: Path) -> dict[str, int] | None:
    """Return the totals in a file of counts, None when it is not there or not complete."""
    try:
        with path.open("rb") as file:
            names = next((line for line in file if line.startswith(b"events:")), b"")
            size = file.seek(0, 2)
            file.seek(max(size - _TAIL, 0))
            last = file.read().splitlines()[-1:]
    except OSError:
        return None
    if not last or not last[0].startswith(b"summary:"):
        return None
    events = names.decode().split()[1:]
    return dict(zip(events, map(int, last[0].split()[1:]), strict=True))


def read_shapes(path: Path) -> dict[str, Shape]:
    """Return the caches that a file of counts says were simulated."""
    return {
        found[1]: Shape(int(found[2]), int(found[4] or 1), int(found[3]))
        for found in _SHAPE.finditer(path.read_text(errors="replace"))
    }
