"""E3: only the master works, wherever its team is placed."""

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

_WORKLOAD = ("workload:matrix-update", "size=100", "team=master")


def run(seed: int) -> Iterator[Row]:
    """Count the master and the others in all placements."""
    for placement in PLACEMENTS:
        yield serialised_row(placement, seed, RUNS)


def serialised_row(placement: Placement, seed: int, runs: int) -> Row:
    """Return the row of a placement for so many runs."""
    expected = (FP_OPERATIONS, *[0] * (placement.threads - 1))
    found = agreement(
        lambda each: thread_counts((*_WORKLOAD, *placement.words), FP_EVENT, each),
        expected,
        seed,
        runs,
    )
    return exact(
        "E3",
        f"FP operations, master and others, {placement.name}",
        f"{FP_OPERATIONS:,} and 0",
        f"{found.value[0]:,} and {max(found.value[1:]):,}",
        found.note,
    )
