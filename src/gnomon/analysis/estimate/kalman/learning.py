"""Parameters learned while readings come in: how fast an event moves, and how noisily.

Everything is taken from moments of consecutive readings, which forget: over `memory` readings
what is older than that loses its weight. The first readings count in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.analysis.estimate.model import Array

    Places = NDArray[np.int64]

_TINY = 1e-12
_FIRST_JUMP = 0.3  # of the value: what is taken for a usual increment before any was seen
_PRIOR = 4.0  # readings that the first guesses weigh


class Increments:
    """Mean squares and neighbouring products of increments: a random walk in white noise.

    Noise makes neighbouring increments pull against each other: their covariance is minus its
    variance. What is left of the mean square is the walk.
    """

    def __init__(self, count: int, memory: float) -> None:
        import numpy as np

        self.memory = memory
        self.seen = np.zeros(count)
        self._square = np.zeros(count)
        self._product = np.zeros(count)
        self._last = np.zeros(count)
        self._gap = np.zeros(count)

    def begin(self, which: Places, values: Array) -> None:
        """Guess from first values."""
        import numpy as np

        self._square[which] = np.maximum((_FIRST_JUMP * values) ** 2, _TINY)

    def add(self, which: Places, steps: Array, gaps: Array) -> None:
        """Take in increments over so many seconds."""
        import numpy as np

        self.seen[which] += 1
        seen = self.seen[which]
        weight = np.maximum(1 / (seen + 1), 1 / self.memory)
        self._square[which] += weight * (steps**2 - self._square[which])
        again = seen > 1
        weight = np.where(again, np.maximum(1 / np.maximum(seen - 1, 1), 1 / self.memory), 0.0)
        self._product[which] += weight * (steps * self._last[which] - self._product[which])
        self._last[which] = steps
        weight = np.maximum(1 / seen, 1 / self.memory)
        self._gap[which] += weight * (gaps - self._gap[which])

    def square(self, which: Places) -> Array:
        """The mean square of increments, never quite zero."""
        import numpy as np

        return np.maximum(self._square[which], _TINY)

    def gap(self, which: Places, otherwise: float) -> Array:
        """The usual seconds between readings."""
        import numpy as np

        gap = self._gap[which]
        return np.where(gap > 0, gap, otherwise)

    def noise(self, which: Places) -> Array:
        """The variance of the noise: at first a quarter of the mean square, then as it shows."""
        import numpy as np

        square, seen = self.square(which), self.seen[which]
        product = (self._product[which] * seen - _PRIOR * square / 4) / (seen + _PRIOR)
        least = 1e-6 * square
        return np.clip(-product, least, 0.49 * square)


class Moments:
    """Mean, variance and correlation of consecutive readings: a Gauss-Markov process."""

    def __init__(self, count: int, memory: float) -> None:
        import numpy as np

        self.memory = memory
        self.seen = np.zeros(count)
        self.mean = np.zeros(count)
        self._variance = np.zeros(count)
        self._product = np.zeros(count)
        self._last = np.zeros(count)

    def add(self, which: Places, values: Array) -> None:
        """Take in readings."""
        import numpy as np

        self.seen[which] += 1
        seen = self.seen[which]
        weight = np.maximum(1 / seen, 1 / self.memory)
        before = values - self.mean[which]
        self.mean[which] += weight * before
        self._variance[which] += weight * (
            before * (values - self.mean[which]) - self._variance[which]
        )
        again = seen > 1
        lag = before * (self._last[which] - self.mean[which])
        weight = np.where(again, np.maximum(1 / np.maximum(seen - 1, 1), 1 / self.memory), 0.0)
        self._product[which] += weight * (lag - self._product[which])
        self._last[which] = values

    def variance(self, which: Places) -> Array:
        """The variance of readings; at first that of a third of the value."""
        import numpy as np

        seen = self.seen[which]
        first = (_FIRST_JUMP * self.mean[which]) ** 2
        variance = (self._variance[which] * seen + first * 2) / (seen + 2)
        return np.maximum(variance, np.maximum(_TINY, 1e-12 * self.mean[which] ** 2))

    def correlation(self, which: Places) -> Array:
        """How far a reading tells the next one, from 0 to 1."""
        import numpy as np

        seen = self.seen[which]
        found = self._product[which] / np.maximum(self._variance[which], _TINY)
        return np.clip((found * seen + 0.7 * 3) / (seen + 3), 0.01, 0.999)
