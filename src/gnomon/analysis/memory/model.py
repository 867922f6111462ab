"""What probes of memory found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gnomon.analysis.memory.plateaus import Plateaus
from gnomon.analysis.notebook import Shown
from gnomon.errors import UsageError
from gnomon.stress.cores import Cache, CoreClass
from gnomon.stress.nodes import Nodes
from gnomon.stress.samples import HostLoad, Samples
from gnomon.stress.streams import Stream


class Part(StrEnum):
    """What can be probed."""

    CURVE = "curve"
    BANDWIDTH = "bandwidth"
    CORES = "cores"
    LOADED = "loaded"
    MATRIX = "matrix"


def parts_of(names: Sequence[str]) -> tuple[Part, ...]:
    """Return parts by their names, in the order of probing; all of them where none is named."""
    known = {str(part): part for part in Part}
    for name in names:
        if name not in known:
            raise UsageError(f"unknown part '{name}': choose of {', '.join(known)}.")
    chosen = {known[name] for name in names}
    return tuple(part for part in Part if not chosen or part in chosen)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Latency of memory of one size, in ns."""

    size: int
    latency: Samples


@dataclass(frozen=True, slots=True)
class LatencyCurve:
    """Latency over size with one size of pages, and the levels that it shows."""

    page: int  # bytes
    points: tuple[CurvePoint, ...]
    plateaus: Plateaus
    names: tuple[str, ...]  # of the levels


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
    """Bytes a second of a stream on some CPUs."""

    stream: Stream
    cpus: tuple[int, ...]
    rates: Samples


@dataclass(frozen=True, slots=True)
class CorePair:
    """How long a line takes between two CPUs, in ns."""

    first: int
    second: int
    relation: str
    latency: Samples


@dataclass(frozen=True, slots=True)
class CoreKind:
    """One core of a class: what it does alone."""

    name: str  # of the class; empty where all cores are alike
    cpu: int
    clock: float  # cycles/ns
    near: Samples  # ns, within the first cache
    memory: Samples  # ns
    rates: Samples  # bytes/s of reading memory


@dataclass(frozen=True, slots=True)
class SharedCore:
    """A core with several hardware threads: one of them at work, and all of them."""

    cpus: tuple[int, ...]
    one: Samples  # bytes/s of reading memory with one thread
    all: Samples  # bytes/s with all
    alone: Samples  # ns within the first cache, the others idle
    beside: Samples  # ns while the others read memory


@dataclass(frozen=True, slots=True)
class UnderLoad:
    """Latency in ns while others stream for a share `duty` of their time."""

    duty: float
    latency: Samples
    bandwidth: float  # bytes/s


@dataclass(frozen=True, slots=True)
class NodePair:
    """From the CPUs of one node to memory of another."""

    cpus: int  # a node
    memory: int  # a node
    latency: Samples  # ns
    rates: Samples  # bytes/s of reading with all cores of the node
    verified: bool  # whether the kernel confirms where the memory is


@dataclass(frozen=True, slots=True)
class NamedLatency:
    """A latency with the name of what answers after it."""

    name: str
    ns: float
    cycles: float


@dataclass(frozen=True, slots=True)
class MemoryResult(Shown):
    """All that was probed; a part that was not is empty."""

    machine: str
    clock: float  # cycles/ns of the core that chased
    cpu: int  # that chased
    cpus: tuple[int, ...]
    siblings: tuple[tuple[int, ...], ...]  # CPUs of each core that has several
    classes: tuple[CoreClass, ...]
    caches: tuple[Cache, ...]  # of that core, as reported
    nodes: Nodes
    curves: tuple[LatencyCurve, ...]
    measured: tuple[MeasuredCache, ...]
    bandwidth: tuple[Bandwidth, ...]
    cores: tuple[CorePair, ...]
    kinds: tuple[CoreKind, ...]
    shared: tuple[SharedCore, ...]
    loaded: tuple[UnderLoad, ...]
    matrix: tuple[NodePair, ...]
    latencies: tuple[NamedLatency, ...]
    load: HostLoad
    pages_confirmed: int  # pages of the base size that move_pages found where they should be
    created: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
