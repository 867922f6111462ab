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
    Integers = NDArray[np.int64]

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
    lines = _Lines(x, y)
    fits = {
        (i, j): lines.best(i, j) for i in range(count) for j in range(i + _LEAST - 1, count)
    } or {(0, count - 1): lines.best(0, count - 1)}
    # ways[j] has the cheapest way to cover the points up to j with so many pieces.
    ways: dict[int, tuple[float, list[tuple[int, int]]]] = {
        j: (fits[0, j][2], [(0, j)]) for j in range(count) if (0, j) in fits
    }
    best, chosen = math.inf, [(0, count - 1)]
    for pieces in range(1, most + 1):
        if count - 1 in ways:
            cost, spans = ways[count - 1]
            # Two numbers a piece, and a place for each break, which counts twice: it is the
            # best of many. Errors are taken to be Laplace's, as a mean of sizes has it.
            bic = 2 * count * math.log(cost / count + _FINEST) + 4 * pieces * math.log(count)
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


class _Lines:
    """All lines through two of the points, among which are those of the least errors.

    Errors are absolute and relative to the value: one size that was measured while something
    else ran moves a line of least squares, but not this one. Lines never fall.
    """

    def __init__(self, x: Floats, y: Floats) -> None:
        import numpy as np

        self._first, self._last, self._starts, self._slopes = _candidates(x, y[None, :])
        errors = np.abs(1.0 - (self._starts.T + self._slopes.T * x) / y)  # (line, point)
        self._sums = np.concatenate((np.zeros((errors.shape[0], 1)), errors.cumsum(1)), axis=1)

    def best(self, i: int, j: int) -> tuple[float, float, float]:
        """Return start, slope and cost of the best line for the points from i to j."""
        import numpy as np

        cost = self._sums[:, j + 1] - self._sums[:, i]
        inside = (self._first >= i) & (self._last <= j)
        at = int(np.where(inside, cost, np.inf).argmin())
        return float(self._starts[0, at]), float(self._slopes[0, at]), float(cost[at])


def _candidates(x: Floats, rows: Floats) -> tuple[Integers, Integers, Floats, Floats]:
    """Return first and last point of each line, and start and slope of it in each row of values.

    Beside the lines through two points there are level ones through each, which take the place
    of those that fall.
    """
    import numpy as np

    i, j = np.triu_indices(x.size, 1)
    slopes = (rows[:, j] - rows[:, i]) / (x[j] - x[i])
    slopes = slopes.clip(0.0)
    starts = rows[:, i] - slopes * x[i]
    each = np.arange(x.size)
    return (
        np.concatenate((i, each)),
        np.concatenate((j, each)),
        np.concatenate((starts, rows), axis=1),
        np.concatenate((slopes, np.zeros_like(rows)), axis=1),
    )


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
    """Return starts and slopes of the best lines through many rows at once."""
    import numpy as np

    _, _, starts, slopes = _candidates(x, rows)
    fitted = starts[:, :, None] + slopes[:, :, None] * x  # (row, line, point)
    best = np.abs(1.0 - fitted / rows[:, None, :]).sum(2).argmin(1)
    each = np.arange(rows.shape[0])
    return starts[each, best], slopes[each, best]
