"""Experiments that count one program: exactly, at what cost, by overflows, and which events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gnomon import Command
from gnomon.analysis.study import Row
from gnomon.events import Available, Request, known_presets, parse_events
from gnomon.instrument import EventSet
from gnomon.sources import Sampling, simulator
from gnomon_studies.gorsler.runs import (
    FP_EVENT,
    FP_OPERATIONS,
    INSTRUCTIONS,
    MACHINE,
    RUNS,
    agreement,
    thread_counts,
)
from gnomon_studies.verdicts import exact, holds, shape, within

# E1: 300 million floating-point operations, counted exactly in every run.

_ACCURACY_WORKLOAD = ("workload:matrix-update", "size=10000", "bookkeeping=0", "detail=operations")
_EXPECTED = 300_000_000


def run_accuracy(seed: int) -> Iterator[Row]:
    """Count the update of a matrix of 10,000 x 10,000 numbers."""
    yield accuracy_row(seed, RUNS)


def accuracy_row(seed: int, runs: int) -> Row:
    """Return the row of E1 for so many runs."""
    found = agreement(
        lambda each: thread_counts(_ACCURACY_WORKLOAD, FP_EVENT, each), (_EXPECTED,), seed, runs
    )
    note = f"{found.note}; loops compressed: references are counted as other instructions"
    return exact("E1", "FP operations, 10,000 x 10,000", _EXPECTED, found.value[0], note)


# E2: one thread, counted through the portable layer and by the source alone.

_OVERHEAD_WORKLOAD = ("workload:matrix-update", "size=100")
_PUBLISHED_OVERHEAD = 1_331


def run_overhead(seed: int) -> Iterator[Row]:
    """Count both ways and compare the instructions."""
    yield from overhead_rows(seed, RUNS)


def overhead_rows(seed: int, runs: int) -> Iterator[Row]:
    """Yield the rows of E2 for so many runs."""
    expected = (FP_OPERATIONS,)
    portable = agreement(lambda each: _portable("PAPI_FP_INS", each), expected, seed, runs)
    direct = agreement(
        lambda each: thread_counts(_OVERHEAD_WORKLOAD, FP_EVENT, each), expected, seed, runs
    )
    yield exact("E2", "FP operations, portable", FP_OPERATIONS, portable.value[0], portable.note)
    yield exact("E2", "FP operations, source alone", FP_OPERATIONS, direct.value[0], direct.note)
    differences = {
        _portable("PAPI_TOT_INS", seed + number)[0]
        - thread_counts(_OVERHEAD_WORKLOAD, INSTRUCTIONS, seed + number)[0]
        for number in range(runs)
    }
    yield exact(
        "E2",
        "instructions of the portable layer",
        _PUBLISHED_OVERHEAD,
        max(differences, key=abs),
        "the layer runs outside the simulated machine; the number depends on the compiler",
    )
    yield shape(
        "E2",
        "overhead over runs",
        "constant",
        "constant" if len(differences) == 1 else f"{len(differences)} values",
        true=len(differences) == 1,
        note=f"{runs} runs; trivial for an overhead of 0",
    )


def _portable(preset: str, seed: int) -> tuple[int, ...]:
    """Return what a preset counted in the whole run."""
    source = simulator(MACHINE, seed=seed)
    with EventSet([preset], on=source, target=Command(_OVERHEAD_WORKLOAD)) as events:
        events.start()
        events.wait()
        value = events.stop()[preset]
    assert isinstance(value, int)
    return (value,)


# E6: overflow profiling of eight unbound threads with both counters.

THREADS = 8
INTERVAL = 1_000
TRUTH = THREADS * 40_000
_PUBLISHED = (328_000, 328_000, 325_000)
_PUBLISHED_INSTRUCTIONS = 12_177_000
_PROFILING_WORKLOAD = Command(("workload:vector-update", "init=yes", f"threads={THREADS}"))


def run_profiling(seed: int) -> Iterator[Row]:
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
    source = simulator(MACHINE, seed=seed)
    events = (FP_EVENT, INSTRUCTIONS)
    requests: list[Request] = [parse_events(name, source.resolve)[0][0] for name in events]
    overflows: Counter[int] = Counter()
    with source.sample(
        [Sampling(each, period=INTERVAL) for each in requests], _PROFILING_WORKLOAD
    ) as found:
        found.start()
        while not found.wait(0.1):
            overflows.update(found.drain().event)
        found.stop()
        overflows.update(found.drain().event)
    return overflows[0] * INTERVAL, overflows[1] * INTERVAL


# E7: what the machine can count, as its listings of native events and of presets say.


def run_listing(seed: int) -> Iterator[Row]:
    """Count native events, presets and derived presets."""
    source = simulator(MACHINE, seed=seed, profile="thesis")
    table = source.preset_table()
    found = [table.availability(name, lambda n: source.resolve(n)[0]) for name in known_presets()]
    presets = [each for each in found if isinstance(each, Available)]
    derived = [each for each in presets if len(each.operands) > 1]
    yield exact("E7", "native events", 42, len(list(source.events())), "39 and 3 synthetic ones")
    yield exact("E7", "presets", 24, len(presets), "with the table as it was published")
    yield exact("E7", "derived presets", 4, len(derived))
