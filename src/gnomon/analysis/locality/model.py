"""What is known of accesses to memory: streams of them, and where they went."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from gnomon.analysis.notebook import Shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.analysis.locality.attribution import ObjectUse
    from gnomon.recording.contents import Provenance

UNKNOWN = -1
"""The node of an access that nobody told."""


class Scheme(StrEnum):
    """How counters take in accesses.

    PLAIN: dynamic coverage, the least recently used counter makes room. HYBRID: ranges also
    grow over gaps, and one counter for each page that is seldom accessed.
    """

    PLAIN = "plain"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """A piece of a stream of accesses, in order of time; all arrays are of one length.

    `source` is the node that asks, `home` that which has the page; UNKNOWN where nobody told.
    """

    time_ns: NDArray[np.int64]
    address: NDArray[np.uint64]
    size: NDArray[np.uint32]  # bytes
    write: NDArray[np.bool_]
    source: NDArray[np.int16]
    home: NDArray[np.int16]
    thread: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time_ns)


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
    asker: str = "node"  # what `source` counts: a node, or a thread where there are no nodes
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


@dataclass(frozen=True, slots=True, eq=False)
class PageHistogram:
    """How often each node accessed each page, in order of page numbers."""

    page: NDArray[np.uint64]  # (page,), address / page_bytes
    home: NDArray[np.int16]  # (page,), UNKNOWN where nobody told
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

    @property
    def records_per_million(self) -> float:
        """Records for each million of accesses."""
        return self.records * 1e6 / self.accesses if self.accesses else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class LocalityResult(Shown):
    """Where accesses went: which regions when, which pages from which nodes, and what it cost.

    `paths` and `write_paths` have a row for each node that asks and a column for each that has
    the page; the last row and the last column are for those of which nobody told it.
    """

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
    labels: tuple[str, ...] = ()  # `simulated`, `sampled`
    exit_status: int | None = None
    interrupted: bool = False
    provenance: Provenance | None = None
    warnings: tuple[str, ...] = ()

    @property
    def tells_homes(self) -> bool:
        """Whether it is known which node asks and which one has the page."""
        return self.origin.asker == "node" and bool(self.paths[:-1, :-1].sum())
