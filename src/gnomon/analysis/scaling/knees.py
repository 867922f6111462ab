"""Knees: where the course of an event bends, as from physical cores to hyper-threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.choice import Choice, poorly_fitted
from gnomon.analysis.scaling.fitting import (
    Data,
    criterion,
    explained,
    summarise_points,
)
from gnomon.analysis.scaling.result import Knee, Noise
from gnomon.analysis.stats.distributions import f_upper

Array = NDArray[np.float64]

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
