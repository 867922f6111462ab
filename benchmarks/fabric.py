"""The simulator of SCI fabrics: packet-hops a second, with and without records, and its memory.

Times are CPU seconds a hop, a packet on a link: the simulation is one thread that never waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.harness.memory import resident
from benchmarks.harness.result import Benchmark, Effort, Judged, Note, Result, Row, Target
from benchmarks.harness.statistics import quartiles
from gnomon.fabric import Adapter, Fabric, FabricRun, Load, load_fabric, operation

_MIX = ((operation("message64"), 1.0),)
_HOPS = 1_000_000  # of one round
_MOST_GROWTH = 16 << 20  # bytes, however long it runs
_LONG = 50_000_000  # symbols


def run(effort: Effort) -> Iterator[Result]:
    """Time rings and tori that are saturated, then let one run for long."""
    free = Adapter(incoming=1 << 16)
    ring = replace(load_fabric("ring-8"), adapter=free)
    cases = [
        ("ring of 8, go bits", ring, False),
        ("ring of 8, no go bits", replace(ring, go_bits=False), False),
        ("ring of 8, records kept", ring, True),
        ("torus of 96 nodes", replace(load_fabric("torus-12x8"), adapter=free), False),
        ("torus of 96 nodes, records kept", replace(load_fabric("torus-12x8"), adapter=free), True),
        ("torus of 1,024 nodes", replace(load_fabric("torus-32x32"), adapter=free), False),
    ]
    for name, fabric, records in cases:
        times = [_round(fabric, records) for _ in range(effort.rounds(10))]
        target = Target(1 / (4e6 if records else 8e6), Judged.VALUE)
        summary = quartiles(times)
        yield Row(f"{name}: a hop", summary, target=target)
        yield Note(f"{name}: {1e-6 / summary.median:.1f} M packet-hops/s")
    yield from _growth(ring, _LONG // 20 if effort.quick else _LONG)


def _round(fabric: Fabric, records: bool) -> float:
    run = FabricRun(fabric, Load("saturated", mix=_MIX), records=records)
    run.advance(1000)  # buffers are made
    run.take()
    before, start = run.hops, time.process_time()
    while run.hops - before < _HOPS:
        if records:
            for _ in run.batches(run.now + 2000):
                pass
        else:
            run.advance(run.now + 2000)
    return (time.process_time() - start) / (run.hops - before)


def _growth(fabric: Fabric, symbols: int) -> Iterator[Result]:
    run = FabricRun(fabric, Load("saturated", mix=_MIX), records=True)
    for _ in run.batches(symbols // 50):
        pass
    before = most = resident()
    for part in range(2, 51):
        for _ in run.batches(part * symbols // 50):
            pass
        most = max(most, resident())
    grown = most - before
    yield Note(
        f"{run.now / 1e6:.1f} M symbols of a saturated ring with records, {run.hops / 1e6:.1f} M "
        f"hops: {grown / 2**20:.1f} MB more memory, {run.live} packets under way",
        failed=grown > _MOST_GROWTH,
    )


BENCHMARK = Benchmark("fabric", "Simulating SCI fabrics", run)
