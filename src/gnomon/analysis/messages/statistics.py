"""Medians of histograms of times with intervals, and times over sizes from passes that agree.

A hypervisor moves its CPUs about: two of them that are threads of one core at one time have a
core each a second later, and a message through the memory takes four times as long. Times of
both kinds make no curve. Sizes are therefore measured in several passes, and only those that are
alike are fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.analysis.messages.result import Bins, Passes, Timing
from gnomon.messaging.sessions import Histogram
from gnomon.result import Quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_REPLICATES = 400
_SEED = 8
_TAILS = (0.025, 0.975)


def median_interval(histogram: Histogram, share: float = 0.5) -> Quantity:
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
    return Quantity(value, min(float(low), value), max(float(high), value))


def timing_of(size: int, histogram: Histogram) -> Timing:
    """Return the summary of a histogram; percentiles only where a time lies beyond them."""
    total = histogram.total

    def beyond(share: float) -> float | None:
        return histogram.quantile(share) if round(total * (1 - share), 6) >= 1 else None

    counts = histogram.counts.sum(0)
    bins = (histogram.low.tolist(), histogram.high.tolist(), counts.tolist())
    return Timing(
        size,
        total,
        median_interval(histogram),
        beyond(0.9),
        beyond(0.99),
        beyond(0.999),
        histogram.mean,
        Bins(*map(tuple, bins)),
    )


def difference(whole: Quantity, *parts: Quantity) -> Quantity:
    """Return what is left of a value after others, taken to be independent of it."""
    value = whole.value - sum(part.value for part in parts)
    below = (whole.value - whole.low) ** 2 + sum((p.high - p.value) ** 2 for p in parts)
    above = (whole.high - whole.value) ** 2 + sum((p.value - p.low) ** 2 for p in parts)
    return Quantity(value, value - below**0.5, value + above**0.5)


_FEW = 3  # passes of which two may agree against one
_APART = math.log(1.3)


def times_over_sizes(histograms: Sequence[Histogram]) -> tuple[list[Quantity], Passes]:
    """Return the median for each size over the passes that are alike, in ns.

    Each pass counts once: a fast one has more messages in the same time.
    """
    import numpy as np

    parts = [_passes_of(histogram) for histogram in histograms]
    # The smallest size was measured by itself before the first pass.
    count = min(map(len, parts))
    if count < _FEW:
        return [median_interval(histogram) for histogram in histograms], Passes(count, count)
    medians = np.array([[part.quantile(0.5) for part in some[-count:]] for some in parts]).T
    kept, passes = _alike(medians)
    drawn = np.random.default_rng(_SEED).integers(passes.kept, size=(_REPLICATES, passes.kept))
    lows, highs = np.quantile(_middle(medians[kept][drawn], 1), _TAILS, axis=0)
    values = _middle(medians[kept], 0)
    return [
        Quantity(float(value), float(min(low, value)), float(max(high, value)))
        for value, low, high in zip(values, lows, highs, strict=True)
    ], passes


def _middle(values: Floats, axis: int) -> Floats:
    """Return the median; of two in the middle the lower, for one may have waited for its CPU."""
    import numpy as np

    found: Floats = np.quantile(values, 0.5, axis=axis, method="lower")
    return found


def _passes_of(histogram: Histogram) -> list[Histogram]:
    """Return the parts of a histogram that were measured at a time; each has so many blocks."""
    blocks = _native.NOTIFY_BLOCKS
    parts = (
        Histogram(histogram.low, histogram.high, histogram.counts[start : start + blocks])
        for start in range(0, histogram.counts.shape[0], blocks)
    )
    return [part for part in parts if part.total]


def _alike(medians: Floats) -> tuple[NDArray[np.bool_], Passes]:
    """Return which passes, a row each, make the larger of two groups, if there are two."""
    import numpy as np

    logs = np.log(np.maximum(medians, 0.1))
    levels = np.median(logs - _middle(logs, 0), axis=1)
    order = np.sort(levels)
    gaps = np.diff(order)
    widest = int(gaps.argmax())
    count = levels.size
    if gaps[widest] < _APART:
        return np.ones(count, dtype=np.bool_), Passes(count, count)
    fast = levels <= order[widest]
    kept = fast if 2 * fast.sum() >= count else ~fast
    others = math.exp(float(np.median(levels[~kept]) - np.median(levels[kept])))
    return kept, Passes(count, int(kept.sum()), others)
