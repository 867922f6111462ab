"""E5: every thread works on numbers of its own."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon_studies.gorsler.runs import (
    FP_EVENT,
    FP_OPERATIONS,
    PLACEMENTS,
    RUNS,
    Placement,
    agreement,
    thread_counts,
)
from gnomon_studies.verdicts import exact


def run(seed: int) -> Iterator[Row]:
    """Count all threads in all placements."""
    for placement in PLACEMENTS:
        yield threads_row(placement, seed, RUNS)


def threads_row(placement: Placement, seed: int, runs: int) -> Row:
    """Return the row of a placement for so many runs."""
    words = ("workload:vector-update", *placement.words)
    expected = (FP_OPERATIONS,) * placement.threads
    found = agreement(lambda each: thread_counts(words, FP_EVENT, each), expected, seed, runs)
    worst = max(found.value, key=lambda value: abs(value - FP_OPERATIONS))
    quantity = f"FP operations of each thread, {placement.name}"
    return exact("E5", quantity, FP_OPERATIONS, worst, found.note)
