"""From filtered values to estimates: counts, none negative, with intervals that cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.kalman.transforms import Transform
from gnomon.analysis.estimate.model import Estimates

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array, Tick

_NORMAL = 1.6448536269514722
"""Half of the 90 % interval of a normal distribution, in standard deviations."""


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
