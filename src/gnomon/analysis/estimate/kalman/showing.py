"""From filtered values to estimates: counts, none negative, with intervals that cover."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.kalman.transforms import Transform
from gnomon.analysis.estimate.model import COVERAGE, Estimates

if TYPE_CHECKING:
    from gnomon.analysis.estimate.kalman.learning import Places
    from gnomon.analysis.estimate.model import Array, Flags

_NORMAL = 1.6448536269514722  # half of the 90 % interval, in standard deviations
_ADAPT = 0.08


class Widths:
    """Factors of standard deviations, adapted so that as many readings as should are inside."""

    def __init__(self, count: int) -> None:
        import numpy as np

        self.factor = np.ones(count)

    def learn(self, which: Places, errors: Array, variances: Array) -> None:
        """Take in how far readings were from what was expected of them."""
        import numpy as np

        half = _NORMAL * self.factor[which] * np.sqrt(variances)
        outside = np.abs(errors) > half
        step = _ADAPT * (outside - (1 - COVERAGE))
        self.factor[which] = np.clip(self.factor[which] * np.exp(step), 0.05, 20.0)


@dataclass(slots=True)
class Shown:
    """How values on the scale of a filter become estimates."""

    transform: Transform
    unbiased: bool
    widths: Widths
    known: Flags = field(init=False)
    """Which events have ever been read; of the others nothing is known."""

    def __post_init__(self) -> None:
        import numpy as np

        self.known = np.zeros(len(self.widths.factor), dtype=bool)

    def estimates(
        self, values: Array, variances: Array, seconds: Array, counts: Array | None
    ) -> Estimates:
        """Return estimates of ticks (row a tick); what was read stands for itself."""
        import numpy as np

        length = seconds[:, None]
        deviations = np.sqrt(variances)
        half = _NORMAL * self.widths.factor * deviations
        back = self.transform.back
        shown = self.transform.expected(values, variances) if self.unbiased else back(values)
        arrays = [
            shown * length,
            self.transform.deviation(values, variances) * length,
            back(values - half) * length,
            back(values + half) * length,
        ]
        arrays = [np.where(self.known, each, np.nan) for each in arrays]
        if counts is not None:
            read = np.isfinite(counts)
            for place, each in enumerate(arrays):
                arrays[place] = np.where(read, 0.0 if place == 1 else counts, each)
        mean, deviation, low, high = arrays
        return Estimates(mean, deviation, np.minimum(low, mean), np.maximum(high, mean))
