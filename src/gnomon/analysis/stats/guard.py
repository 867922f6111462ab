"""What keeps a comparison of few runs from raising false alarms among many events.

Far out in the tail, where a family of hundreds of events is decided, Welch's t is too
bold for samples of unequal size, and no t is right for an event that knows two values
only. The p-value that counts is therefore the largest of the chosen test's, the pooled
t's for unequal sizes, and an exact one for events with two values.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.stats.distributions import log_choose
from gnomon.analysis.stats.two_samples import pooled

Array = NDArray[np.float64]

_LARGEST = 60  # runs a side up to which tables of two values are worked out
_CHANCES = np.linspace(0.005, 0.995, 199)


def guarded(p: Array, a: Array, b: Array) -> Array:
    """Return p-values that hold for few runs, events with two values and unequal samples.

    An event without variation within the samples gets a p-value as well: 1 where they
    agree, and where they differ the most that chance can do with two values.
    """
    result = p.copy()
    if len(a) != len(b):
        result = np.fmax(result, pooled(a, b).p)
    together = np.concatenate([a, b])
    low, high = together.min(0), together.max(0)
    two_valued = ((together == low) | (together == high)).all(0) & (low != high)
    if max(len(a), len(b)) <= _LARGEST and two_valued.any():
        table = _two_value_table(len(a), len(b))
        chosen = np.flatnonzero(two_valued)
        ups_a = (a[:, chosen] == high[chosen]).sum(0)
        ups_b = (b[:, chosen] == high[chosen]).sum(0)
        result[chosen] = np.fmax(result[chosen], table[ups_a, ups_b])
    result[low == high] = 1.0
    return np.asarray(np.where(np.isnan(result), full_split(len(a), len(b)), result))


def full_split(runs_a: int, runs_b: int) -> float:
    """Return the most that two values by chance can do to fall apart into a and b."""
    n = runs_a + runs_b
    return float(2 * (runs_a / n) ** runs_a * (runs_b / n) ** runs_b)


@lru_cache(maxsize=16)
def _two_value_table(runs_a: int, runs_b: int) -> Array:
    """Return the unconditional exact p-value for each number of upper values in a and in b.

    Tables are ordered by the pooled z, and the chance of the upper value is the one that
    makes the p-value largest.
    """
    x, y = np.arange(runs_a + 1), np.arange(runs_b + 1)
    share = (x[:, None] + y[None, :]) / (runs_a + runs_b)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(y / runs_b - (x / runs_a)[:, None]) / np.sqrt(share * (1 - share))
    z: Array = np.round(np.nan_to_num(ratio), 9).astype(np.float64)
    chances_a, chances_b = _binomial(runs_a), _binomial(runs_b)
    weight = chances_a[:, :, None] * chances_b[:, None, :]  # (chance, x, y)
    order = np.argsort(-z, axis=None, kind="stable")
    tail = np.cumsum(weight.reshape(len(_CHANCES), -1)[:, order], axis=1).max(0)
    ordered = z.ravel()[order]
    last = np.searchsorted(-ordered, -ordered, side="right") - 1  # ties belong together
    table = np.empty(order.size)
    table[order] = np.minimum(tail[last], 1.0)
    return table.reshape(z.shape)


def _binomial(runs: int) -> Array:
    k = np.arange(runs + 1)
    chance = _CHANCES[:, None]
    return np.asarray(
        np.exp(log_choose(runs, k) + k * np.log(chance) + (runs - k) * np.log(1 - chance))
    )
