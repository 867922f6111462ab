"""Where the accesses of a program went, and advice on where its memory should be."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.result import Result, Simulated, derived

UNKNOWN = -1
"""The node of an access or of a page that nobody told."""

TOP = 12
_MOST_COLUMNS = 8  # of nodes or threads in a table


class ObjectKind(StrEnum):
    """What an object is: an array of a workload, a variable, or what one place has allocated."""

    ARRAY = "array"
    VARIABLE = "variable"
    ALLOCATION = "allocation"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a stream of accesses comes from, and what it does not contain.

    `kind` is `simulated`, `traced`, `sampled` or `tracked`; `seen` says in words
    which accesses are in it.
    """

    kind: str
    what: str  # the program
    machine: str
    seen: str
    nodes: int
    page_bytes: int = 4096
    simulated: bool = False
    asker: str = "node"  # what a column of accesses counts: a node, or a thread without nodes
    time_is_order: bool = False  # nobody told times: an access takes one unit
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RegionMap:
    """How often each region was accessed over time, as far as flush records tell.

    A record is spread evenly over the time from its counter's allocation to its flush.
    Regions are in order of address and do not overlap.
    """

    start: NDArray[np.uint64]  # (region,)
    end: NDArray[np.uint64]  # (region,), beyond the last byte
    edges_ns: NDArray[np.float64]  # (slice + 1,)
    accesses: NDArray[np.float64]  # (region, slice)

    @property
    def shades(self) -> NDArray[np.float64]:
        """The density of accesses, as the root of its share of the greatest one."""
        size = (self.end - self.start).astype(np.float64)[:, None]
        density = self.accesses / np.maximum(size, 1)
        return np.sqrt(density / (density.max(initial=0.0) or 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class PageHistogram:
    """How often each node accessed each page, in order of page numbers."""

    page: NDArray[np.uint64]  # (page,), address / page_bytes
    home: NDArray[np.int16]  # (page,), -1 where nobody told
    accesses: NDArray[np.int64]  # (page, node)
    writes: NDArray[np.int64]  # (page, node), among the accesses

    def __len__(self) -> int:
        return len(self.page)


@dataclass(frozen=True, slots=True, eq=False)
class WideRanges:
    """Ranges over several pages, whose counters cannot tell those apart; in order of address."""

    start: NDArray[np.uint64]  # (range,)
    end: NDArray[np.uint64]  # (range,)
    accesses: NDArray[np.int64]  # (range, node)
    writes: NDArray[np.int64]  # (range, node)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True, eq=False)
class StaticCount:
    """What a static counter counted in its range, by node; `name` is that of a variable."""

    start: int
    end: int
    accesses: NDArray[np.int64]  # (node,)
    writes: NDArray[np.int64] | None  # (node,), None where they were not told apart
    name: str = ""


@dataclass(frozen=True, slots=True)
class MappingUse:
    """How much of a mapping of a process was referenced, which is all that its kernel tells.

    `referenced` are the most bytes between two looks; `looks` is how many found any.
    """

    name: str  # a file, or as [heap]; empty for memory without a name
    start: int
    end: int
    looks: int
    referenced: int
    written: int  # pages found written, once for each look


@dataclass(frozen=True, slots=True, eq=False)
class ObjectUse:
    """How often an object was accessed, by node or thread, and how much of that was remote.

    `start` is that of its first piece and `size` that of all together. The last of `accesses`
    are those of which nobody told who asked. `remote` is None where nobody tells nodes.
    """

    name: str
    kind: ObjectKind
    where: str  # a line of source code, or empty
    start: int
    size: int
    accesses: NDArray[np.int64]  # (node or thread, and one more)
    writes: int
    remote: int | None  # from another node than that of the page, as far as it is known

    @property
    def total(self) -> int:
        """All accesses."""
        return int(self.accesses.sum())


@dataclass(frozen=True, slots=True)
class Flow:
    """How much the counters wrote: `extensions` of coverage, `records` of 16 bytes each.

    `at_end` of the records were still in their counters at the end. `signals` is how often the
    ring was full; `lost` records found no room and took `lost_accesses` with them.
    """

    accesses: int
    static_accesses: int
    records: int
    at_end: int
    extensions: int
    signals: int = 0
    lost: int = 0
    lost_accesses: int = 0
    most_in_ring: int = 0

    @property
    def flushed(self) -> int:
        """Records that made room for others, lost ones included."""
        return self.records - self.at_end

    @derived
    def records_per_million(self) -> float:
        """Records per million accesses."""
        return self.records * 1e6 / self.accesses if self.accesses else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class LocalityResult(Result):
    """Where accesses went: which regions when, which pages from which nodes, and what it cost.

    `paths` and `write_paths` have a row for each node that asks and a column for each that has
    the page; the last row and the last column are for those of which nobody told it. A screen
    shows `top` pages and objects.
    """

    kind: ClassVar[str] = "locality"

    origin: Origin
    regions: RegionMap
    pages: PageHistogram
    wide: WideRanges
    paths: NDArray[np.int64]  # (node + 1, node + 1)
    write_paths: NDArray[np.int64]
    flow: Flow
    duration_ns: float  # of the stream
    static: tuple[StaticCount, ...] = ()
    mappings: tuple[MappingUse, ...] = ()  # of a process whose pages were tracked
    objects: tuple[ObjectUse, ...] = ()  # most accessed first, what belongs to none last
    settings: dict[str, str] = field(default_factory=dict)
    exit_status: int | None = None
    interrupted: bool = False
    top: int = TOP

    @derived
    def simulated(self) -> Simulated:
        """Whether its numbers are simulated."""
        return Simulated.YES if self.origin.simulated else Simulated.NO

    @property
    def tells_homes(self) -> bool:
        """Whether it is known which node asks and which one has the page."""
        return self.origin.asker == "node" and bool(self.paths[:-1, :-1].sum())

    @property
    def askers(self) -> list[int]:
        """The nodes or threads that asked most, in order of their numbers."""
        totals = self.paths.sum(axis=1)[: self.origin.nodes]
        busy = [int(node) for node in totals.argsort(kind="stable")[::-1] if totals[node]]
        return sorted(busy[:_MOST_COLUMNS])


# ---- advice ---------------------------------------------------------------------------------


class Action(StrEnum):
    """What can be done about the place of an object."""

    FIRST_TOUCH = "first touch"
    INTERLEAVE = "interleave"
    BIND = "bind"
    MIGRATE = "migrate"
    REPLICATE = "replicate"
    PAD = "pad"


@dataclass(frozen=True, slots=True)
class DataObject:
    """Addresses that have a name; `where` is a line of source code, if it is known."""

    name: str
    start: int
    size: int
    kind: ObjectKind = ObjectKind.ARRAY
    where: str = ""

    @property
    def end(self) -> int:
        """The first address beyond it."""
        return self.start + self.size

    @property
    def title(self) -> str:
        """Its name, with the place in the source code where that is known."""
        return f"{self.name} ({self.where})" if self.where else self.name


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of one object, and the simulated time of the program with it alone."""

    thing: DataObject
    action: Action
    detail: str
    why: str
    remedy: str
    time_ns: float
    gain: float  # part of the time that it saves
    note: str = ""  # why it is not proposed although it saves time


@dataclass(frozen=True, slots=True)
class Advice(Result):
    """Proposals that help, those that were tried and do not, and the times with and without.

    All times are simulated. `after_ns` is that with all proposals together; each has been run.
    Where threads are to set up their parts themselves, `unplaced_ns` is what that alone would
    give, with pages where they were.
    """

    kind: ClassVar[str] = "advice"

    program: str
    machine: str
    nodes: int
    threads: int  # that ran
    before_ns: float
    after_ns: float
    unplaced_ns: float | None
    remote_before: float  # part of what memory or other nodes answered that was another node's
    remote_after: float
    proposals: tuple[Proposal, ...]
    alternatives: tuple[Proposal, ...]  # that help as well, and less
    dropped: tuple[Proposal, ...]
    objects: int  # that the program uses
    runs: int  # that were simulated
    margin: float
    exit_status: int | None = None  # of a real program

    @derived
    def simulated(self) -> Simulated:
        """Placements are tried on simulated machines only."""
        return Simulated.YES

    @derived
    def speedup(self) -> float:
        """How many times as fast the program is with all proposals."""
        return self.before_ns / self.after_ns if self.after_ns else 1.0
