"""Choosing a model for every event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.fitting import Data, Fitted, Noise, aicc, fit, summarise_points
from gnomon.analysis.scaling.models import CONSTANT, catalogue
from gnomon.analysis.stats.distributions import f_upper

Array = NDArray[np.float64]

_LACK_OF_FIT = 0.001
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


def choose(points: Array, values: Array) -> tuple[Choice, Choice, NDArray[np.bool_]]:
    """Fit all models with constant and with proportional noise.

    Returns both, and for each event whether the proportional one describes it better.
    """
    choices = [_with_noise(points, values, noise) for noise in Noise]
    best = [_at(choice.criteria, choice.chosen) for choice in choices]
    same_basis = choices[0].by_points == choices[1].by_points
    proportional = np.where(same_basis, best[1] <= best[0], choices[0].by_points)
    positive = (choices[1].data.means > 0).all(0)
    return choices[0], choices[1], proportional & positive


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
