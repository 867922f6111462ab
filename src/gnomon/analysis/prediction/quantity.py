"""Times that are known within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with the bounds between which it lies with 95 % confidence; times are in ns."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Quantity:
        """Return a value that is known."""
        return cls(value, value, value)

    def draw(self, random: np.random.Generator) -> float:
        """Return a value by chance, wider on the side whose bound is farther away."""
        z = float(random.standard_normal())
        side = self.high - self.value if z > 0 else self.value - self.low
        return max(self.value + z * side / 1.96, 0.0)
