"""Baselines: each is a way to fill the rows between the readings of one event.

PME, MLR, TAM and DIRA are the methods of Mathur and Cook that Manzke names (3.1.2); their
paper is not at hand, so they are built from what their names say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.analysis.estimate.baselines.filling import Filling, Rows, Seen

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array


class Hold(Filling):
    """The last reading, until the next one."""

    name = "hold"

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return the reading at or before each row."""
        filled: Array = seen.values[seen.before(wanted)]
        return filled


class LinearScaling(Filling):
    """Each reading stands for its rotation, as `perf stat` scales."""

    name = "linear-scaling"

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return the mean of the readings in the rotation of each row."""
        import numpy as np

        first = np.searchsorted(seen.rotations, wanted.rotations, side="left")
        last = np.searchsorted(seen.rotations, wanted.rotations, side="right")
        sums = np.concatenate([[0.0], np.cumsum(seen.values)])
        some = last > first
        means = (sums[last] - sums[first]) / np.maximum(last - first, 1)
        filled: Array = np.where(some, means, seen.values[np.maximum(first - 1, 0)])
        return filled


class Interpolation(Filling):
    """A straight line from each reading to the next."""

    name = "interpolation"

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return the value on the line at each row."""
        import numpy as np

        filled: Array = np.interp(wanted.rows, seen.rows, seen.values)
        return filled


class Trapezoid(Filling):
    """The mean of the readings before and after, so that a gap has the area of a trapezoid."""

    name = "trapezoid"

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return half the sum of both neighbours of each row."""
        filled: Array = (seen.values[seen.before(wanted)] + seen.values[seen.after(wanted)]) / 2
        return filled


class NearestReading(Filling):
    """Divided intervals: each reading stands for the halves of the gaps around it (DIRA)."""

    name = "dira"

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return the reading nearest in time to each row."""
        import numpy as np

        before, after = seen.before(wanted), seen.after(wanted)
        nearer = wanted.rows - seen.rows[before] <= seen.rows[after] - wanted.rows
        filled: Array = np.where(nearer, seen.values[before], seen.values[after])
        return filled


class PositionalMeanError(Filling):
    """The trapezoid, corrected by its mean error at readings between two others (PME)."""

    name = "pme"

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return the corrected mean of both neighbours."""
        import numpy as np

        values = Trapezoid().fill(seen, wanted)
        inner = seen.values[1:-1]
        if len(inner):
            values = values + np.mean(inner - (seen.values[:-2] + seen.values[2:]) / 2)
        filled: Array = np.maximum(values, 0.0)
        return filled


class LinearRegression(Filling):
    """Least squares on the fixed counters, from the latest readings (MLR)."""

    name = "mlr"

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return what the regression says of each row; the mean with too few readings."""
        import numpy as np

        count, width = seen.fixed.shape
        if count < width + 3:
            return np.full(len(wanted.rows), seen.values.mean())
        centre, spread = seen.fixed.mean(axis=0), seen.fixed.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        known = np.column_stack([np.ones(count), (seen.fixed - centre) / spread])
        normal = known.T @ known + 1e-6 * count * np.eye(width + 1)
        weights = np.linalg.solve(normal, known.T @ seen.values)
        filled: Array = np.maximum(weights[0] + (wanted.fixed - centre) / spread @ weights[1:], 0.0)
        return filled


class RatePerFixed(Filling):
    """The last reading per count of a fixed counter, times its count in the row."""

    def __init__(self, name: str, fixed: int) -> None:
        self.name = name
        self._fixed = fixed

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return the held rate times the fixed counter; the reading where that is missing."""
        import numpy as np

        before = seen.before(wanted)
        filled: Array = seen.values[before]
        if self._fixed >= seen.fixed.shape[1]:
            return filled
        base = seen.fixed[before, self._fixed]
        now = wanted.fixed[:, self._fixed]
        filled *= np.divide(now, base, out=np.ones(len(base)), where=base > 0)
        return filled


class ForgettingMean(Filling):
    """The mean of all readings so far, each weighing 0.9 of the next."""

    name = "forgetting-mean"

    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return the mean of the readings at or before each row."""
        import numpy as np

        before = seen.before(wanted)
        filled: Array = np.empty(len(before))
        for at in np.unique(before):
            weights = 0.9 ** np.arange(at, -1.0, -1.0)
            filled[before == at] = weights @ seen.values[: at + 1] / weights.sum()
        return filled
