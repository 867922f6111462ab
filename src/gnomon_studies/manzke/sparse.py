"""E5: the same filter without the zeros."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.analysis.study import Row
from gnomon_studies.manzke.timing import (
    BUDGET,
    PERIOD,
    DenseStep,
    crossing,
    dense_seconds,
    growth,
    some,
    sparse_filter,
    sparse_seconds,
)
from gnomon_studies.verdicts import holds, shape

_COUNTS = (120, 1_000, 10_000, 100_000)
_EVENTS = 120


def run(seed: int) -> Iterator[Row]:
    """Sweep, compare with the dense filter, and check that both are the same filter."""
    times = {count: sparse_seconds(count) for count in _COUNTS}
    fits = crossing(times, BUDGET)
    yield shape(
        "E5",
        "counters within 1 % of 20 ms, sparse",
        "100 to well over 120",
        f"{fits:,}",
        true=fits >= _EVENTS,
        tolerance="at least 120",
    )
    share = PERIOD / times[_EVENTS]
    yield shape(
        "E5",
        "20 ms over the time of 120 counters",
        "100 (cPCI) to 250 (P4)",
        f"{share:,.0f}",
        true=share >= 100,
        tolerance="at least 100",
    )
    power = growth(times, 1_000, 100_000)
    yield shape(
        "E5",
        "growth of the time with n, 1,000 to 100,000 counters",
        "n",
        f"n^{power:.2f}",
        true=0.7 < power < 1.3,
        tolerance="n^0.7 to n^1.3",
    )
    faster = dense_seconds(_EVENTS) / times[_EVENTS]
    yield shape(
        "E5",
        "dense over sparse at 120 counters",
        None,
        f"{faster:,.0f}",
        true=faster > 10,
        tolerance="above 10",
        note="45,000 times fewer multiplications, but the dense ones are faster each",
    )
    apart = _difference(seed)
    yield holds(
        "E5",
        "largest difference between both, in sigma, after 50 steps",
        "the same filter",
        f"{apart:.0e}",
        "below 1e-9",
        true=apart < 1e-9,
    )


def _difference(seed: int) -> float:
    count = 20
    dense, sparse = DenseStep(some(count)), sparse_filter(count)
    which, random = np.arange(count), np.random.default_rng(seed)
    dense.p = np.eye(2 * count)
    values, variances = np.empty((2, count))
    for _ in range(50):
        z = random.standard_normal(count)
        dense(z)
        sparse.correct(which, z)
        sparse.predict(PERIOD)
    sparse.show(values, variances)
    apart = np.abs(values - dense.x[::2]).max()
    return float(max(apart, np.abs(variances - np.diag(dense.p)[::2]).max()))
