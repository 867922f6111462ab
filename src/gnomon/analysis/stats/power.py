"""How many runs it takes to see a difference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.stats.distributions import t_quantile

Array = NDArray[np.float64]

POWER = 0.8
MOST_RUNS = 1_000_000


def runs_needed(difference: Array, variance_a: Array, variance_b: Array, level: float) -> Array:
    """Return the runs a side that show a difference with a chance of 80 %, at a level.

    The level is that of a single test: for a family of events it is the corrected one.
    NaN where more than a million runs would be needed.
    """
    low = np.full(difference.shape, 2.0)
    high = np.full(difference.shape, float(MOST_RUNS))
    spread = variance_a + variance_b
    seen = _shows(high, difference, spread, level)
    while (high - low > 0.5).any():
        middle = np.floor((low + high) / 2)
        enough = _shows(middle, difference, spread, level)
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    return np.where(seen, high, np.nan)


def _shows(runs: Array, difference: Array, spread: Array, level: float) -> NDArray[np.bool_]:
    df = 2 * (runs - 1)
    needed = t_quantile(1 - level / 2, df) + t_quantile(POWER, df)
    seen = (np.abs(difference) >= needed * np.sqrt(spread / runs)) & (difference != 0)
    return np.asarray(seen, bool)
