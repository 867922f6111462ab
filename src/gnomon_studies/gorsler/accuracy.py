"""E1: 300 million floating-point operations, counted exactly in every run."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon_studies.gorsler.runs import FP_EVENT, RUNS, agreement, thread_counts
from gnomon_studies.verdicts import exact

_WORKLOAD = ("workload:matrix-update", "size=10000", "bookkeeping=0", "detail=operations")
_EXPECTED = 300_000_000


def run(seed: int) -> Iterator[Row]:
    """Count the update of a matrix of 10,000 x 10,000 numbers."""
    yield accuracy_row(seed, RUNS)


def accuracy_row(seed: int, runs: int) -> Row:
    """Return the row of E1 for so many runs."""
    found = agreement(
        lambda each: thread_counts(_WORKLOAD, FP_EVENT, each), (_EXPECTED,), seed, runs
    )
    note = f"{found.note}; loops compressed: references are counted as other instructions"
    return exact("E1", "FP operations, 10,000 x 10,000", _EXPECTED, found.value[0], note)
