"""Probes of a large machine: four nodes, two classes of cores, threads of a core."""

from __future__ import annotations

from dataclasses import replace

from gnomon.analysis.memory.result import (
    Access,
    Bandwidth,
    CoreClass,
    CoreKind,
    CorePair,
    CurvePoint,
    LatencyCurve,
    Level,
    Load,
    MeasuredCache,
    MemoryResult,
    NamedLatency,
    Node,
    NodePair,
    Ramp,
    Rates,
    SharedCore,
    Times,
    UnderLoad,
)
from gnomon.recording.contents import Provenance

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_STREAMS = ("read", "copy", "triad", "copy-nt", "triad-nt")


def _ns(*values: float) -> Times:
    return Times(values)


def _per_s(*values: float) -> Rates:
    return Rates(values)


def _curve(page: int, memory: float, points: int = 15, name: str = "L1") -> LatencyCurve:
    """Return a curve with one cache."""
    sizes = [round(16 * KIB * 2 ** (14 * place / (points - 1))) for place in range(points)]
    latencies = [1.2 if size <= 32 * KIB else memory for size in sizes]
    levels = (
        Level(1.2, sizes[0], 32 * KIB, name),
        Level(memory, 64 * KIB, sizes[-1], "local DRAM"),
    )
    found = zip(sizes, latencies, strict=True)
    return LatencyCurve(
        page,
        tuple(CurvePoint(size, _ns(latency, 1.1 * latency)) for size, latency in found),
        levels,
        (Ramp(40 * KIB, 32 * KIB, 64 * KIB),),
    )


def small() -> MemoryResult:
    """Return probes of four nodes, one of memory alone, with two classes of cores."""
    nodes = tuple(Node(n, (2 * n, 2 * n + 1), 8 * GIB, 4 * GIB, {0: 10}) for n in range(3))
    nodes = (*nodes, Node(3, (), 8 * GIB, 4 * GIB, {}, Access((0,), 250.0)))
    hops = {(a, b): abs(a - b) for a in range(3) for b in range(4)}
    return MemoryResult(
        cpu=0,
        cycles_per_ns=3.0,
        cpus=tuple(range(6)),
        siblings=((0, 1), (2, 3)),
        classes=(CoreClass("performance", (0, 1, 2, 3)), CoreClass("efficiency", (4, 5))),
        nodes=nodes,
        curves=(_curve(4 * KIB, 120.0), _curve(2 * MIB, 100.0)),
        caches=(MeasuredCache("L1", 40 * KIB, 32 * KIB, 32 * KIB, 1.2),),
        bandwidth=tuple(
            Bandwidth(stream, tuple(range(count)), _per_s(count * 1e10, count * 1.1e10))
            for count in (1, 2)
            for stream in _STREAMS
        ),
        cores=tuple(
            CorePair(a, b, "same core" if b == a + 1 else "same L3", _ns(20.0 * (b - a), 300.0))
            for a in range(4)
            for b in range(a + 1, 4)
        ),
        kinds=(
            CoreKind("performance", 0, 3.0, _ns(1.2), _ns(100.0), _per_s(1.1e10)),
            CoreKind("efficiency", 4, 2.0, _ns(1.9), _ns(130.0), _per_s(0.8e10)),
        ),
        shared_cores=(SharedCore((0, 1), _per_s(1e10), _per_s(1.2e10), _ns(1.2), _ns(2.3)),),
        loaded=(UnderLoad(0.0, _ns(100.0), 0.0), UnderLoad(1.0, _ns(180.0), 2e10)),
        matrix=tuple(
            NodePair(a, b, _ns(100.0 + 60 * hops[a, b]), _per_s(3e10 / (1 + hops[a, b])), b != 2)
            for a, b in hops
        ),
        latencies=(NamedLatency("L1", 1.2, 3.6), NamedLatency("local DRAM", 100.0, 300.0)),
        load=Load(0.1, 0.0, 0.0),
        pages_confirmed=123_456,
        notes=("node 3 has no CPUs to use: it is only a target.",),
        provenance=Provenance("host", cpu="Imagined 9000", created="2026-01-01T00:00:00Z"),
        warnings=("this machine was not quiet.",),
    )


def empty() -> MemoryResult:
    return MemoryResult(cpu=0, cycles_per_ns=1.0, cpus=())


def hostile(text: str) -> MemoryResult:
    whole = small()
    return replace(
        whole,
        classes=(CoreClass(text, (0, 1)), CoreClass("", (2, 3))),
        curves=(_curve(4 * KIB, 120.0, name=text),),
        caches=(MeasuredCache(text, 40 * KIB, 32 * KIB, None, 1.2),),
        bandwidth=tuple(replace(row, stream=text) for row in whole.bandwidth),
        cores=tuple(replace(pair, relation=text) for pair in whole.cores),
        kinds=(replace(whole.kinds[0], name=text),),
        latencies=(NamedLatency(text, 1.0, 3.0),),
        notes=(text,),
        provenance=Provenance(text, cpu=text),
        warnings=(text,),
    )


def huge(rows: int) -> MemoryResult:
    pairs = (CorePair(n, n + 1, f"relation {n % 7}", _ns(20.0, 21.0 + n)) for n in range(rows))
    caches = (MeasuredCache(f"L{n}", 40 * KIB + n, None, None, 1.2) for n in range(rows))
    return replace(
        small(),
        cpus=tuple(range(rows)),
        curves=(_curve(4 * KIB, 120.0, rows),),
        caches=tuple(caches),
        cores=tuple(pairs),
        loaded=tuple(UnderLoad(n / rows, _ns(100.0 + n), 1e8 * n) for n in range(rows)),
        notes=tuple(f"note {n}" for n in range(rows)),
    )
