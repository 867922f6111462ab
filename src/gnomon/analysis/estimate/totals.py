"""Totals of a run from the ticks in which each event was read, without bias, with intervals.

Estimates of single ticks are medians: good to look at, but their sum is too small where an
event comes in bursts. A total is therefore estimated apart, by a predictor that is corrected
with its own errors on readings that were hidden from it (a difference estimator): each
reading stands for its rotation, so the sum has no bias whatever the predictor is, and
the better that is, the narrower the interval. The predictor is chosen for each event by its
errors on hidden readings, and one of the choices is the mean rate, which makes the total
that of linear scaling.
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
    Total = tuple[float, float, float, float]
    Predictor = tuple[Array, Array]
    """Rates at the ticks that were read, each from the others, and at those that were not."""

_NEIGHBOURS = (2, 5, 12)
_PENALTIES = (0.01, 0.1)
_TOGETHER = 3
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

    if not len(readings):
        nothing = np.full(len(readings.layout), np.nan)
        return Totals(nothing, nothing, nothing, nothing)
    state = _state(readings)
    rows = [_total(readings, event, state) for event in range(len(readings.layout))]
    mean, deviation, low, high = np.array(rows, dtype=float).reshape(-1, 4).T
    return Totals(mean, deviation, low, high)


def _total(readings: Readings, event: int, state: Array) -> Total:
    import numpy as np

    counts, seconds = readings.counts[:, event], readings.seconds
    read = np.flatnonzero(np.isfinite(counts))
    unread = np.flatnonzero(~np.isfinite(counts))
    if not len(read):
        return (np.nan,) * 4
    known = float(counts[read].sum())
    if not len(unread):
        return known, 0.0, known, known
    left, seen = float(seconds[unread].sum()), float(seconds[read].sum())
    if known == 0:
        # As many as could have stayed unseen with one chance in ten.
        most = -float(np.log1p(-COVERAGE)) * left / seen
        return 0.0, most / 2, 0.0, most
    if len(read) < _FEWEST:
        total = known + left * known / seen
        return total, total, known, total * _most(len(read))
    rates = counts[read] / seconds[read]
    weights = _weights(readings, read, unread)
    hidden, predicted = _best(
        list(_predictions(readings, state, read, rates, unread)), rates, weights
    )
    errors = rates - hidden
    total = known + float(np.sum(seconds[unread] * predicted) + np.sum(weights * errors))
    total = max(total, known)
    spread = float(np.mean(errors**2))
    deviation = float(np.sqrt(spread * np.sum(weights * (weights + seconds[read]))))
    return total, deviation, *_interval(total, deviation, known, counts[read])


def _best(predictors: list[Predictor], rates: Array, weights: Array) -> Predictor:
    """Return the predictor that met hidden readings best, or the mean of the best if that did."""
    import numpy as np

    def error(predictor: Predictor) -> float:
        return float(np.sum(weights * (rates - predictor[0]) ** 2))

    best = sorted(predictors, key=error)[:_TOGETHER]
    means = [
        (np.mean([h for h, _ in best[:n]], axis=0), np.mean([p for _, p in best[:n]], axis=0))
        for n in range(2, len(best) + 1)
    ]
    chosen = min([best[0], *means], key=error)
    if np.count_nonzero(rates) < _FEWEST:
        return predictors[0]
    # The mean rate is the first. Among many, one is better by luck: its gain must exceed what
    # chance makes of so few readings that matter, which are few where bursts are.
    certain = 1 - 1 / np.sqrt(_readings_that_matter(rates))
    return chosen if error(chosen) <= certain * error(predictors[0]) else predictors[0]


def _readings_that_matter(rates: Array) -> float:
    """Return how many readings make up the variance: all if they scatter alike, one for a burst."""

    squares = (rates - rates.mean()) ** 2
    whole = float(squares.sum())
    return whole**2 / float((squares**2).sum()) if whole > 0 else float(len(rates))


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


def _predictions(
    readings: Readings, state: Array, read: Places, rates: Array, unread: Places
) -> Iterator[Predictor]:
    """Yield the mean rate, rates in proportion to others, regressions, and analogues."""
    import numpy as np
    from scipy.spatial import cKDTree  # type: ignore[import-untyped]

    total = float(np.sum(rates))
    others = (total - rates) / (len(read) - 1)
    yield others, np.full(len(unread), total / len(read))
    for fixed in readings.fixed.T:
        base = fixed / readings.seconds
        whole = float(np.sum(base[read]))
        if whole <= 0:
            continue
        rest = np.maximum(whole - base[read], whole * 1e-12)
        yield (total - rates) / rest * base[read], total / whole * base[unread]
    yield from _regressions(readings, read, rates, unread)
    examples = read[-_MOST:]
    values = rates[-_MOST:]
    tree = cKDTree(state[examples])
    for count in _NEIGHBOURS:
        if count + 1 > len(examples):
            break
        far, near = tree.query(state[read], k=count + 1)
        own = examples[near] == read[:, None]
        own[~own.any(axis=1), -1] = True  # where it is not its own example, drop the farthest
        yield _mean(values[near], far, ~own), _mean(values, *tree.query(state[unread], k=count))


def _regressions(
    readings: Readings, read: Places, rates: Array, unread: Places
) -> Iterator[Predictor]:
    """Yield ridge regressions on what was counted all the time, and on its roots as well."""
    import numpy as np

    rows = _always(readings) / readings.seconds[:, None]
    rows = rows[:, rows[read].std(axis=0) > 0]
    rows = rows / rows[read].mean(axis=0)
    for table in (rows, np.hstack([rows, np.sqrt(rows)])):
        if not 0 < 3 * table.shape[1] + 5 <= len(read) or not rows.size:
            continue
        centred = (table - table[read].mean(axis=0)) / table[read].std(axis=0)
        seen, mean = centred[read], float(rates.mean())
        for penalty in _PENALTIES:
            normal = seen.T @ seen + penalty * len(read) * np.eye(table.shape[1])
            slopes = np.linalg.solve(normal, seen.T @ (rates - mean))
            # What a row does to its own fit tells what the fit would be without it.
            own = np.einsum("ij,ji->i", seen, np.linalg.solve(normal, seen.T)) + 1 / len(read)
            errors = (rates - mean - seen @ slopes) / np.maximum(1 - own, 1e-3)
            yield rates - errors, np.maximum(mean + centred[unread] @ slopes, 0.0)


def _always(readings: Readings) -> Array:
    """Return the counts of everything that was counted in every tick."""
    import numpy as np

    whole = np.isfinite(readings.counts).all(axis=0)
    table: Array = np.hstack([readings.fixed, readings.counts[:, whole]])
    return table


def _mean(values: Array, far: Array, near: Array) -> Array:
    """Return means of the nearest examples, or of values that stand beside their distances."""
    import numpy as np

    weights = 1 / (far + 0.1)
    if near.dtype == bool:
        weights = np.where(near, weights, 0.0)
    else:
        values = values[near]
    result: Array = (weights * values).sum(axis=1) / weights.sum(axis=1)
    return result


def _state(readings: Readings) -> Array:
    """Return where each tick is: what was counted all the time in and around it, and when."""
    import numpy as np

    seconds = readings.seconds
    columns = [_SPAN * np.cumsum(seconds) / seconds.sum()]
    for counts in _always(readings).T:
        level = np.log1p(counts / seconds)
        usual = float(np.mean(np.abs(level - np.median(level))))
        if usual == 0:
            continue
        level = level / usual
        before = np.concatenate([level[:1], level[:-1]])
        after = np.concatenate([level[1:], level[-1:]])
        columns += [level, _NEAR * before, _NEAR * after]
    return np.column_stack(columns)
