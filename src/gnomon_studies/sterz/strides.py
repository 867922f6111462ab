"""E3: a matrix of 1,024 x 1,024 numbers summed in row and in column order.

The machine is the document's test host. Its description has no prefetcher, so the one that the
other present-day machines have is added. Whether the document's counts include writing the matrix
was not published; here they do. Every run on a simulated machine gives the same counts, so that
a difference is certain and tests say nothing; the runs on this host have chance in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gnomon.analysis.compare import EventComparison, compare
from gnomon.analysis.study import Row
from gnomon.machines.core import Prefetcher
from gnomon.machines.description import load_machine
from gnomon.sources.base import Command
from gnomon.sources.machine import MachineSource
from gnomon_studies.sterz.changes import change_row
from gnomon_studies.sterz.host import host_rows
from gnomon_studies.verdicts import shape

MACHINE = "haswell-ex-4s"
SIZE = 1024
_PREFETCHED_LINES = 2
_RUNS = 2  # the second only proves that nothing varies
# As many as can be counted together: two of them have counters of their own.
_BATCHES = (
    "instructions,ref-cycles,branch-misses,L1-dcache-load-misses,l1-pending-cycles,l2-pending-cycles",
    "l2-load-misses,LLC-load-misses,prefetches,fill-buffer-waits",
    "cache-references,stalled-cycles-backend,cycles",
)
_SAME_CODE = "both orders execute the same instructions here; the document's loops were compiled"
# The event, what the document calls it, its change in per cent, as it is written there.
_PUBLISHED = (
    ("instructions", "instructions", 1.97, "+1.97 %", _SAME_CODE),
    ("branch-misses", "mispredicted branches", 3.22, "+3.22 %", _SAME_CODE),
    ("ref-cycles", "reference cycles", 77.63, "+77.63 %", ""),
    ("l1-pending-cycles", "cycles with pending L1-miss loads", 1096.03, "+1,096.03 %", ""),
    ("l2-pending-cycles", "cycles with pending L2-miss loads", 375.36, "+375.36 %", ""),
    ("L1-dcache-load-misses", "L1 misses", 1000.0, "over +1,000 %", "loads"),
    (
        "l2-load-misses",
        "L2 misses",
        300.0,
        "+300 %",
        "loads; prefetching hides all but few in rows",
    ),
    (
        "LLC-load-misses",
        "L3 misses",
        50.0,
        "+50 %",
        "loads; the matrix was written before and fits",
    ),
    ("prefetches", "L2 prefetch requests", -90.0, "-90 %", "those of writing the matrix remain"),
    ("cache-references", "L3 accesses", 9900.0, "x 100", "loads and stores"),
)


def run(seed: int) -> Iterator[Row]:
    """Compare the orders on the simulated machine, then on this host."""
    found = simulated(SIZE, seed)
    yield from simulated_rows(found)
    yield from host_rows(SIZE, seed)


def simulated(size: int, seed: int) -> Mapping[str, EventComparison]:
    """Return what changes from row to column order, by event."""
    machine = load_machine(MACHINE)
    core = replace(machine.core, prefetcher=Prefetcher.STRIDE, prefetch_degree=_PREFETCHED_LINES)
    source = MachineSource(replace(machine, core=core), seed=seed)
    a, b = (
        Command(("workload:strided-sum", f"size={size}", f"order={order}", "init=serial"))
        for order in ("row", "column")
    )
    rows = [
        row
        for events in _BATCHES
        for row in compare(a, b, events, repeat=_RUNS, source=source).rows
    ]
    return {row.event: row for row in rows}


def simulated_rows(found: Mapping[str, EventComparison]) -> Iterator[Row]:
    """Yield a row for each published event."""
    for event, quantity, published, text, note in _PUBLISHED:
        yield change_row(quantity, published, text, found[event], note)
    full = found["fill-buffer-waits"]
    yield shape(
        "E3",
        "requests that the fill buffers rejected",
        "26 to about 3 million",
        f"{full.a.mean:,.0f} to {full.b.mean:,.0f}",
        true=full.b.mean > 10 * full.a.mean,
        tolerance="more than ten times as many",
        note="misses that waited for a buffer: here stores that write the matrix fill them",
    )
    cycles, stalls = found["cycles"], found["stalled-cycles-backend"]
    share = stalls.difference / cycles.difference if cycles.difference else 0.0
    yield shape(
        "E3",
        "extra cycles that are stalls",
        "all",
        f"{share:.1%}",
        true=abs(share - 1) < 0.05,
        tolerance="within 5 %",
        note="follows from the model: nothing else differs",
    )
