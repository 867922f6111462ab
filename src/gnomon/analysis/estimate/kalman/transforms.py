"""Scales on which counts are followed: differences mean about the same, large or small."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array


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
