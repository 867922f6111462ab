"""Fitting a model to all events at once.

Least squares need no more of repeated runs than their mean at each point and the squares
around it. For models that are linear but for an exponent, the exponents to begin with are
the same for all events, so that one matrix product tries all of them on all events; a few
damped Gauss-Newton steps, each event with its own, finish the job.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.result import SMALLEST_POWER, Model, Noise, Shape

Array = NDArray[np.float64]

_STEPS = 14
_ROUNDING = 1e-20  # squares relative to those of the values, below which there is no residual
_SPARE = 0.5
_FREEDOM = 10.0  # in AICc: a free exponent fits so many things that it must earn its place


@dataclass(frozen=True, slots=True)
class Data:
    """What was measured, point by point, and how much each point weighs.

    `means`, `weights` and `within` (squares around the mean) are points x events; `counts`
    are runs a point.
    """

    points: Array  # (point, parameter)
    counts: Array  # (point,)
    means: Array
    within: Array
    noise: Noise
    weights: Array

    @property
    def runs(self) -> int:
        """How many runs there are in all."""
        return int(self.counts.sum())

    @property
    def pure_error(self) -> Array:
        """The weighted squares of runs around their points: no model explains them."""
        return np.asarray((self.weights * self.within).sum(0))

    @property
    def log_weights(self) -> Array:
        """What the weights add to the likelihood."""
        return np.asarray((self.counts[:, None] * np.log(self.weights)).sum(0))

    @property
    def least(self) -> Array:
        """Squares that are nothing but rounding."""
        size = (self.counts[:, None] * self.weights * self.means**2).sum(0)
        return np.asarray(_ROUNDING * np.where(size > 0, size, 1.0))

    def part(self, events: NDArray[np.intp]) -> Data:
        """Return the same of some events only."""
        means, within, weights = (
            array[:, events] for array in (self.means, self.within, self.weights)
        )
        return Data(self.points, self.counts, means, within, self.noise, weights)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model fitted to all events: coefficients, exponents, and what is left at the points."""

    model: Model
    coefficients: Array  # (event, 1 + term)
    exponents: Array  # (event, free)
    misfit: Array  # (event,): weighted squares of points around the model

    def part(self, events: NDArray[np.intp]) -> Fitted:
        """Return the same of some events only."""
        return Fitted(
            self.model, self.coefficients[events], self.exponents[events], self.misfit[events]
        )


def summarise_points(points: Array, values: Array, noise: Noise) -> Data:
    """Gather runs x events into distinct points."""
    distinct, place = np.unique(points, axis=0, return_inverse=True)
    place = place.ravel()
    counts = np.bincount(place).astype(float)
    member = np.zeros((len(distinct), len(points)))
    member[place, np.arange(len(points))] = 1.0
    means = member @ values / counts[:, None]
    within = member @ (values - means[place]) ** 2
    weights = np.ones_like(means)
    if noise is Noise.PROPORTIONAL:
        # A point near zero would otherwise outweigh all the others.
        size = np.maximum(np.abs(means), 1e-3 * np.abs(means).max(0))
        weights = 1 / np.where(size > 0, size, 1.0) ** 2
    return Data(distinct, counts, means, within, noise, weights)


def fit(model: Model, data: Data) -> Fitted:
    """Fit a model to every event."""
    if not model.free:
        return _linear(model, data, np.empty((data.means.shape[1], 0)))
    fitted = _refine(_linear(model, data, _search(model, data)), data)
    powers = [place for place, (_, f) in enumerate(model.free) if f.shape is Shape.POWER]
    flat = (np.abs(fitted.exponents[:, powers]) < SMALLEST_POWER).any(1)
    return replace(fitted, misfit=np.where(flat, np.inf, fitted.misfit))


def aicc(fitted: Fitted, data: Data, *, of_points: bool = False) -> Array:
    """Return Akaike's criterion of a model, with a price on free exponents."""
    model = fitted.model
    return criterion(
        fitted.misfit, data, model.size, len(model.free), of_points=of_points, if_few=_SPARE
    )


