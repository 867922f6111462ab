"""Intervals of fitted parameters: the fit repeated with its residuals dealt out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RESAMPLES = 500


@dataclass(frozen=True, slots=True)
class Parameter:
    """A fitted value with the interval that holds it with 95 % confidence."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}]"


def residual_intervals(
    fit: Callable[[Array], Array],
    predict: Callable[[Array], Array],
    values: Array,
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> tuple[Parameter, ...]:
    """Return the parameters that `fit` finds for `values`, with bootstrap intervals.

    Residuals are widened for the parameters that were spent on them, centred, and dealt out
    with replacement. An interval is the point estimate plus the spread of what is found.
    """
    found = fit(values)
    predicted = predict(found)
    residuals = values - predicted
    freedom = max(len(values) - len(found), 1)
    residuals = (residuals - residuals.mean()) * np.sqrt(len(values) / freedom)
    random = np.random.default_rng(seed)
    drawn = np.array(
        [
            fit(predicted + random.choice(residuals, len(values)))
            for _ in range(resamples if residuals.any() else 1)
        ]
    )
    return tuple(
        Parameter(float(value), *map(float, np.quantile(column, (0.025, 0.975))))
        for value, column in zip(found, drawn.T, strict=True)
    )


def row_intervals(
    statistic: Callable[[Array], Array], rows: Array, *, seed: int, resamples: int = RESAMPLES
) -> tuple[Parameter, ...]:
    """Return statistics of rows with intervals from rows drawn again with replacement."""
    random = np.random.default_rng(seed)
    found = statistic(rows)
    drawn = np.array(
        [statistic(rows[random.integers(0, len(rows), len(rows))]) for _ in range(resamples)]
    )
    return tuple(
        Parameter(float(value), *map(float, np.quantile(column, (0.025, 0.975))))
        for value, column in zip(found, drawn.T, strict=True)
    )
