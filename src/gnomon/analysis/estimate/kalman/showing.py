"""From filtered values to estimates: scales on which counts are followed, and the way back.

On these scales differences mean about the same, large or small. Estimates are counts, none
negative, with intervals that cover.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Estimates

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array, Tick

_NORMAL = 1.6448536269514722
"""Half of the 90 % interval of a normal distribution, in standard deviations."""


class Transform(StrEnum):
    """What is done to rates (counts a second) before they are filtered."""

    NONE = "none"
    SQUARE_ROOT = "square-root"
    LOGARITHM = "logarithm"

    def forward(self, rates: Array) -> Array:
        """Return rates on this scale."""
        import numpy as np

        if self is Transform.SQUARE_ROOT:
            return np.sqrt(rates)
        if self is Transform.LOGARITHM:
            return np.log1p(rates)
        return rates

    def back(self, values: Array) -> Array:
        """Return the rates that values stand for, none negative: medians stay medians."""
        import numpy as np

        if self is Transform.LOGARITHM:
            return np.maximum(np.expm1(np.minimum(values, 600.0)), 0.0)
        positive = np.maximum(values, 0.0)
        return positive**2 if self is Transform.SQUARE_ROOT else positive

    def expected(self, values: Array, variances: Array) -> Array:
        """Return the mean rates of normal distributions on this scale.

        The mean of a square is more than the square of the mean, and so for exponentials:
        totals of `back` would be too small.
        """
        import numpy as np

        if self is Transform.SQUARE_ROOT:
            return np.maximum(values, 0.0) ** 2 + variances
        if self is Transform.LOGARITHM:
            return np.maximum(np.expm1(np.minimum(values + variances / 2, 600.0)), 0.0)
        return np.maximum(values, 0.0)

    def deviation(self, values: Array, variances: Array) -> Array:
        """Return the standard deviations of those rates."""
        import numpy as np

        if self is Transform.SQUARE_ROOT:
            return np.sqrt(variances * (4 * values**2 + 2 * variances))
        if self is Transform.LOGARITHM:
            spread = np.sqrt(np.expm1(np.minimum(variances, 300.0)))
            return np.exp(np.minimum(values + variances / 2, 300.0)) * spread
        return np.sqrt(variances)


@dataclass(frozen=True, slots=True)
class Shown:
    """How values on the scale of a filter become estimates.

    `widths` are factors of standard deviations, `known` is 1 for events that were ever read:
    of the others nothing is known.
    """

    transform: Transform
    unbiased: bool
    widths: Array
    known: Array

    def estimates(
        self, values: Array, variances: Array, seconds: Array, read: Array | None = None
    ) -> Estimates:
        """Return estimates of ticks (row a tick); what was read stands for itself."""
        import numpy as np

        length = seconds[:, None] * np.where(self.known > 0, 1.0, np.nan)
        half = _NORMAL * self.widths * np.sqrt(variances)
        back = self.transform.back
        shown = self.transform.expected(values, variances) if self.unbiased else back(values)
        arrays = [
            shown * length,
            self.transform.deviation(values, variances) * length,
            back(values - half) * length,
            back(values + half) * length,
        ]
        if read is not None:
            there = np.isfinite(read)
            for place, each in enumerate(arrays):
                arrays[place] = np.where(there, 0.0 if place == 1 else read, each)
        mean, deviation, low, high = arrays
        return Estimates(mean, deviation, np.minimum(low, mean), np.maximum(high, mean))


def shown_where_read(estimates: Estimates, tick: Tick) -> Array:
    """Return the estimates of one tick, of the events that were read in it."""
    import numpy as np

    means: Array = np.where(np.isfinite(tick.counts), estimates.mean[0], np.nan)
    return means
