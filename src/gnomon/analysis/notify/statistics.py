"""Percentiles of histograms, with intervals that neighbouring times cannot make too narrow."""

from __future__ import annotations

from gnomon.analysis.notify.model import Measured, Timing
from gnomon.messaging.host import Histogram, What

LEAST_TIMES = 6
"""Fewer of them lie all on one side of their median more often than in 5 % of cases."""
_REPLICATES = 400
_SEED = 8
_TAILS = (0.025, 0.975)


def median_interval(histogram: Histogram, share: float = 0.5) -> Measured:
    """Return a percentile with its interval, by bootstrap over the blocks of the histogram.

    Times that follow each other are alike: whole blocks are drawn, not single times.
    """
    import numpy as np

    full = histogram.counts[histogram.counts.sum(1) > 0]
    some = Histogram(histogram.low, histogram.high, full)
    value = some.quantile(share)
    count = full.shape[0]
    drawn = np.random.default_rng(_SEED).multinomial(
        count, np.full(count, 1 / count), size=_REPLICATES
    )
    low, high = np.quantile(some.quantiles_of(drawn.astype(np.float64), share), _TAILS)
    return Measured(value, min(float(low), value), max(float(high), value))


def timing_of(what: What, size: int, histogram: Histogram) -> Timing:
    """Return the summary of a histogram."""
    return Timing(
        what,
        size,
        median_interval(histogram),
        histogram.quantile(0.9),
        histogram.quantile(0.99),
        histogram.quantile(0.999),
        histogram.mean,
        histogram,
    )


def difference(whole: Measured, *parts: Measured) -> Measured:
    """Return what is left of a value after others, taken to be independent of it."""
    value = whole.value - sum(part.value for part in parts)
    below = (whole.value - whole.low) ** 2 + sum((p.high - p.value) ** 2 for p in parts)
    above = (whole.high - whole.value) ** 2 + sum((p.value - p.low) ** 2 for p in parts)
    return Measured(value, value - below**0.5, value + above**0.5)
