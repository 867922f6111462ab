"""Experiments with teams of threads: one works, all update one matrix, each has its own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon.analysis.study import Row, Verdict
from gnomon.machines import RunOptions
from gnomon_studies.gorsler.runs import (
    FP_EVENT,
    FP_OPERATIONS,
    PLACEMENTS,
    RELAXED,
    RUNS,
    Placement,
    agreement,
    thread_counts,
)
from gnomon_studies.verdicts import exact, factor

# E3: only the master works, wherever its team is placed.

_SERIALISED_WORKLOAD = ("workload:matrix-update", "size=100", "team=master")


def run_serialised(seed: int) -> Iterator[Row]:
    """Count the master and the others in all placements."""
    for placement in PLACEMENTS:
        yield serialised_row(placement, seed, RUNS)


def serialised_row(placement: Placement, seed: int, runs: int) -> Row:
    """Return the row of a placement for so many runs."""
    expected = (FP_OPERATIONS, *[0] * (placement.threads - 1))
    found = agreement(
        lambda each: thread_counts((*_SERIALISED_WORKLOAD, *placement.words), FP_EVENT, each),
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


# E4: all threads update one matrix at once, with and without operations that trap.
#
# The document's counts were too low here and nowhere else. The explanation that is tried: values
# leave the normal range after several updates, such operations trap, and the kernel finishes them
# where a count of user mode does not see it. Values are really computed; how the initial ones
# spread was not published, nor by how much threads were behind each other: 1 ± 0.5 and one element
# are the workload's defaults. How much is missing depends on both, so other ones are tried, too.

RACE_RUNS = 10

_RACE_WORKLOAD = ("workload:matrix-update", "size=100", "team=shared")
_TRAPS = RunOptions(quantum_ns=RELAXED.quantum_ns, fp_traps=True)
_WITH_SUPERVISOR = "Instr_FGU_arithmetic:uk"
_LARGEST_DEFICIT = 172
_FACTOR = 2  # that a deficit may be off by
_OTHER_CHOICES = tuple(
    (f"spread={spread}", f"lag={lag}") for spread in (0.25, 0.5, 0.75, 0.9) for lag in (0, 1, 100)
)
# Mean counts of a thread in the log of one run, through PAPI and by libcpc.
_PUBLISHED_MEANS = {
    "4 bound": (30_000.0, 30_000.0),
    "8 bound": (29_924.4, 29_875.3),
    "16 bound": (29_991.3, 29_998.5),
    "16 unbound": (29_997.6, 29_972.2),
}


def run_race(seed: int) -> Iterator[Row]:
    """Count the race in all placements, without traps and with them."""
    for placement in PLACEMENTS:
        yield without_traps(placement, seed, RACE_RUNS)
    deficits = []
    for placement in PLACEMENTS:
        counts = _count(placement, FP_EVENT, seed)
        deficits.append(FP_OPERATIONS - min(counts))
        others = [_count(placement, FP_EVENT, seed, *words) for words in _OTHER_CHOICES]
        yield deficit_row(placement, counts, others)
    yield factor(
        "E4",
        "largest deficit of a thread",
        _LARGEST_DEFICIT,
        max(deficits),
        most=_FACTOR,
        note="depends on initial values and lag, which were not published",
    )
    for placement in PLACEMENTS:
        yield recovered_row(placement, seed)


def without_traps(placement: Placement, seed: int, runs: int) -> Row:
    """Return the row of a machine that does not trap."""
    words = (*_RACE_WORKLOAD, *placement.words)
    expected = (FP_OPERATIONS,) * placement.threads
    found = agreement(lambda each: thread_counts(words, FP_EVENT, each), expected, seed, runs)
    return exact(
        "E4",
        f"FP operations of each thread, no traps, {placement.name}",
        FP_OPERATIONS,
        min(found.value),
        f"{found.note}; published as expected, not as measured",
    )


def deficit_row(
    placement: Placement, counts: tuple[int, ...], others: Sequence[tuple[int, ...]] = ()
) -> Row:
    """Return the row of what is missing on average where operations trap.

    It is reproduced within a factor of 2 of the published means; a deficit that is as rare, below
    1 %, but further from them has the shape alone. `others` are counts with other choices of what
    was not published: where not all of them come out, it is the choice that was made.
    """
    deficit = _deficit(counts)
    low, high = sorted(1 - mean / FP_OPERATIONS for mean in _PUBLISHED_MEANS[placement.name])
    none = high == 0
    ranged = sorted([deficit, *map(_deficit, others)])

    def near(found: float) -> bool:
        return found == 0 if none else low / _FACTOR <= found <= high * _FACTOR

    verdict = Verdict.NOT_REPRODUCED
    if all(map(near, ranged)):
        verdict = Verdict.REPRODUCED
    elif near(deficit) or (not none and 0 < deficit < 0.01):
        verdict = Verdict.SHAPE_ONLY
    return Row(
        "E4",
        f"mean deficit with traps, {placement.name}",
        "0 %" if none else f"{low:.3%} to {high:.3%}",
        f"{deficit:.3%}",
        "exact" if none else f"factor {_FACTOR}; in shape above 0 and below 1 %",
        verdict,
        "spread 0.5 and lag 1 are chosen, as neither was published, and the deficit depends on "
        f"both: {ranged[0]:.3%} to {ranged[-1]:.3%} with spreads 0.25 to 0.9, lags 0 to 100",
    )


def _deficit(counts: tuple[int, ...]) -> float:
    return 1 - sum(counts) / len(counts) / FP_OPERATIONS


def recovered_row(placement: Placement, seed: int) -> Row:
    """Return the row of a count that includes supervisor mode."""
    counts = _count(placement, _WITH_SUPERVISOR, seed)
    quantity = f"FP operations of each thread, supervisor counted too, {placement.name}"
    return exact("E4", quantity, FP_OPERATIONS, min(counts), "expected if the explanation holds")


def _count(placement: Placement, event: str, seed: int, *words: str) -> tuple[int, ...]:
    return thread_counts(
        (*_RACE_WORKLOAD, "traps=yes", *words, *placement.words), event, seed, _TRAPS
    )


# E5: every thread works on numbers of its own.


def run_threads(seed: int) -> Iterator[Row]:
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
