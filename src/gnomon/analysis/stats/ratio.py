"""Ratios of means with their intervals, for every event at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.stats.distributions import t_quantile
from gnomon.analysis.stats.two_samples import welch_df

Array = NDArray[np.float64]

RESAMPLES = 2000
FEWEST_TO_RESAMPLE = 5
_BLOCK = 500  # events at a time, which bounds the memory


@dataclass(frozen=True, slots=True)
class Ratios:
    """The ratio b / a of means for each event, NaN without one, between `low` and `high`.

    Where the data do not bound the ratio `low` is 0 and `high` infinite.
    """

    ratio: Array
    low: Array
    high: Array


def ratio_intervals(a: Array, b: Array, level: float = 0.95, seed: int = 0) -> Ratios:
    """Return ratios of means with a symmetric percentile-t bootstrap interval on a log scale.

    The interval is never narrower than Welch's on the same scale, which few runs need;
    below five runs a side, where resamples repeat each other, it is Welch's.
    """
    mean_a, mean_b = a.mean(0), b.mean(0)
    defined = (mean_a > 0) & (mean_b > 0)
    ratio = np.full(mean_a.shape, np.nan)
    ratio[defined] = mean_b[defined] / mean_a[defined]
    low, high = ratio.copy(), ratio.copy()
    if min(len(a), len(b)) < 2:
        low[:], high[:] = np.nan, np.nan
        return Ratios(ratio, low, high)
    for start in range(0, ratio.size, _BLOCK):
        block = np.flatnonzero(defined[start : start + _BLOCK]) + start
        if block.size:
            reach = _reach(a[:, block], b[:, block], level, seed)
            with np.errstate(over="ignore"):
                low[block] = ratio[block] * np.exp(-reach)
                high[block] = ratio[block] * np.exp(reach)
    return Ratios(ratio, low, high)


def _reach(a: Array, b: Array, level: float, seed: int) -> Array:
    """Return how far the interval of the logarithm goes to each side."""
    share_a = _relative_share(a.mean(0), a.var(0, ddof=1), len(a))
    share_b = _relative_share(b.mean(0), b.var(0, ddof=1), len(b))
    error = np.sqrt(share_a + share_b)
    varying = error > 0
    df = np.where(varying, welch_df(share_a, len(a), share_b, len(b)), 1.0)
    factor = t_quantile((1 + level) / 2, df)
    if min(len(a), len(b)) >= FEWEST_TO_RESAMPLE:
        factor = np.maximum(factor, _studentised(a, b, error, level, seed))
    return np.asarray(np.where(varying, factor * np.where(varying, error, 1.0), 0.0))


def _studentised(a: Array, b: Array, error: Array, level: float, seed: int) -> Array:
    """Return the quantile of |T| over resamples; infinite where resamples have no ratio."""
    generator = np.random.default_rng(seed)
    means_a, shares_a = _resampled(a, generator)
    means_b, shares_b = _resampled(b, generator)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.log(means_b / b.mean(0)) - np.log(means_a / a.mean(0))
        t = np.abs(shift / np.sqrt(shares_a + shares_b))
    # A resample in which nothing varies says nothing, one without a ratio anything.
    t[(shares_a + shares_b == 0) & (shift == 0)] = 0.0
    t[~np.isfinite(t)] = np.inf
    rank = min(int(np.ceil(level * (RESAMPLES + 1))), RESAMPLES) - 1
    return np.asarray(np.where(error > 0, np.partition(t, rank, axis=0)[rank], 0.0))


def _resampled(sample: Array, generator: np.random.Generator) -> tuple[Array, Array]:
    """Return means and relative squared errors of resamples x events."""
    runs = len(sample)
    weights = generator.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    mean = sample.mean(0)
    centred = sample - mean
    shift = weights @ centred
    variance = np.maximum(weights @ centred**2 - shift**2, 0.0) * runs / (runs - 1)
    # What rounding leaves of a variance of zero must not pass for one.
    variance[variance < 1e-12 * centred.var(0)] = 0.0
    means = mean + shift
    means[np.abs(means) < 1e-12 * np.abs(sample).max(0)] = 0.0
    return means, _relative_share(means, variance, runs)


def _relative_share(mean: Array, variance: Array, runs: int) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(variance / runs / mean**2)
