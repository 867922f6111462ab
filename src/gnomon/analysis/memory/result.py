"""What probes of memory found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import ClassVar

from gnomon import units
from gnomon.result import Result, derived


class Part(StrEnum):
    """What can be probed."""

    CURVE = "curve"
    BANDWIDTH = "bandwidth"
    CORES = "cores"
    LOADED = "loaded"
    MATRIX = "matrix"


@dataclass(frozen=True, slots=True)
class Load:
    """What kept this host busy meanwhile."""

    average: float  # of the last minute, our own threads included
    others: float  # CPUs that other programs used
    steal: float  # share of CPU time that the hypervisor gave to others


@dataclass(frozen=True, slots=True)
class CoreClass:
    """Cores that are alike."""

    name: str  # empty where all cores are
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Access:
    """What firmware (HMAT) says of reaching a node's memory from its nearest initiators."""

    initiators: tuple[int, ...]
    read_latency: float | None = None  # ns
    write_latency: float | None = None  # ns
    read_bandwidth: float | None = None  # bytes/s
    write_bandwidth: float | None = None  # bytes/s


@dataclass(frozen=True, slots=True)
class Node:
    """A NUMA node; it may have no CPUs or no memory."""

    number: int
    cpus: tuple[int, ...]
    memory: int  # bytes
    free: int  # bytes that can be had
    distances: Mapping[int, int]  # to nodes, as firmware reports them; 10 is the node itself
    access: Access | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """Times of the same thing, in ns; the least was disturbed least."""

    values: tuple[float, ...]

    @derived
    def best(self) -> float:
        """The least of them."""
        return min(self.values)

    @derived
    def median(self) -> float:
        """The middle one."""
        return median(self.values)


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of the same thing, in bytes/s; the highest was disturbed least."""

    values: tuple[float, ...]

    @derived
    def best(self) -> float:
        """The highest of them."""
        return max(self.values)

    @derived
    def median(self) -> float:
        """The middle one."""
        return median(self.values)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Latency of memory of one size."""

    size: int  # bytes
    latency: Times


@dataclass(frozen=True, slots=True)
class Level:
    """A flat piece of a curve."""

    latency: float  # ns
    first: int  # the least size on it, bytes
    last: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Ramp:
    """The way from one level to the next: at `size` half of the loads miss the faster one."""

    size: int  # bytes
    begins: int
    ends: int


@dataclass(frozen=True, slots=True)
class LatencyCurve:
    """Latency over size with one size of pages; a ramp lies between each level and the next."""

    page: int  # bytes
    points: tuple[CurvePoint, ...]
    levels: tuple[Level, ...]
    breakpoints: tuple[Ramp, ...]


