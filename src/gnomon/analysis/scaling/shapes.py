"""The shapes that growth can have: functions of one parameter, some with an exponent to find."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST_POWER = 0.1
"""The exponent below which a power cannot be told from a logarithm."""
_LARGEST_GROWTH = 60.0  # e^60 from the smallest to the largest value is beyond any count


class Shape(StrEnum):
    """A function of one parameter, apart from its coefficient."""

    LOGARITHMIC = "logarithmic"
    LINEAR = "linear"
    N_LOG_N = "n log n"
    QUADRATIC = "quadratic"
    CUBIC = "cubic"
    POWER = "power"
    EXPONENTIAL = "exponential"

    @property
    def free(self) -> bool:
        """Whether the shape has an exponent that must be found."""
        return self in (Shape.POWER, Shape.EXPONENTIAL)

    @property
    def positive(self) -> bool:
        """Whether the shape makes sense for values above zero only."""
        return self in (Shape.LOGARITHMIC, Shape.N_LOG_N, Shape.POWER)

    def values(self, x: Array, exponent: Array | float = 0.0) -> Array:
        """Return the function at x; exponents broadcast against x."""
        match self:
            case Shape.LOGARITHMIC:
                return np.asarray(np.log2(x))
            case Shape.LINEAR:
                return np.asarray(x)
            case Shape.N_LOG_N:
                return np.asarray(x * np.log2(x))
            case Shape.QUADRATIC:
                return np.asarray(x**2)
            case Shape.CUBIC:
                return np.asarray(x**3)
            case Shape.POWER:
                return np.asarray(np.exp(exponent * np.log(x)))
            case Shape.EXPONENTIAL:
                return np.asarray(np.exp(exponent * x))

    def slope(self, x: Array, exponent: Array | float) -> Array:
        """Return the derivative by the exponent."""
        inner = np.log(x) if self is Shape.POWER else x
        return np.asarray(self.values(x, exponent) * inner)

    def exponents(self, x: Array, count: int) -> Array:
        """Return exponents to begin the search with, dense where shapes differ most."""
        if self is Shape.POWER:
            grid = np.linspace(-3.0, 5.0, 8 * count + 1)
            return grid[np.abs(grid) >= SMALLEST_POWER]
        reach = float(x.max() - x.min())
        sizes = np.geomspace(0.2, _LARGEST_GROWTH, 4 * count)
        return np.concatenate([-sizes[::-1], sizes]) / reach

    def bounds(self, x: Array) -> tuple[float, float]:
        """Return the range in which exponents are sought."""
        if self is Shape.POWER:
            return -6.0, 8.0
        reach = float(x.max() - x.min())
        return -2 * _LARGEST_GROWTH / reach, 2 * _LARGEST_GROWTH / reach

    def text(self, name: str, exponent: str) -> str:
        """Return the function as people write it."""
        return {
            Shape.LOGARITHMIC: f"log2({name})",
            Shape.LINEAR: name,
            Shape.N_LOG_N: f"{name}·log2({name})",
            Shape.QUADRATIC: f"{name}²",
            Shape.CUBIC: f"{name}³",
            Shape.POWER: f"{name}^{exponent}",
            Shape.EXPONENTIAL: f"exp({exponent}·{name})",
        }[self]