def criterion(
    misfit: Array, data: Data, size: int, free: int, *, of_points: bool, if_few: float = 0.0
) -> Array:
    """Return Akaike's criterion with its correction for few values; infinite for too few.

    Of points alone, repeated runs count once: for events whose runs agree better with
    each other than with any model. Where the correction has nothing to divide by, it
    divides by `if_few`: a high price, that only a model pays which fits nearly exactly.
    """
    number = len(data.counts) if of_points else data.runs
    squares = misfit if of_points else misfit + data.pure_error
    size += 1  # the variance
    spare = number - size - 1 if number - size - 1 > 0 else if_few
    if not spare:
        return np.full(squares.shape, np.inf)
    share = number / data.runs
    likelihood = number * np.log(np.maximum(squares, data.least) / number)
    penalty = 2 * size + 2 * size * (size + 1) / spare
    penalty += _FREEDOM * free
    return np.asarray(likelihood - share * data.log_weights + penalty)


def _search(model: Model, data: Data) -> Array:
    """Return for each event the exponents that fit best among those to begin with."""
    count = 6 if len(model.free) == 1 else 2
    grids = [f.shape.exponents(data.points[:, f.parameter], count) for _, f in model.free]
    tried = np.array(list(product(*grids)))
    columns = model.columns(data.points, tried)  # (trial, point, term)
    return np.asarray(tried[explained(columns, data).argmax(0)])


def explained(columns: Array, data: Data) -> Array:
    """Return the weighted squares that one or two columns explain, as trials x events.

    `columns` is trials x points x columns; each trial is made on all events at once.
    """
    columns = columns / np.abs(columns).max(1, keepdims=True)
    weights = data.counts[:, None] * data.weights
    total = weights.sum(0)
    centred = data.means - (weights * data.means).sum(0) / total
    target = weights * centred
    first = columns[:, :, 0]
    mean_first = first @ weights / total
    ff = first**2 @ weights - mean_first**2 * total
    fy = first @ target
    with np.errstate(invalid="ignore", divide="ignore"):
        if columns.shape[2] == 1:
            gain = fy**2 / ff
        else:
            second = columns[:, :, 1]
            mean_second = second @ weights / total
            gg = second**2 @ weights - mean_second**2 * total
            gy = second @ target
            fg = (first * second) @ weights - mean_first * mean_second * total
            gain = (gg * fy**2 - 2 * fg * fy * gy + ff * gy**2) / (ff * gg - fg**2)
            gain = np.where(ff * gg - fg**2 > 1e-9 * ff * gg, gain, 0.0)
    return np.where(np.isfinite(gain) & (ff > 1e-12 * total), gain, 0.0)


def _linear(model: Model, data: Data, exponents: Array) -> Fitted:
    """Solve for the coefficients, given the exponents.

    With the weighted means taken off, there are at most two equations an event, which are
    solved in place: that is quicker than a decomposition each, and as exact.
    """
    weights = (data.counts[:, None] * data.weights).T  # (event, point)
    share = weights / weights.sum(1, keepdims=True)
    level = np.einsum("ep,ep->e", share, data.means.T)
    coefficients = np.zeros((len(level), 1 + len(model.terms)))
    if model.terms:
        columns = model.columns(data.points, exponents)
        middle = np.einsum("ep,ept->et", share, np.broadcast_to(columns, _full(columns, share)))
        centred = columns - middle[:, None, :]
        coefficients[:, 1:] = _solve(centred, data.means.T - level[:, None], share)
        level = level - (coefficients[:, 1:] * middle).sum(1)
    coefficients[:, 0] = level
    return Fitted(model, coefficients, exponents, _misfit(model, data, coefficients, exponents))


def _full(columns: Array, share: Array) -> tuple[int, int, int]:
    return (len(share), columns.shape[1], columns.shape[2])


def _solve(columns: Array, target: Array, weights: Array) -> Array:
    """Return the coefficients of one or two centred columns, zero where one says nothing."""
    first = columns[:, :, 0]
    ff = np.einsum("ep,ep,ep->e", weights, first, first)
    fy = np.einsum("ep,ep,ep->e", weights, first, target)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if columns.shape[2] == 1:
            return np.asarray(np.where(ff > 0, fy / ff, 0.0)[:, None])
        second = columns[:, :, 1]
        gg = np.einsum("ep,ep,ep->e", weights, second, second)
        gy = np.einsum("ep,ep,ep->e", weights, second, target)
        fg = np.einsum("ep,ep,ep->e", weights, first, second)
        determinant = ff * gg - fg**2
        both = np.stack([gg * fy - fg * gy, ff * gy - fg * fy], axis=1) / determinant[:, None]
    independent = determinant > 1e-13 * ff * gg
    return np.asarray(np.where(independent[:, None], both, 0.0))


