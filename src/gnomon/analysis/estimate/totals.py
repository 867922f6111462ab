"""Totals of a run from the ticks in which each event was read, without bias, with intervals.

Estimates of single ticks are medians: good to look at, but their sum is too small where an
event comes in bursts. A total is therefore estimated apart, by a predictor that is corrected
with its own errors on readings that were hidden from it (a difference estimator): each
reading stands for its rotation, so the sum has no bias whatever the predictor is, and
the better that is, the narrower the interval. It is a mixture for each event: of several
predictors those count that met hidden readings best, and one of them is the mean rate, which
makes the total that of linear scaling.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import COVERAGE
from gnomon.analysis.estimate.predictors import predictions, states
from gnomon.analysis.estimate.result import Totals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.analysis.estimate.model import Array, Readings
    from gnomon.analysis.estimate.predictors import Prediction

    Places = NDArray[np.intp]
    Total = tuple[float, float, float, float]

_FEWEST = 4
"""With fewer readings than this there is nothing to choose by."""

_FEWEST_SEEN = 10
"""An event that was seen in fewer readings than this is taken to have its mean rate."""

_SHARPNESS, _SHARPEST = 0.5, 20.0  # how fast trust in predictors falls with their errors
_UNCERTAIN = 0.6  # of what the busiest turn counted


def run_totals(readings: Readings) -> Totals:
    """Return the totals of all events of a run."""
    import numpy as np

    events = len(readings.layout)
    found = np.full((4, events), np.nan)
    if not len(readings):
        return Totals(*found)
    state = states(readings)
    for read, together in _read_together(readings):
        found[:, together] = _totals(readings, read, together, state)
    return Totals(*found)


def _read_together(readings: Readings) -> list[tuple[Places, Places]]:
    """Return the ticks in which events were read, and the events that were read in them."""
    import numpy as np

    read = np.isfinite(readings.counts)
    patterns, which = np.unique(read, axis=1, return_inverse=True)
    return [
        (np.flatnonzero(pattern), np.flatnonzero(which.ravel() == number))
        for number, pattern in enumerate(patterns.T)
        if pattern.any()
    ]


def _totals(readings: Readings, read: Places, together: Places, state: Array) -> Array:
    """Return mean, deviation and interval of the totals of events that were read together."""
    import numpy as np

    seconds = readings.seconds
    counts = readings.counts[np.ix_(read, together)]
    unread = np.setdiff1d(np.arange(len(seconds)), read)
    known = counts.sum(axis=0)
    if not len(unread):
        return np.array([known, np.zeros_like(known), known, known])
    left, seen = float(seconds[unread].sum()), float(seconds[read].sum())
    found = np.array([_roughly(float(each), left, seen, len(read)) for each in known]).T
    busy = np.flatnonzero(known > 0)
    if len(read) < _FEWEST or not len(busy):
        return found
    rates = counts[:, busy] / seconds[read, None]
    weights = _weights(readings, read, unread)
    made = list(predictions(readings, state, read, rates, unread))
    longest = float(seconds.max())
    for place, event in enumerate(busy):
        own = [(hidden[:, place], predicted[:, place]) for hidden, predicted in made]
        hidden, predicted = _combined(own, rates[:, place], weights)
        errors = rates[:, place] - hidden
        rest = float(np.sum(seconds[unread] * predicted) + np.sum(weights * errors))
        total = max(float(known[event]) + rest, float(known[event]))
        edge = float(rates[:, place].max()) * longest
        deviation = _deviation(errors, weights, seconds[read], edge)
        ends = _interval(total, deviation, float(known[event]), counts[:, event])
        found[:, event] = total, deviation, *ends
    return found


def _deviation(errors: Array, weights: Array, seconds: Array, edge: float) -> float:
    """Return the standard deviation of a total whose predictor made these errors.

    Errors may be larger where turns are longer: the larger of both ways to sum them up counts.
    `edge` is the most that a turn can count. Phases begin and end within turns in which the
    event was not read, so that about half of it is never certain.
    """
    import numpy as np

    factors = weights * (weights + seconds)
    squares = errors**2
    variance = max(float(squares.mean() * factors.sum()), float(np.sum(squares * factors)))
    return math.hypot(math.sqrt(variance), _UNCERTAIN * edge)


def _roughly(known: float, left: float, seen: float, times: int) -> Total:
    """Return a total by linear scaling, after too few readings for anything else."""
    if known == 0:
        # As many as could have stayed unseen with one chance in ten.
        most = -math.log1p(-COVERAGE) * left / seen
        return 0.0, most / 2, 0.0, most
    total = known + left * known / seen
    return total, total, known, total * _most(times)


def _combined(predictors: list[Prediction], rates: Array, weights: Array) -> Prediction:
    """Return predictors as one: their weights fall with a power of their errors."""
    import numpy as np

    if np.count_nonzero(rates) < _FEWEST_SEEN:
        return predictors[0]
    errors = np.array([float(np.sum(weights * (rates - hidden) ** 2)) for hidden, _ in predictors])
    least = errors.min()
    if least == 0:
        return predictors[int(errors.argmin())]
    trust = (errors / least) ** -min(len(rates) * _SHARPNESS, _SHARPEST)
    trust /= trust.sum()
    return (
        np.einsum("p,pr->r", trust, [hidden for hidden, _ in predictors]),
        np.einsum("p,pr->r", trust, [predicted for _, predicted in predictors]),
    )


def _interval(total: float, deviation: float, known: float, counts: Array) -> tuple[float, float]:
    import numpy as np

    from gnomon.analysis.stats.distributions import t_quantile

    margin = deviation * float(t_quantile((1 + COVERAGE) / 2, len(counts) - 1))
    bursts = int(np.count_nonzero(counts))
    return max(known, total - margin), max(total + margin, total * _most(bursts))


def _most(bursts: int) -> float:
    """Return how many times more there may be of what was seen so few times."""
    from scipy.special import gammaincinv  # type: ignore[import-untyped]

    # The upper end of a Poisson mean after so many occurrences, relative to their number.
    return float(gammaincinv(bursts + 1, (1 + COVERAGE) / 2)) / bursts if bursts <= 10 else 1.0


def _weights(readings: Readings, read: Places, unread: Places) -> Array:
    """Return for how much of the time that was not read each reading stands.

    That is its share of its rotation; a rotation in which the event was not read is left
    to all readings.
    """
    import numpy as np

    seconds = readings.seconds
    ended = np.cumsum(readings.ends_rotation)
    rotation = np.concatenate([[0], ended[:-1]])
    rotations = int(rotation[-1]) + 1
    left = np.bincount(rotation[unread], weights=seconds[unread], minlength=rotations)
    times = np.bincount(rotation[read], weights=seconds[read], minlength=rotations)
    orphans = float(left[times == 0].sum())
    share = np.divide(left, times, out=np.zeros(rotations), where=times > 0)
    own = seconds[read] * share[rotation[read]]
    result: Array = own + orphans * seconds[read] / seconds[read].sum()
    return result
