"""Signs in the order of runs that they are not alike: drift and outliers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.stats.distributions import t_two_sided

Array = NDArray[np.float64]


def drift_p_values(samples: list[tuple[Array, Array]]) -> Array:
    """Return the p-value of a common trend over time, for each event.

    Each sample comes with the times of its runs and has a level of its own, so that a
    difference between the samples does not pass for a trend.
    """
    times = np.concatenate([time - time.mean() for time, _ in samples])
    values = np.concatenate([values - values.mean(0) for _, values in samples])
    df = len(times) - len(samples) - 1
    squares = float(times @ times)
    events = values.shape[1]
    if df < 1 or squares == 0:
        return np.full(events, np.nan)
    slope = times @ values / squares
    rest = ((values - times[:, None] * slope) ** 2).sum(0)
    total = (values**2).sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = slope / np.sqrt(rest / df / squares)
    # What rounding leaves over is not a variation, nor a perfect trend.
    t = np.where(rest <= 1e-24 * total, np.inf, t)
    return np.where(total > 0, t_two_sided(np.where(np.isinf(t), 1e9, t), df), np.nan)


def outlier_p_values(sample: Array) -> tuple[NDArray[np.intp], Array]:
    """Return which run of each event lies farthest off, and Grubbs' p-value for it.

    The p-value already counts that it is the farthest of all runs.
    """
    runs = len(sample)
    deviation = np.abs(sample - sample.mean(0))
    farthest = deviation.argmax(0)
    if runs < 3:
        return farthest, np.full(sample.shape[1], np.nan)
    spread = sample.std(0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        g = deviation.max(0) / spread
        room = np.maximum((runs - 1) ** 2 - runs * g**2, 0.0)
        t = np.sqrt(runs * (runs - 2) * g**2 / room)
    p = np.minimum(runs * t_two_sided(np.where(np.isinf(t), 1e9, t), runs - 2), 1.0)
    # Where the others all agree, as small counts do, nothing says how far is far.
    rest = np.array(sample, float)
    rest[farthest, np.arange(sample.shape[1])] = np.nan
    varying = np.nanmax(rest, axis=0) > np.nanmin(rest, axis=0)
    return farthest, np.where(varying, p, np.nan)
