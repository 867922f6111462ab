"""Totals of a run from the ticks in which each event was read, without bias, with intervals.

Estimates of single ticks are medians: good to look at, but their sum is too small where an
event comes in bursts. A total is therefore estimated apart, by a predictor that is corrected
with its own mean error on readings that were hidden from it (a difference estimator): it is
unbiased whatever the predictor is, and the better that is, the narrower the interval. The
predictor is chosen for each event by its errors on hidden readings, and one of the choices is
the mean rate, which makes the total that of linear scaling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import COVERAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.analysis.estimate.model import Array, Readings

    Places = NDArray[np.intp]

_NEIGHBOURS = (2, 5, 12)
_FEWEST = 4
"""With fewer readings than this there is nothing to choose by."""

_MOST = 4000
"""More readings than this are not needed as examples."""

_NEAR = 0.3  # how much of the present state the ticks beside one tell of it
_SPAN = 3.0  # a whole run apart is as far as so many usual deviations of the state


@dataclass(frozen=True, slots=True)
class Totals:
    """The total of every event over a run, with its 90 % interval; NaN when it was never read."""

    mean: Array
    deviation: Array
    low: Array
    high: Array


def run_totals(readings: Readings) -> Totals:
    """Return the totals of all events of a run."""
    import numpy as np

    state = _state(readings)
    rows = [_total(readings, event, state) for event in range(len(readings.layout))]
    mean, deviation, low, high = np.array(rows, dtype=float).reshape(-1, 4).T
    return Totals(mean, deviation, low, high)


def _total(readings: Readings, event: int, state: Array) -> tuple[float, float, float, float]:
    import numpy as np

    from gnomon.analysis.stats.distributions import t_quantile

    counts = readings.counts[:, event]
    read = np.flatnonzero(np.isfinite(counts))
    if not len(read):
        return (np.nan,) * 4
    seconds = readings.seconds
    known = float(counts[read].sum())
    unread = np.setdiff1d(np.arange(len(counts)), read)
    if not len(unread):
        return known, 0.0, known, known
    left, seen = float(seconds[unread].sum()), float(seconds[read].sum())
    if known == 0:
        # As many as could have stayed unseen with one chance in ten.
        return 0.0, 0.0, 0.0, -float(np.log1p(-COVERAGE)) * left / seen
    rates = counts[read] / seconds[read]
    if len(read) < _FEWEST:
        total = known + left * known / seen
        return total, total, known, 4 * total  # one or two readings tell next to nothing
    best = min(
        _predictions(readings, state, read, rates, unread),
        key=lambda each: float(np.sum(seconds[read] * (rates - each[0]) ** 2)),
    )
    hidden, predicted = best
    errors = rates - hidden
    correction = float(np.average(errors, weights=seconds[read]))
    total = known + float(np.sum(seconds[unread] * predicted)) + left * correction
    total = max(total, known)
    spread = float(np.sqrt(np.sum((errors - correction) ** 2) / (len(read) - 1)))
    deviation = spread * float(np.sqrt(left * (left + seen) / len(read)))
    margin = deviation * float(t_quantile((1 + COVERAGE) / 2, len(read) - 1))
    return total, deviation, max(known, total - margin), total + margin


def _predictions(
    readings: Readings, state: Array, read: Places, rates: Array, unread: Places
) -> Iterator[tuple[Array, Array]]:
    """Yield rates at the ticks that were read, each from the others, and at those that were not."""
    import numpy as np
    from scipy.spatial import cKDTree  # type: ignore[import-untyped]

    yield np.full(len(read), rates.mean()), np.full(len(unread), rates.mean())
    for fixed in readings.fixed.T:
        base = fixed / readings.seconds
        if np.all(base[read] <= 0):
            continue
        above, below = float(np.sum(rates)), float(np.sum(base[read]))
        rest = np.maximum(below - base[read], 1e-300)
        yield (above - rates) / rest * base[read], above / below * base[unread]
    examples = read[-_MOST:]
    tree = cKDTree(state[examples])
    for count in _NEIGHBOURS:
        if count + 1 > len(examples):
            break
        far, near = tree.query(state[read], k=count + 1)
        own = examples[near] == read[:, None]
        own[~own.any(axis=1), -1] = True  # where it is not its own example, drop the farthest
        weights = np.where(own, 0.0, 1 / (far + 0.1))
        values = counts_at(rates, read, examples)[near]
        hidden = (weights * values).sum(axis=1) / weights.sum(axis=1)
        far, near = tree.query(state[unread], k=count)
        far, near = far.reshape(len(unread), -1), near.reshape(len(unread), -1)
        weights = 1 / (far + 0.1)
        values = counts_at(rates, read, examples)[near]
        yield hidden, (weights * values).sum(axis=1) / weights.sum(axis=1)


def counts_at(rates: Array, read: Places, examples: Places) -> Array:
    """Return the rates of the examples, which are the last of the readings."""
    return rates[len(read) - len(examples) :]


def _state(readings: Readings) -> Array:
    """Return where each tick is: what the fixed counters counted in and around it, and when."""
    import numpy as np

    ticks = len(readings)
    columns = [_SPAN * np.arange(ticks) / max(ticks, 1)]
    for fixed in readings.fixed.T:
        level = np.log1p(fixed / readings.seconds)
        usual = float(np.mean(np.abs(level - np.median(level)))) or 1.0
        level = level / usual
        columns += [level, _NEAR * np.roll(level, 1), _NEAR * np.roll(level, -1)]
        columns[-2][:1], columns[-1][-1:] = _NEAR * level[:1], _NEAR * level[-1:]
    return np.column_stack(columns)
