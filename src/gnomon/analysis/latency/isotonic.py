"""The nearest series that never rises: pool adjacent violators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def non_increasing(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what is nearest to the values, in squares weighed, of all series that never rise."""
    levels: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        level, mass, size = value, weight, 1
        while levels and levels[-1] < level:
            before, earlier = masses.pop(), levels.pop()
            total = mass + before
            level = (level * mass + earlier * before) / total if total else max(level, earlier)
            mass, size = total, size + sizes.pop()
        levels.append(level)
        masses.append(mass)
        sizes.append(size)
    return np.repeat(levels, sizes)
