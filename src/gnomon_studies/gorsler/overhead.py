"""E2: one thread, counted through the portable layer and by the source alone."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon.instrument.eventset import EventSet
from gnomon.sources.base import Command
from gnomon.sources.machine import MachineSource
from gnomon_studies.gorsler.runs import (
    FP_EVENT,
    FP_OPERATIONS,
    INSTRUCTIONS,
    MACHINE,
    RUNS,
    agreement,
    thread_counts,
)
from gnomon_studies.verdicts import exact, shape

_WORKLOAD = ("workload:matrix-update", "size=100")
_PUBLISHED_OVERHEAD = 1_331


def run(seed: int) -> Iterator[Row]:
    """Count both ways and compare the instructions."""
    yield from overhead_rows(seed, RUNS)


def overhead_rows(seed: int, runs: int) -> Iterator[Row]:
    """Yield the rows of E2 for so many runs."""
    expected = (FP_OPERATIONS,)
    portable = agreement(lambda each: _portable("PAPI_FP_INS", each), expected, seed, runs)
    direct = agreement(lambda each: thread_counts(_WORKLOAD, FP_EVENT, each), expected, seed, runs)
    yield exact("E2", "FP operations, portable", FP_OPERATIONS, portable.value[0], portable.note)
    yield exact("E2", "FP operations, source alone", FP_OPERATIONS, direct.value[0], direct.note)
    differences = {
        _portable("PAPI_TOT_INS", seed + number)[0]
        - thread_counts(_WORKLOAD, INSTRUCTIONS, seed + number)[0]
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
    source = MachineSource(MACHINE, seed=seed)
    with EventSet([preset], source=source, target=Command(_WORKLOAD)) as events:
        events.start()
        events.wait()
        value = events.stop()[preset]
    assert isinstance(value, int)
    return (value,)
