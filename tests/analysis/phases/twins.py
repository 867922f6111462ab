"""Slow and obvious twins of the kernels: least squares over every possible partition."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def piece_cost(x: Floats, y: Floats, *, line: bool) -> float:
    """Return the residual sum of squares of one piece, over all series."""
    columns = [np.ones_like(x), x - x.mean()] if line else [np.ones_like(x)]
    matrix = np.column_stack(columns)
    values = (y - y[:, :1]).T
    fitted = matrix @ np.linalg.lstsq(matrix, values, rcond=None)[0]
    return float(((values - fitted) ** 2).sum())


def partition_costs(
    x: Floats, y: Floats, pieces: int, least: int, *, line: bool
) -> dict[tuple[int, ...], float]:
    """Return the cost of every partition into so many pieces."""
    known: dict[tuple[int, int], float] = {}

    def cost(first: int, last: int) -> float:
        if (first, last) not in known:
            known[first, last] = piece_cost(x[first:last], y[:, first:last], line=line)
        return known[first, last]

    found = {}
    for breaks in combinations(range(1, x.size), pieces - 1):
        edges = (0, *breaks, x.size)
        pairs = list(pairwise(edges))
        if all(b - a >= least for a, b in pairs):
            found[breaks] = sum(cost(a, b) for a, b in pairs)
    return found


def hinge_cost(x: Floats, y: Floats, place: float) -> float:
    """Return the residual sum of squares of two lines that meet at a place."""
    t = x - place
    matrix = np.column_stack((np.ones_like(t), np.minimum(t, 0), np.maximum(t, 0)))
    values = (y - y[:, :1]).T
    fitted = matrix @ np.linalg.lstsq(matrix, values, rcond=None)[0]
    return float(((values - fitted) ** 2).sum())
