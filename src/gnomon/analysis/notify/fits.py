"""Hockney, LogGP and PLogP fitted to times over sizes, piecewise where protocols switch.

The time of a message is half of a round trip: from before the call that sends to after the
one that receives. Errors count relative to the time, or the largest sizes would decide alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.notify.model import Measured, Regime, Row
from gnomon.analysis.notify.passes import Passes, times_over_sizes
from gnomon.analysis.notify.pieces import Piece, best_pieces, piece_intervals, predict
from gnomon.analysis.notify.statistics import difference
from gnomon.messaging.host import What

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST_SIZES = 5
"""Sizes that a fit needs."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Messages from one size to another: `startup` ns, and `per_byte` ns for every byte."""

    smallest: int
    largest: int
    startup: Measured
    per_byte: Measured


@dataclass(frozen=True, slots=True)
class Hockney:
    """T(m) = T0 + m / BW in each segment; `error` is the median of those held out."""

    segments: tuple[Segment, ...]
    error: float

    def time(self, size: float) -> float:
        """Return what a message of this size takes, in ns."""
        return predict([_piece(s) for s in self.segments], size)


@dataclass(frozen=True, slots=True)
class LogGP:
    """L, o (sending and receiving), g of small messages, and G for each byte of large ones.

    T(m) = send + L + receive + m G. L is what is left of the time of the smallest message; it
    is negative where the two calls overlap. G is that of the segment of the largest messages.
    """

    latency: Measured
    send: Measured
    receive: Measured
    gap: Measured | None
    gap_per_byte: Measured
    error: float


@dataclass(frozen=True, slots=True)
class PLogP:
    """L, and g, o_s and o_r as they change with the size: T(m) = L + g(m).

    g of the smallest message is that of a flood; those of others follow from round trips.
    """

    latency: Measured
    sizes: tuple[int, ...]
    gaps: tuple[Measured, ...]
    sends: tuple[Measured, ...]
    receives: tuple[Measured, ...]
    error: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The time of a message over its size, with the models that were fitted to it."""

    mechanism: str
    regime: Regime
    sizes: tuple[int, ...]
    times: tuple[Measured, ...]
    hockney: Hockney
    loggp: LogGP | None
    plogp: PLogP | None
    passes: Passes


def fit_curve(row: Row) -> Curve | None:
    """Return the curve of a row with its models; None where it has too few sizes."""
    import numpy as np

    points = {t.size: t.histogram for t in row.timings if t.what is What.ROUND_TRIP}
    if len(points) < LEAST_SIZES:
        return None
    sizes = tuple(sorted(points))
    trips, passes = times_over_sizes([points[size] for size in sizes])
    times = tuple(trip.times(0.5) for trip in trips)
    x = np.array(sizes, dtype=np.float64)
    y = np.array([time.value for time in times])
    hockney = fit_hockney(x, y)
    send, receive = _over_sizes(row, What.SEND, sizes), _over_sizes(row, What.RECEIVE, sizes)
    gaps = _over_sizes(row, What.GAP, sizes)
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
            Measured(piece.start, *bounds[0]),
            Measured(piece.slope, *bounds[1]),
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
    times: tuple[Measured, ...],
    gap: Measured,
    sends: tuple[Measured, ...],
    receives: tuple[Measured, ...],
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


def _over_sizes(row: Row, what: What, sizes: Sequence[int]) -> tuple[Measured, ...] | None:
    found = [row.timing(what, size) for size in sizes]
    return None if None in found else tuple(one.p50 for one in found if one is not None)


def _piece(segment: Segment) -> Piece:
    """Return a segment with its sizes as its places."""
    return Piece(
        0, 0, segment.startup.value, segment.per_byte.value, segment.smallest, segment.largest
    )