def predicted(model: Model, points: Array, coefficients: Array, exponents: Array) -> Array:
    """Return the model at points, as events x points."""
    columns = model.columns(points, exponents)
    constant = coefficients[:, :1]
    if len(columns) == 1:
        return np.asarray(constant + coefficients[:, 1:] @ columns[0].T)
    return np.asarray(constant + np.einsum("ept,et->ep", columns, coefficients[:, 1:]))


def _misfit(model: Model, data: Data, coefficients: Array, exponents: Array) -> Array:
    rest = data.means.T - predicted(model, data.points, coefficients, exponents)
    squares = (data.counts[:, None] * data.weights).T * rest**2
    total = squares.sum(1)
    return np.asarray(np.where(np.isfinite(total), total, np.inf))


def jacobian(model: Model, points: Array, coefficients: Array, exponents: Array) -> Array:
    """Return derivatives by constant, coefficients and exponents: events x points x numbers."""
    columns = model.columns(points, exponents)
    columns = np.broadcast_to(columns, (len(coefficients), *columns.shape[1:]))
    parts = [np.ones((*columns.shape[:2], 1)), columns]
    if model.free:
        slopes = model.slopes(points, exponents, columns)
        terms = [number for number, _ in model.free]
        parts.append(slopes * coefficients[:, None, [1 + number for number in terms]])
    return np.concatenate(parts, axis=2)


def _refine(fitted: Fitted, data: Data) -> Fitted:
    """Improve exponents by damped Gauss-Newton steps, coefficients solved for anew each time.

    Events that have settled drop out, so that most steps are made for few.
    """
    model, least = fitted.model, data.least
    bounds = np.array([f.shape.bounds(data.points[:, f.parameter]) for _, f in model.free])
    exponents, coefficients = fitted.exponents.copy(), fitted.coefficients.copy()
    misfit = fitted.misfit.copy()
    damping = np.full(len(misfit), 1e-6)
    active = np.flatnonzero(misfit > least)
    for _ in range(_STEPS):
        if not active.size:
            break
        part = data.part(active)
        before = misfit[active]
        step = _step(model, part, coefficients[active], exponents[active], damping[active])
        trial = np.clip(exponents[active] + step, bounds[:, 0], bounds[:, 1])
        after = _linear(model, part, trial)
        better = after.misfit < before
        moved = active[better]
        exponents[moved] = trial[better]
        coefficients[moved] = after.coefficients[better]
        misfit[moved] = after.misfit[better]
        damping[active] = np.where(better, damping[active] / 10, damping[active] * 30)
        going = np.where(better, after.misfit < before * (1 - 1e-6), damping[active] < 1)
        active = active[going & (misfit[active] > least[active])]
    return Fitted(model, coefficients, exponents, misfit)


def _step(model: Model, data: Data, coefficients: Array, exponents: Array, damping: Array) -> Array:
    """Return by how much to change the exponents."""
    weights = np.sqrt(data.counts[:, None] * data.weights).T
    rest = (data.means.T - predicted(model, data.points, coefficients, exponents)) * weights
    design = jacobian(model, data.points, coefficients, exponents) * weights[:, :, None]
    scale = np.linalg.norm(design, axis=1)
    scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
    unit = np.nan_to_num(design / scale[:, None, :])
    normal = np.einsum("epi,epj->eij", unit, unit)
    normal += (damping[:, None] + 1e-12)[:, :, None] * np.eye(normal.shape[1])
    right = np.einsum("epi,ep->ei", unit, np.nan_to_num(rest))
    numbers = np.linalg.solve(normal, right[:, :, None])[:, :, 0] / scale
    return np.asarray(numbers[:, 1 + len(model.terms) :])
