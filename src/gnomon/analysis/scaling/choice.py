"""Choosing a model for every event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.fitting import Data, Fitted, aicc, fit, summarise_points
from gnomon.analysis.scaling.models import CONSTANT, catalogue
from gnomon.analysis.scaling.result import Noise
from gnomon.analysis.stats.distributions import f_upper

Array = NDArray[np.float64]

_LACK_OF_FIT = 0.001
_CLEAR = 10.0  # twice a logarithm of likelihoods, beyond which the scatter shows its kind
GROWTH = 0.001
"""The chance at which something constant is taken for growing."""


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
