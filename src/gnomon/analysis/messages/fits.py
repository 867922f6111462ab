"""Hockney, LogGP and PLogP fitted to times over sizes, piecewise where protocols switch.

The time of a message is half of a round trip: from before the call that sends to after the
one that receives. Errors count relative to the time, or the largest sizes would decide alone.
How many pieces a curve has is decided by BIC.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.messages.result import Curve, Hockney, LogGP, PLogP, Row, Segment, Timing
from gnomon.analysis.messages.statistics import difference, times_over_sizes
from gnomon.messaging.sessions import Histogram
from gnomon.result import Quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

LEAST_SIZES = 5
"""Sizes that a fit needs."""


def fit_curve(row: Row, trips: Sequence[Histogram]) -> Curve | None:
    """Return the curve of a row with its models; None where it has too few sizes.

    `trips` are the round trips of the row with the blocks of all their passes.
    """
    import numpy as np

    if len(trips) < LEAST_SIZES:
        return None
    sizes = tuple(timing.size for timing in row.round_trips)
    found, passes = times_over_sizes(trips)
    times = tuple(trip.times(0.5) for trip in found)
    x = np.array(sizes, dtype=np.float64)
    y = np.array([time.value for time in times])
    hockney = fit_hockney(x, y)
    send, receive = _at(sizes, row.sends), _at(sizes, row.receives)
    gaps = _at(sizes, row.gaps)
    loggp = plogp = None
    if send is not None and receive is not None:
        loggp = LogGP(
            difference(times[0], send[0], receive[0]),
            send[0],
            receive[0],
            None if gaps is None else gaps[0],
            hockney.segments[-1].per_byte,
            hockney.error,
        )
        if gaps is not None:
            plogp = _plogp(sizes, times, gaps[0], send, receive)
    return Curve(row.mechanism, row.regime, sizes, times, hockney, loggp, plogp, passes)


def fit_hockney(x: Floats, y: Floats) -> Hockney:
    """Fit T0 + m / BW by pieces, and try it on each inner size in turn, which it has not seen."""
    pieces = best_pieces(x, y)
    intervals = piece_intervals(x, y, pieces)
    segments = tuple(
        Segment(
            int(x[piece.first]),
            int(x[piece.last]),
            Quantity(piece.start, *bounds[0]),
            Quantity(piece.slope, *bounds[1]),
        )
        for piece, bounds in zip(pieces, intervals, strict=True)
    )
    return Hockney(segments, held_out_error(x, y))


def held_out_error(x: Floats, y: Floats) -> float:
    """Return the median relative error at inner sizes that were left out one by one."""
    import numpy as np

    errors = []
    for out in range(1, x.size - 1):
        kept = np.arange(x.size) != out
        guess = predict(best_pieces(x[kept], y[kept]), float(x[out]))
        errors.append(abs(guess - y[out]) / y[out])
    return float(np.median(errors))


def _plogp(
    sizes: tuple[int, ...],
    times: tuple[Quantity, ...],
    gap: Quantity,
    sends: tuple[Quantity, ...],
    receives: tuple[Quantity, ...],
) -> PLogP:
    import numpy as np

    latency = difference(times[0], gap)
    gaps = (gap, *(difference(time, latency) for time in times[1:]))
    x = np.array(sizes, dtype=np.float64)
    g = np.array([each.value for each in gaps])
    errors = []
    for out in range(1, len(sizes) - 1):
        kept = np.arange(x.size) != out
        guess = latency.value + float(np.interp(x[out], x[kept], g[kept]))
        errors.append(abs(guess - times[out].value) / times[out].value)
    return PLogP(latency, sizes, gaps, sends, receives, float(np.median(errors)))


def _at(sizes: Sequence[int], timings: Sequence[Timing]) -> tuple[Quantity, ...] | None:
    there = {timing.size: timing.p50 for timing in timings}
    return tuple(there[size] for size in sizes) if there.keys() >= set(sizes) else None


def time_of(fit: Hockney, size: float) -> float:
    """Return what a message of this size takes, in ns."""
    return predict([_piece(segment) for segment in fit.segments], size)


def _piece(segment: Segment) -> Piece:
    """Return a segment with its sizes as its places."""
    return Piece(
        0, 0, segment.startup.value, segment.per_byte.value, segment.smallest, segment.largest
    )


_FEWEST_POINTS = 3
_MOST_PIECES = 4
_BEST_FIT = 0.005
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


def best_pieces(x: Floats, y: Floats, most: int = _MOST_PIECES) -> list[Piece]:
    """Return the pieces that BIC prefers, each with three points at least."""
    count = x.size
    lines = _Lines(x, y)
    fits = {
        (i, j): lines.best(i, j) for i in range(count) for j in range(i + _FEWEST_POINTS - 1, count)
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
            bic = 2 * count * math.log(cost / count + _BEST_FIT) + 4 * pieces * math.log(count)
            if bic < best:
                best, chosen = bic, spans
        longer: dict[int, tuple[float, list[tuple[int, int]]]] = {}
        for end, (cost, spans) in ways.items():
            for j in range(end + _FEWEST_POINTS, count):
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
        residuals = np.maximum(_residuals(x[part], y[part], fitted), _BEST_FIT)
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
