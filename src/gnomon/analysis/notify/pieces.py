"""Lines over pieces of a curve, by relative errors; how many there are is decided by BIC."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LEAST = 3
_MOST = 4
_FINEST = 0.005
"""No fit is held to be better than this: medians repeat no better."""
_REPLICATES = 300
_SEED = 13
_TAILS = (0.025, 0.975)
_NORMAL = 1.96


@dataclass(frozen=True, slots=True)
class Piece:
    """A line start + slope x over the points from `first` to `last`."""

    first: int
    last: int
    start: float
    slope: float
    low: float
    high: float


def best_pieces(x: Floats, y: Floats, most: int = _MOST) -> list[Piece]:
    """Return the pieces that BIC prefers, each with three points at least."""
    count = x.size
    fits = {
        (i, j): _line(x[i : j + 1], y[i : j + 1])
        for i in range(count)
        for j in range(i + _LEAST - 1, count)
    }
    if not fits:
        start, slope, _ = _line(x, y)
        return [Piece(0, count - 1, start, slope, float(x[0]), float(x[-1]))]
    # ways[j] has the cheapest way to cover the points up to j with so many pieces.
    ways: dict[int, tuple[float, list[tuple[int, int]]]] = {
        j: (fits[0, j][2], [(0, j)]) for j in range(_LEAST - 1, count)
    }
    best, chosen = math.inf, [(0, count - 1)]
    for pieces in range(1, most + 1):
        if count - 1 in ways:
            cost, spans = ways[count - 1]
            # Two numbers a piece, and a place for each break, which counts twice: it is the
            # best of many.
            bic = count * math.log(cost / count + _FINEST**2) + 4 * pieces * math.log(count)
            if bic < best:
                best, chosen = bic, spans
        longer: dict[int, tuple[float, list[tuple[int, int]]]] = {}
        for end, (cost, spans) in ways.items():
            for j in range(end + _LEAST, count):
                total = cost + fits[end + 1, j][2]
                if j not in longer or total < longer[j][0]:
                    longer[j] = (total, [*spans, (end + 1, j)])
        ways = longer
    return [Piece(i, j, *fits[i, j][:2], float(x[i]), float(x[j])) for i, j in chosen]


def _line(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Return start, slope and cost of the line with the least relative errors, never falling."""
    import numpy as np

    weight = 1.0 / y**2
    total = weight.sum()
    mean_x, mean_y = (weight * x).sum() / total, (weight * y).sum() / total
    spread = (weight * (x - mean_x) ** 2).sum()
    slope = (weight * (x - mean_x) * (y - mean_y)).sum() / spread if spread > 0 else 0.0
    slope = max(float(slope), 0.0)
    start = float(mean_y - slope * mean_x)
    cost = float(np.sum(((y - start - slope * x) / y) ** 2))
    return start, slope, cost


def predict(pieces: Sequence[Piece], x: float) -> float:
    """Return the value at a place; between two pieces, that of the nearer one by ratio."""
    for piece, following in itertools.pairwise(pieces):
        edge = math.sqrt(max(piece.high, 1.0) * max(following.low, 1.0))
        if x <= edge:
            return piece.start + piece.slope * x
    last = pieces[-1]
    return last.start + last.slope * x


Bounds = tuple[float, float]


def piece_intervals(x: Floats, y: Floats, pieces: Sequence[Piece]) -> list[tuple[Bounds, Bounds]]:
    """Return 95 % intervals of start and slope of each piece, by bootstrap of its residuals."""
    import numpy as np

    random = np.random.default_rng(_SEED)
    found = []
    for piece in pieces:
        part = slice(piece.first, piece.last + 1)
        fitted = piece.start + piece.slope * x[part]
        residuals = np.maximum(_residuals(x[part], y[part], fitted), _FINEST)
        signs = random.choice((-1.0, 1.0), (_REPLICATES, fitted.size))
        drawn = fitted * np.maximum(1.0 + signs * random.choice(residuals, signs.shape), 0.05)
        bounds = []
        for value, values in zip((piece.start, piece.slope), _lines(x[part], drawn), strict=True):
            low, high = np.quantile(values, _TAILS)
            bounds.append((min(float(low), value), max(float(high), value)))
        found.append((bounds[0], bounds[1]))
    return found


def _residuals(x: Floats, y: Floats, fitted: Floats) -> Floats:
    """Return relative errors as large as they were before a line was drawn through them.

    A line goes nearer to points that weigh much in it, which here are the largest sizes, and
    nearer to all of them when they are few.
    """
    import numpy as np

    from gnomon.analysis.stats.distributions import t_quantile

    design = np.stack((1.0 / y, x / y), axis=1)
    basis, _ = np.linalg.qr(design / np.abs(design).max(0).clip(1e-300))
    leverage = np.minimum((basis**2).sum(1), 0.9)
    few = float(t_quantile(0.975, max(x.size - 2, 1))) / _NORMAL
    corrected: Floats = np.abs(y / fitted - 1.0) / np.sqrt(1.0 - leverage) * few
    return corrected


def _lines(x: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return starts and slopes of the lines through many rows at once, as `_line` finds them."""
    import numpy as np

    weight = 1.0 / rows**2
    weight /= weight.sum(1, keepdims=True)
    mean_x, mean_y = (weight * x).sum(1), (weight * rows).sum(1)
    apart = x - mean_x[:, None]
    spread = (weight * apart**2).sum(1)
    slope = (weight * apart * (rows - mean_y[:, None])).sum(1)
    slope = np.divide(slope, spread, out=np.zeros_like(slope), where=spread > 0).clip(0.0)
    return mean_y - slope * mean_x, slope