@dataclass(frozen=True, slots=True)
class MeasuredCache:
    """A cache as it was found, beside what the kernel reports."""

    name: str
    measured: int | None  # bytes at which half of the loads miss it
    begins: int | None  # misses begin to show
    reported: int | None  # bytes
    latency: float | None  # ns


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A stream on some CPUs together."""

    stream: str  # of gnomon.stress.streams.Stream
    cpus: tuple[int, ...]
    rates: Rates


@dataclass(frozen=True, slots=True)
class CorePair:
    """How long a cache line takes between two CPUs."""

    first: int
    second: int
    relation: str
    latency: Times


@dataclass(frozen=True, slots=True)
class Relation:
    """All pairs of CPUs that have the same in common."""

    relation: str
    pairs: int
    best: float  # ns, of all pairs
    median: float  # ns, of the medians of pairs


@dataclass(frozen=True, slots=True)
class CoreKind:
    """One core of a class: what it does alone."""

    name: str  # of the class; empty where all cores are alike
    cpu: int
    cycles_per_ns: float
    first_cache: Times
    memory: Times
    read: Rates  # of memory


@dataclass(frozen=True, slots=True)
class SharedCore:
    """A core with several hardware threads: one of them reads memory, then all do."""

    cpus: tuple[int, ...]
    one_reads: Rates
    all_read: Rates
    first_cache_alone: Times  # the others idle
    first_cache_beside: Times  # while the others read memory


@dataclass(frozen=True, slots=True)
class UnderLoad:
    """Latency while others stream for a share `duty` of their time."""

    duty: float
    latency: Times
    bandwidth: float  # bytes/s, of the others


@dataclass(frozen=True, slots=True)
class NodePair:
    """From the CPUs of one node to memory of another."""

    cpus: int  # a node
    memory: int  # a node
    latency: Times
    bandwidth: Rates  # of reading with all cores of the node
    verified: bool  # whether the kernel confirms where the memory is


@dataclass(frozen=True, slots=True)
class NamedLatency:
    """A latency with the name of what answers after it."""

    name: str
    ns: float
    cycles: float


@dataclass(frozen=True, slots=True)
class MemoryResult(Result):
    """What memory of this host takes; a part that was not probed is empty."""

    kind: ClassVar[str] = "memory"

    cpu: int  # that followed the pointers
    cycles_per_ns: float  # of its core
    cpus: tuple[int, ...]
    siblings: tuple[tuple[int, ...], ...] = ()  # CPUs of each core that has several
    classes: tuple[CoreClass, ...] = ()
    nodes: tuple[Node, ...] = ()
    curves: tuple[LatencyCurve, ...] = ()
    caches: tuple[MeasuredCache, ...] = ()
    bandwidth: tuple[Bandwidth, ...] = ()
    cores: tuple[CorePair, ...] = ()
    kinds: tuple[CoreKind, ...] = ()
    shared_cores: tuple[SharedCore, ...] = ()
    loaded: tuple[UnderLoad, ...] = ()
    matrix: tuple[NodePair, ...] = ()
    latencies: tuple[NamedLatency, ...] = ()
    load: Load = Load(0.0, 0.0, 0.0)
    pages_confirmed: int = 0  # pages of the base size that move_pages found where they should be
    notes: tuple[str, ...] = ()

    @derived
    def relations(self) -> tuple[Relation, ...]:
        """The pairs of CPUs by what they have in common."""
        found: dict[str, list[Times]] = {}
        for pair in self.cores:
            found.setdefault(pair.relation, []).append(pair.latency)
        return tuple(
            Relation(
                relation,
                len(times),
                min(each.best for each in times),
                median(each.median for each in times),
            )
            for relation, times in found.items()
        )

    @property
    def main_curve(self) -> LatencyCurve | None:
        """The curve that levels are named by: the one with the largest pages."""
        return max(self.curves, key=lambda curve: curve.page, default=None)

    @property
    def levels(self) -> tuple[tuple[str, NamedLatency | None, MeasuredCache | None], ...]:
        """What answers loads of this CPU, by name, with what is known of each."""
        caches = {each.name: each for each in self.caches}
        found = {each.name: each for each in self.latencies}
        levels = () if self.main_curve is None else self.main_curve.levels
        names = (*caches, *(level.name for level in levels))
        return tuple((name, found.get(name), caches.get(name)) for name in dict.fromkeys(names))

    @derived
    def headline(self) -> str:
        """How long a load from memory takes, and how much memory delivers."""
        found = []
        if self.latencies:
            last = self.latencies[-1]
            found.append(f"{units.brief(last.ns, 'ns')} to {last.name}")
        if self.bandwidth:
            rows = [row for row in self.bandwidth if row.stream == "read"] or self.bandwidth
            best = max(rows, key=lambda row: row.rates.best)
            rate, threads = units.brief(best.rates.best, "B/s"), len(best.cpus)
            found.append(f"{best.stream} at {rate} by {threads} thread{'s' * (threads != 1)}")
        return f"Memory of this machine{': ' * bool(found)}{', '.join(found)}"
