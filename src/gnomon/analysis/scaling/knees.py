"""Knees: where the course of an event bends, as from physical cores to hyper-threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.choice import Choice, poorly_fitted
from gnomon.analysis.scaling.fitting import (
    Data,
    Noise,
    criterion,
    explained,
    summarise_points,
)
from gnomon.analysis.scaling.result import Knee
from gnomon.analysis.stats.distributions import f_upper

Array = NDArray[np.float64]

_POSITIONS = 40  # tried between two neighbouring points
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


def find_knees(
    points: Array, values: Array, choice: Choice, events: NDArray[np.intp]
) -> dict[int, Knee]:
    """Return the knees of events, by event, where two straight pieces beat any smooth model."""
    x = points[:, 0]
    if points.shape[1] != 1 or len(np.unique(x)) < _FEWEST_POINTS:
        return {}
    found: dict[int, Knee] = {}
    gains = np.full(values.shape[1], -np.inf)
    for log_log in (False, True):
        if log_log and (x.min() <= 0 or not (values[:, events] > 0).all(0).any()):
            continue
        usable = events[(values[:, events] > 0).all(0)] if log_log else events
        some, data = values[:, usable], choice.data
        if log_log:
            data = summarise_points(np.log(points), np.log(some), Noise.CONSTANT)
        else:
            data = data.part(usable)
        shift = 2 * np.log(some).sum(0) if log_log else np.zeros(len(usable))
        hinge = _fit(data)
        gain = _gain(hinge, data, choice, usable, shift)
        for place, event in enumerate(usable):
            if gain[place] > max(_ADVANTAGE, gains[event]) and hinge.p[place] < _DOUBT:
                gains[event] = gain[place]
                found[int(event)] = _knee(hinge, place, log_log=log_log)
    return found


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


def _fit(data: Data) -> _Hinge:
    """Fit two straight pieces that meet, for every event, trying every place to meet."""
    x = data.points[:, 0]
    inner = x[1:-1]
    steps = np.linspace(0, 1, _POSITIONS, endpoint=False)
    places = np.append((inner[:-1, None] + steps * np.diff(inner)[:, None]).ravel(), inner[-1])
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


def _knee(hinge: _Hinge, place: int, *, log_log: bool) -> Knee:
    at = float(hinge.at[place])
    return Knee(
        float(np.exp(at)) if log_log else at,
        float(hinge.before[place]),
        float(hinge.after[place]),
        log_log,
        float(hinge.p[place]),
    )
