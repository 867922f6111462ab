"""E6: overflow profiling of eight unbound threads with both counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon.events.model import Request
from gnomon.events.syntax import parse_events
from gnomon.sources.base import Command
from gnomon.sources.machine import MachineSource
from gnomon.sources.sampling import Sampling
from gnomon_studies.gorsler.runs import FP_EVENT, INSTRUCTIONS, MACHINE
from gnomon_studies.verdicts import holds, within

THREADS = 8
INTERVAL = 1_000
TRUTH = THREADS * 40_000
_PUBLISHED = (328_000, 328_000, 325_000)
_PUBLISHED_INSTRUCTIONS = 12_177_000
_WORKLOAD = Command(("workload:vector-update", "init=yes", f"threads={THREADS}"))


def run(seed: int) -> Iterator[Row]:
    """Profile three times and compare the estimates with the truth."""
    for number, published in enumerate(_PUBLISHED):
        operations, instructions = estimates(seed + number)
        yield holds(
            "E6",
            f"FP operations of {THREADS} threads, run {number + 1}",
            published,
            operations,
            f"{TRUTH:,} ± {THREADS} x {INTERVAL:,}",
            true=abs(operations - TRUTH) <= THREADS * INTERVAL,
            note=f"overflows x interval; the truth is {TRUTH:,}",
        )
    yield within(
        "E6",
        "instructions, last run",
        _PUBLISHED_INSTRUCTIONS,
        instructions,
        relative=0.01,
        note="depends on the compiler; 'noopt' code is not modelled",
    )


def estimates(seed: int) -> tuple[int, int]:
    """Return operations and instructions as overflows of both counters tell them."""
    source = MachineSource(MACHINE, seed=seed)
    events = (FP_EVENT, INSTRUCTIONS)
    requests: list[Request] = [parse_events(name, source.resolve)[0][0] for name in events]
    overflows: Counter[int] = Counter()
    with source.sample([Sampling(each, period=INTERVAL) for each in requests], _WORKLOAD) as found:
        found.start()
        while not found.wait(0.1):
            overflows.update(found.drain().event)
        found.stop()
        overflows.update(found.drain().event)
    return overflows[0] * INTERVAL, overflows[1] * INTERVAL
