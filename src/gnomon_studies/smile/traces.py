"""Traces of both programs on the simulated machine, and the counters that they run through."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gnomon import Command
from gnomon.analysis.locality import CounterSetup, MachineStream
from gnomon.analysis.study import Surface
from gnomon.machines import build, parse_workload
from gnomon.sources import simulator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.analysis.locality import Accesses
    from gnomon.machines import Range

MACHINE = "smile-4"
PAGE = 4096
RECORD_BYTES = 16
COUNTERS = (1, 2, 4, 8, 16, 32, 64, 128)
RANGES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
OWN_ROOTS = ("roots=private", "placement.copies=first-touch")
"""Each process keeps a copy of the roots of unity in memory of its own, as SPLASH-2's FFT does."""

_WORDS = {"fft": OWN_ROOTS, "radix": ()}


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """All remote accesses of a run, node by node as the links carry them."""

    accesses: Accesses
    seconds: float
    ranges: tuple[Range, ...]

    @property
    def pages(self) -> NDArray[np.int64]:
        """The page of each access, counted from the beginning of shared memory."""
        first = self.ranges[0].start // PAGE
        return (self.accesses.address // np.uint64(PAGE)).astype(np.int64) - first

    def pages_of(self, *arrays: str, node: int) -> list[int]:
        """Return the pages of arrays that are on a node and were accessed from elsewhere."""
        chosen = self._inside(*arrays) & (self.accesses.home == node)
        return sorted(set(self.pages[chosen].tolist()))

    def _inside(self, *arrays: str) -> NDArray[np.bool_]:
        inside = np.zeros(len(self.accesses), bool)
        for each in self.ranges:
            if each.name in arrays:
                inside |= (self.accesses.address >= np.uint64(each.start)) & (
                    self.accesses.address < np.uint64(each.start + each.size)
                )
        return inside


@lru_cache(maxsize=4)
def trace(workload: str, seed: int, *words: str) -> Trace:
    """Run a program on the machine and keep what leaves its nodes."""
    argv = (f"workload:{workload}", *(words or _WORDS[workload]))
    stream = MachineStream(simulator(MACHINE, seed=seed + 1), Command(argv))
    parts = list(stream)
    joined = type(parts[0])(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("time_ns", "address", "size", "write", "source", "home", "thread")
        )
    )
    program = build(*parse_workload(argv), seed=seed + 1)
    return Trace(joined, stream.duration_ns / 1e9, program.ranges)


@dataclass(frozen=True, slots=True)
class Grid:
    """Flushes and extensions over the number of counters and the maximum range."""

    accesses: int
    flushes: NDArray[np.int64]  # (counters, range)
    extensions: NDArray[np.int64]

    def at(self, counters: int, range_bytes: int) -> tuple[int, int]:
        """Return flushes and extensions for one setting."""
        place = COUNTERS.index(counters), RANGES.index(range_bytes)
        return int(self.flushes[place]), int(self.extensions[place])


def grid(accesses: Accesses, chosen: NDArray[np.bool_]) -> Grid:
    """Run the chosen accesses through counters of every setting."""
    columns = (
        np.ascontiguousarray(accesses.time_ns[chosen]),
        np.ascontiguousarray(accesses.address[chosen]),
        np.ascontiguousarray(accesses.size[chosen]),
        np.ascontiguousarray(accesses.write[chosen]).view(np.uint8),
    )
    shape = len(COUNTERS), len(RANGES)
    flushes, extensions = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, counters in enumerate(COUNTERS):
        for column, range_bytes in enumerate(RANGES):
            array = CounterSetup(counters, range_bytes).native()
            array.count(*columns)
            flushes[row, column] = array.flushed
            extensions[row, column] = array.extensions
    return Grid(int(chosen.sum()), flushes, extensions)


@lru_cache(maxsize=16)
def page_grid(workload: str, seed: int, page: int) -> Grid:
    """Return the grid of the accesses to one page."""
    found = trace(workload, seed)
    return grid(found.accesses, found.pages == page)


def surfaces_of(what: str, found: Grid) -> list[Surface]:
    """Return flushes and extensions as surfaces to be drawn."""
    rows = tuple(str(each) for each in COUNTERS)
    columns = tuple(str(each) for each in RANGES)
    return [
        Surface(
            f"{what}: {name}",
            "maximum range in bytes",
            "counters",
            columns,
            rows,
            tuple(tuple(int(cell) for cell in row) for row in values),
        )
        for name, values in (
            ("flushes to the ring buffer", found.flushes),
            ("coverage extensions", found.extensions),
        )
    ]


def histogram(workload: str, seed: int, page: int, what: str) -> Surface:
    """Return how often each node accessed each 64 bytes of a page."""
    found = trace(workload, seed)
    chosen = found.pages == page
    part = (found.accesses.address[chosen] % np.uint64(PAGE) // np.uint64(64)).astype(np.int64)
    nodes = int(found.accesses.source.max()) + 1
    cells = np.zeros((nodes, PAGE // 64), np.int64)
    np.add.at(cells, (found.accesses.source[chosen].astype(np.int64), part), 1)
    return Surface(
        f"{what}: accesses by node",
        "offset in the page",
        "from node",
        tuple(str(64 * each) for each in range(PAGE // 64)),
        tuple(str(each) for each in range(nodes)),
        tuple(tuple(int(cell) for cell in row) for row in cells),
    )
