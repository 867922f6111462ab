"""Choosing what describes the course of an event: a smooth model, or two pieces with a knee."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.fitting import (
    Data,
    Fitted,
    aicc,
    criterion,
    explained,
    fit,
    summarise_points,
)
from gnomon.analysis.scaling.result import Factor, Knee, Model, Noise, Shape
from gnomon.analysis.stats.distributions import f_upper

Array = NDArray[np.float64]

_LACK_OF_FIT = 0.001
_CLEAR = 10.0  # twice a logarithm of likelihoods, beyond which the scatter shows its kind
GROWTH = 0.001
"""The chance at which something constant is taken for growing."""


CONSTANT = Model()


def catalogue(points: Array) -> Iterator[Model]:
    """Yield the models that so many distinct points can tell apart, the simplest first."""
    distinct = [np.unique(points[:, i]) for i in range(points.shape[1])]
    shapes = [[s for s in Shape if not (s.positive and values.min() <= 0)] for values in distinct]
    yield CONSTANT
    count = len(np.unique(points, axis=0))
    found: list[Model] = []
    for parameter, some in enumerate(shapes):
        found += [
            Model(((Factor(parameter, shape),),))
            for shape in some
            if len(distinct[parameter]) > 2 + shape.free
        ]
    if points.shape[1] == 2:
        for one, other in product(shapes[0], shapes[1]):
            if len(distinct[0]) < 2 + one.free or len(distinct[1]) < 2 + other.free:
                continue
            first, second = Factor(0, one), Factor(1, other)
            found += [Model(((first, second),)), Model(((first,), (second,)))]
    yield from sorted((m for m in found if m.size < count), key=lambda m: m.size)


@dataclass(frozen=True, slots=True)
class Choice:
    """All models under one view of the noise, and for each event which one describes it.

    `criteria` is models x events; the lower the better. `by_points` marks events whose
    repeated runs agree better with each other than with any model: for them criteria count
    points, not runs. `best` has the least criterion of each event by runs and by points.
    """

    data: Data
    fits: tuple[Fitted, ...]
    criteria: Array
    best: tuple[Array, Array]
    chosen: NDArray[np.intp]
    by_points: NDArray[np.bool_]

    def part(self, places: NDArray[np.intp]) -> Choice:
        """Return the same of some events only."""
        return Choice(
            self.data.part(places),
            tuple(fitted.part(places) for fitted in self.fits),
            self.criteria[:, places],
            (self.best[0][places], self.best[1][places]),
            self.chosen[places],
            self.by_points[places],
        )


def choose(points: Array, values: Array) -> list[tuple[Choice, NDArray[np.intp]]]:
    """Fit all models to runs x events, under the view of the noise that suits each event.

    Returns choices with the events that they are about. Where repeated runs do not show
    how the scatter goes with the value, both views are tried, and the better fit decides.
    """
    preference = _preference(points, values)
    both = np.flatnonzero(np.abs(preference) <= _CLEAR)
    parts = [
        (_with_noise(points, values[:, events], noise), events)
        for noise, sign in ((Noise.CONSTANT, -1), (Noise.PROPORTIONAL, 1))
        if (events := np.flatnonzero(sign * preference > _CLEAR)).size
    ]
    if both.size:
        constant, proportional = (_with_noise(points, values[:, both], noise) for noise in Noise)
        suits = _suits(constant, proportional)
        parts += [
            (choice.part(places), both[places])
            for choice, places in (
                (constant, np.flatnonzero(~suits)),
                (proportional, np.flatnonzero(suits)),
            )
            if places.size
        ]
    return parts


def _preference(points: Array, values: Array) -> Array:
    """Return how much likelier proportional scatter makes the repeats, as twice a logarithm."""
    data = summarise_points(points, values, Noise.PROPORTIONAL)
    freedom = data.runs - len(data.counts)
    positive = (data.means > 0).all(0)
    if freedom == 0:
        return np.where(positive, 0.0, -np.inf)
    extra = (data.counts[:, None] - 1) * np.log(data.weights)
    plain = data.within.sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = freedom * np.log(plain / data.pure_error) + extra.sum(0)
    return np.where(positive, np.where(plain > 0, gain, 0.0), -np.inf)


def _suits(constant: Choice, proportional: Choice) -> NDArray[np.bool_]:
    """Tell where proportional scatter gives the better fit."""
    best = [_at(choice.criteria, choice.chosen) for choice in (constant, proportional)]
    same_basis = constant.by_points == proportional.by_points
    return np.asarray(np.where(same_basis, best[1] <= best[0], constant.by_points), bool)


def _with_noise(points: Array, values: Array, noise: Noise) -> Choice:
    data = summarise_points(points, values, noise)
    fits = [fit(model, data) for model in catalogue(points)]
    table = np.array([aicc(fitted, data) for fitted in fits])
    of_points = np.array([aicc(f, data, of_points=True) for f in fits])
    least = (table.min(0), of_points.min(0))
    by_points = _poorly_fitted(data, fits, table)
    table[:, by_points] = of_points[:, by_points]
    chosen = table.argmin(0)
    chosen = np.where(_grows(data, fits, chosen, by_points), chosen, 0)
    return Choice(data, tuple(fits), table, least, chosen, by_points)


def _poorly_fitted(data: Data, fits: list[Fitted], table: Array) -> NDArray[np.bool_]:
    """Tell where even the best model leaves more than the scatter of runs explains."""
    best = table.argmin(0)
    size = np.array([f.model.size for f in fits])[best]
    misfit = np.array([f.misfit for f in fits])[best, np.arange(len(best))]
    return poorly_fitted(data, misfit, size)


def poorly_fitted(data: Data, misfit: Array, size: NDArray[np.int64] | int) -> NDArray[np.bool_]:
    """Tell where a model of so many numbers leaves more than the scatter of runs explains."""
    runs, points = data.runs, len(data.counts)
    if runs == points:
        return np.zeros(misfit.shape, bool)
    error = np.maximum(data.pure_error, data.least) / (runs - points)
    freedom = np.maximum(points - size, 1)
    ratio = np.where(points > size, misfit / freedom / error, 0.0)
    return np.asarray(f_upper(ratio, freedom, runs - points) < _LACK_OF_FIT)


def _grows(
    data: Data, fits: list[Fitted], chosen: NDArray[np.intp], by_points: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell where the chosen model is better than a constant beyond doubt."""
    assert fits[0].model == CONSTANT
    places = np.arange(len(chosen))
    size = np.array([f.model.size for f in fits])[chosen]
    error = np.where(by_points, 0.0, data.pure_error)
    number = np.where(by_points, len(data.counts), data.runs)
    squares = np.array([f.misfit for f in fits]) + error
    without = np.maximum(squares[0], data.least)
    rest = np.maximum(squares[chosen, places], data.least)
    freedom = np.maximum(number - size, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = ((without - rest) / np.maximum(size - 1, 1)) / (rest / freedom)
    return np.asarray((size > 1) & (f_upper(ratio, np.maximum(size - 1, 1), freedom) < GROWTH))


def _at(table: Array, rows: NDArray[np.intp]) -> Array:
    return np.asarray(table[rows, np.arange(len(rows))])


_COARSE = 10  # places tried between two neighbouring points
_FINE = 201  # places tried around the best of them
_NUMBERS = 4  # level, two slopes, the knee
_FEWEST_POINTS = 5
_DOUBT = 0.01
_ADVANTAGE = 2.0  # in AICc, over the best smooth model


@dataclass(frozen=True, slots=True)
class _Hinge:
    at: Array
    before: Array
    after: Array
    misfit: Array
    p: Array


def find_knees(points: Array, values: Array, choice: Choice) -> dict[int, Knee]:
    """Return the knees of events, by event, where two straight pieces beat any smooth model."""
    x = points[:, 0]
    if points.shape[1] != 1 or len(np.unique(x)) < _FEWEST_POINTS:
        return {}
    found: dict[int, Knee] = {}
    gains = np.full(values.shape[1], -np.inf)
    for log_log in (False, True):
        positive = (values > 0).all(0)
        if log_log and (x.min() <= 0 or not positive.any()):
            continue
        usable = np.flatnonzero(positive) if log_log else np.arange(values.shape[1])
        some, data = values[:, usable], choice.data
        if log_log:
            data = summarise_points(np.log(points), np.log(some), Noise.CONSTANT)
        else:
            data = data.part(usable)
        shift = 2 * np.log(some).sum(0) if log_log else np.zeros(len(usable))
        places = _between(data.points[1:-1, 0], _COARSE)
        hinge = _fit(data, places)
        gain = _gain(hinge, data, choice, usable, shift)
        likely = (gain > np.maximum(_ADVANTAGE, gains[usable])) & (hinge.p < _DOUBT)
        for place in np.flatnonzero(likely):
            alone = data.part(np.array([place]))
            fine = _fit(alone, _around(hinge.at[place], places))
            event = int(usable[place])
            own = _gain(fine, alone, choice, usable[[place]], shift[[place]])[0]
            if own > max(_ADVANTAGE, gains[event]) and fine.p[0] < _DOUBT:
                gains[event] = own
                found[event] = _knee(fine, log_log=log_log)
    return found


def _between(inner: Array, steps: int) -> Array:
    """Return places from the first inner point to the last, so many to a gap."""
    share = np.linspace(0, 1, steps, endpoint=False)
    return np.append((inner[:-1, None] + share * np.diff(inner)[:, None]).ravel(), inner[-1])


def _around(at: float, places: Array) -> Array:
    """Return places close to each other from the neighbour below to the neighbour above."""
    here = int(np.searchsorted(places, at))
    low, high = places[max(here - 1, 0)], places[min(here + 1, len(places) - 1)]
    return np.linspace(low, high, _FINE)


def _gain(
    hinge: _Hinge, data: Data, choice: Choice, events: NDArray[np.intp], shift: Array
) -> Array:
    """Return by how much the hinge beats the best smooth model, in AICc."""
    gains = []
    for of_points in (False, True):
        share = len(data.counts) / data.runs if of_points else 1.0
        own = criterion(hinge.misfit, data, _NUMBERS, 1, of_points=of_points) + share * shift
        with np.errstate(invalid="ignore"):
            gains.append(np.nan_to_num(choice.best[int(of_points)][events] - own, nan=-np.inf))
    poor = poorly_fitted(data, hinge.misfit, _NUMBERS)
    return np.where(poor, gains[1], gains[0])


def _fit(data: Data, places: Array) -> _Hinge:
    """Fit two straight pieces that meet at the best of some places, for every event."""
    x = data.points[:, 0]
    columns = np.stack(
        [np.broadcast_to(x, (len(places), len(x))), np.maximum(x - places[:, None], 0.0)], axis=2
    )
    weights = data.counts[:, None] * data.weights
    centred = data.means - (weights * data.means).sum(0) / weights.sum(0)
    total = (weights * centred**2).sum(0)
    best = explained(columns, data).argmax(0)
    straight = np.maximum(total - explained(columns[:1, :, :1], data)[0], 0.0)
    before, after, misfit = _pieces(columns[best], data)
    freedom = max(data.runs - _NUMBERS, 1)
    rest = np.maximum(misfit + data.pure_error, data.least)
    ratio = np.maximum(straight - misfit, 0.0) / 2 / (rest / freedom)
    # The best of several places is tested as if each had been tried by itself.
    p = np.minimum(f_upper(ratio, 2, freedom) * max(len(x) - 3, 1), 1.0)
    return _Hinge(places[best], before, after, misfit, p)


def _pieces(columns: Array, data: Data) -> tuple[Array, Array, Array]:
    """Return slopes before and after, and squares left, for columns of events x points x 2."""
    weights = (data.counts[:, None] * data.weights).T
    design = np.concatenate([np.ones((*columns.shape[:2], 1)), columns], axis=2)
    root = np.sqrt(weights)
    size = np.linalg.norm(design * root[:, :, None], axis=1)
    unit = design * root[:, :, None] / size[:, None, :]
    normal = np.einsum("epi,epj->eij", unit, unit)
    right = np.einsum("epi,ep->ei", unit, data.means.T * root)
    numbers = np.einsum("eij,ej->ei", np.linalg.pinv(normal, hermitian=True), right) / size
    rest = data.means.T - np.einsum("epi,ei->ep", design, numbers)
    return numbers[:, 1], numbers[:, 1] + numbers[:, 2], (weights * rest**2).sum(1)


def _knee(hinge: _Hinge, *, log_log: bool) -> Knee:
    at = float(hinge.at[0])
    return Knee(
        float(np.exp(at)) if log_log else at,
        float(hinge.before[0]),
        float(hinge.after[0]),
        log_log,
        float(hinge.p[0]),
    )
