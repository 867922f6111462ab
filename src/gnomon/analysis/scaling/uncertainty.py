"""Intervals of coefficients and of predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.choice import Choice
from gnomon.analysis.scaling.fitting import Fitted, Noise, jacobian, predicted
from gnomon.analysis.stats.distributions import t_quantile

Array = NDArray[np.float64]

PLAUSIBLE = 6.0
"""How much worse in AICc a model may be that predictions still reckon with."""


def covariance(
    choice: Choice, fitted: Fitted, events: NDArray[np.intp]
) -> tuple[Array, Array, Array]:
    """Return covariances (event, number, number), variances of one run, degrees of freedom."""
    data = choice.data
    by_points = choice.by_points[events]
    number = np.where(by_points, len(data.counts), data.runs)
    squares = fitted.misfit[events] + np.where(by_points, 0.0, data.pure_error[events])
    freedom = np.maximum(number - fitted.model.size, 1).astype(float)
    squares = np.where(squares > data.least[events], squares, 0.0)
    weights = (data.counts[:, None] * data.weights[:, events]).T
    slopes = jacobian(
        fitted.model, data.points, fitted.coefficients[events], fitted.exponents[events]
    )
    scaled = slopes * np.sqrt(weights)[:, :, None]
    size = np.linalg.norm(scaled, axis=1)
    size = np.where(size > 0, size, 1.0)
    unit = scaled / size[:, None, :]
    normal = np.einsum("epi,epj->eij", unit, unit)
    inverse = np.linalg.pinv(normal, rcond=1e-14, hermitian=True)
    variance = squares / freedom
    scale = size[:, :, None] * size[:, None, :]
    return variance[:, None, None] * inverse / scale, variance, freedom


def coefficient_bounds(
    choice: Choice, fitted: Fitted, events: NDArray[np.intp], level: float
) -> tuple[Array, Array]:
    """Return how far each number of the model may lie off, and the numbers themselves."""
    spread, _, freedom = covariance(choice, fitted, events)
    deviation = np.sqrt(np.maximum(np.einsum("eii->ei", spread), 0.0))
    numbers = np.concatenate([fitted.coefficients[events], fitted.exponents[events]], axis=1)
    return numbers, deviation * t_quantile((1 + level) / 2, freedom)[:, None]


def predictions(choice: Choice, at: Array, level: float) -> tuple[Array, Array, Array]:
    """Return values and bounds of another run at points x parameters, as events x points.

    Bounds span those of every model that describes an event nearly as well as its own.
    """
    chosen = choice.chosen
    shape = (len(chosen), len(at))
    value, low, high = np.full(shape, np.nan), np.full(shape, np.inf), np.full(shape, -np.inf)
    own = choice.criteria[chosen, np.arange(len(chosen))]
    for number, fitted in enumerate(choice.fits):
        near = choice.criteria[number] <= own + PLAUSIBLE
        # What is constant beyond doubt is not predicted to grow, whatever fits by chance.
        places = np.flatnonzero((near & (chosen > 0)) | (chosen == number))
        if not places.size:
            continue
        middle, reach = _band(choice, fitted, places, at, level)
        mine = chosen[places] == number
        value[places[mine]] = middle[mine]
        low[places] = np.fmin(low[places], middle - reach)
        high[places] = np.fmax(high[places], middle + reach)
    return value, low, high


def _band(
    choice: Choice, fitted: Fitted, events: NDArray[np.intp], at: Array, level: float
) -> tuple[Array, Array]:
    spread, variance, freedom = covariance(choice, fitted, events)
    coefficients, exponents = fitted.coefficients[events], fitted.exponents[events]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = predicted(fitted.model, at, coefficients, exponents)
        slopes = jacobian(fitted.model, at, coefficients, exponents)
        doubt = np.einsum("epi,eij,epj->ep", slopes, spread, slopes)
        scatter = variance[:, None]
        if choice.data.noise is Noise.PROPORTIONAL:
            scatter = scatter * middle**2
        factor = t_quantile((1 + level) / 2, freedom)[:, None]
        return middle, factor * np.sqrt(np.maximum(doubt, 0.0) + scatter)
