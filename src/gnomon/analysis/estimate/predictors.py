"""Predictors of rates in ticks in which events were not read, judged by hidden readings.

Events of a set are read in the same ticks, so all of them are predicted at once: rates are
tables with a row a reading and a column an event. A predictor says of every reading what it
would have been from the others, and what the rate was in the ticks between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.analysis.estimate.model import Array, Readings

    Places = NDArray[np.intp]
    Prediction = tuple[Array, Array]
    """Rates at the ticks that were read, each from the others, and at those that were not."""

_NEIGHBOURS = (2, 5, 12)
_PENALTIES = (0.01, 0.1)  # of regressions
_SCALES = (0.5, 2.0)  # of kernels, in units of how far ticks usually are from each other
_NOISES = (0.03, 0.3)  # of kernels, as a share of the variance
_FEWEST_FOR_KERNELS, _MOST_FOR_KERNELS = 8, 1000
_MOST_EXAMPLES = 4000
_AT_ONCE = 4096  # ticks whose distances from all examples are held in memory

_NEAR = 0.3  # how much of the present state the ticks beside one tell of it
_SPAN = 3.0  # a whole run apart is as far as so many usual deviations of the state
_SAME = 1e-6  # what varies by less, in units of its mean, does not vary
_BEYOND = 2.0  # times the largest rate that was read is believed, in ticks that were as busy


def predictions(
    readings: Readings, state: Array, read: Places, rates: Array, unread: Places
) -> Iterator[Prediction]:
    """Yield what each predictor says of the rates of the events that were read at `read`.

    The first is the mean rate, which makes the total that of linear scaling.
    """
    import numpy as np

    yield _means(rates, len(unread))
    highest = _BEYOND * rates.max(axis=0)
    busier = _busier(always_counted(readings) / readings.seconds[:, None], read, unread)
    for hidden, predicted in _others(readings, state, read, rates, unread):
        yield np.clip(hidden, 0, highest), np.clip(predicted, 0, busier[:, None] * highest)


def _busier(counted: Array, read: Places, unread: Places) -> Array:
    """Return how many times more happened in unread ticks than in any that was read, if so.

    That is known of what is always counted: a burst of instructions has more of other events too.
    """
    import numpy as np

    most = counted[read].max(axis=0, initial=0.0)
    known = most > 0
    times = counted[np.ix_(unread, np.flatnonzero(known))] / most[known]
    result: Array = times.max(axis=1, initial=1.0)
    return result


def _others(
    readings: Readings, state: Array, read: Places, rates: Array, unread: Places
) -> Iterator[Prediction]:
    ticks = Ticks(readings, read, unread)
    yield ticks.between(rates)
    for base in (readings.fixed / readings.seconds[:, None]).T:
        if base[read].sum() > 0:
            yield _in_proportion(rates, base[read], base[unread])
        if base[read].min() > 0:
            hidden, predicted = ticks.between(rates / base[read, None])
            yield hidden * base[read, None], predicted * base[unread, None]
    yield from _regressions(always_counted(readings), readings.seconds, read, rates, unread)
    yield from _analogues(state, read, rates, unread)
    if _FEWEST_FOR_KERNELS <= len(read) <= _MOST_FOR_KERNELS:
        yield from _kernels(state, read, rates, unread)


def _means(rates: Array, unread: int) -> Prediction:
    import numpy as np

    whole = rates.sum(axis=0)
    return (whole - rates) / (len(rates) - 1), np.tile(whole / len(rates), (unread, 1))


def _in_proportion(rates: Array, here: Array, there: Array) -> Prediction:
    """Say that an event is in proportion to something that was counted all the time."""
    import numpy as np

    whole, base = rates.sum(axis=0), float(here.sum())
    rest = np.maximum(base - here, base * 1e-12)
    return (whole - rates) / rest[:, None] * here[:, None], there[:, None] * (whole / base)


class Ticks:
    """When ticks were, for straight lines between readings."""

    def __init__(self, readings: Readings, read: Places, unread: Places) -> None:
        import numpy as np

        middles = np.cumsum(readings.seconds) - readings.seconds / 2
        self._read, self._unread = middles[read], middles[unread]

    def between(self, values: Array) -> Prediction:
        """Say that values change evenly from each reading to the next."""
        import numpy as np

        before, after = values[:-2], values[2:]
        gaps = self._read[2:] - self._read[:-2]
        part = ((self._read[1:-1] - self._read[:-2]) / gaps)[:, None]
        inner = before + (after - before) * part
        hidden = np.concatenate([values[1:2], inner, values[-2:-1]])
        lines = [np.interp(self._unread, self._read, column) for column in values.T]
        return hidden, np.array(lines).T


def _regressions(
    counted: Array, seconds: Array, read: Places, rates: Array, unread: Places
) -> Iterator[Prediction]:
    """Yield ridge regressions on what was counted all the time, and on its roots as well."""
    import numpy as np

    rows = counted / seconds[:, None]
    usual = rows[read].mean(axis=0)
    rows = rows[:, usual > 0] / usual[usual > 0]
    mean = rates.mean(axis=0)
    for table in (rows, np.hstack([rows, np.sqrt(rows)])):
        spread = table[read].std(axis=0)
        varies = spread > _SAME
        # Where hardly anything varied when it was read, what it did else would weigh too much.
        centred = (table - table[read].mean(axis=0))[:, varies] / spread[varies]
        width = centred.shape[1]
        if not 0 < 3 * width + 5 <= len(read):
            continue
        seen = centred[read]
        for penalty in _PENALTIES:
            normal = seen.T @ seen + penalty * len(read) * np.eye(width)
            slopes = np.linalg.solve(normal, seen.T @ (rates - mean))
            # What a row does to its own fit tells what the fit would be without it.
            own = np.einsum("ij,ji->i", seen, np.linalg.solve(normal, seen.T)) + 1 / len(read)
            errors = (rates - mean - seen @ slopes) / np.maximum(1 - own, 1e-3)[:, None]
            yield rates - errors, mean + centred[unread] @ slopes


def _analogues(state: Array, read: Places, rates: Array, unread: Places) -> Iterator[Prediction]:
    """Yield means over the readings in the most similar states."""
    import numpy as np
    from scipy.spatial import cKDTree  # type: ignore[import-untyped]

    examples, values = read[-_MOST_EXAMPLES:], rates[-_MOST_EXAMPLES:]
    tree = cKDTree(state[examples])
    for count in _NEIGHBOURS:
        if count + 1 > len(examples):
            break
        far, near = tree.query(state[read], k=count + 1)
        own = examples[near] == read[:, None]
        own[~own.any(axis=1), -1] = True  # where it is not its own example, drop the farthest
        hidden = _weighted(values[near], np.where(own, 0.0, 1 / (far + 0.1)))
        far, near = tree.query(state[unread], k=count)
        yield hidden, _weighted(values[near], 1 / (far + 0.1))


def _weighted(values: Array, weights: Array) -> Array:
    """Return weighted means; values have a row a tick, a column a neighbour, and events."""
    import numpy as np

    result: Array = np.einsum("tn,tne->te", weights, values) / weights.sum(axis=1)[:, None]
    return result


def _kernels(state: Array, read: Places, rates: Array, unread: Places) -> Iterator[Prediction]:
    """Yield smooth functions of the state through the readings, with noise (kernel ridge)."""
    import numpy as np
    from scipy.spatial.distance import cdist  # type: ignore[import-untyped]

    known = state[read]
    apart = cdist(known, known)
    if not apart.any():
        return
    usual = float(np.median(apart[apart > 0]))
    count, mean = len(read), rates.mean(axis=0)
    for scale in _SCALES:
        length = scale * usual
        similar = _similar(apart / length)
        inverses = [np.linalg.inv(similar + noise * np.eye(count)) for noise in _NOISES]
        factors = [inverse @ (rates - mean) for inverse in inverses]
        # Of many ticks not all distances at once, and similarities for all noises together.
        parts = [
            _similar(cdist(state[some], known) / length) @ np.hstack(factors)
            for some in np.array_split(unread, len(unread) // _AT_ONCE + 1)
        ]
        predicted = np.split(np.concatenate(parts), len(_NOISES), axis=1)
        for inverse, own, there in zip(inverses, factors, predicted, strict=True):
            # The error that a fit without the reading, and without it in the mean, would make.
            errors = own / np.diag(inverse)[:, None] * (count / (count - 1))
            yield rates - errors, mean + there


def _similar(far: Array) -> Array:
    """Return how much alike ticks are that are so far from each other (Matern, 3/2)."""
    import numpy as np

    result: Array = (1 + far) * np.exp(-far)
    return result


def always_counted(readings: Readings) -> Array:
    """Return the counts of everything that was counted in every tick."""
    import numpy as np

    whole = np.isfinite(readings.counts).all(axis=0)
    table: Array = np.hstack([readings.fixed, readings.counts[:, whole]])
    return table


def states(readings: Readings) -> Array:
    """Return where each tick is: what was counted all the time in and around it, and when."""
    import numpy as np

    seconds = readings.seconds
    columns = [_SPAN * np.cumsum(seconds) / seconds.sum()]
    for counts in always_counted(readings).T:
        level = np.log1p(counts / seconds)
        usual = float(np.mean(np.abs(level - np.median(level))))
        if usual == 0:
            continue
        level = level / usual
        before = np.concatenate([level[:1], level[:-1]])
        after = np.concatenate([level[1:], level[-1:]])
        columns += [level, _NEAR * before, _NEAR * after]
    return np.column_stack(columns)
