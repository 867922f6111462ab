"""Metrics over estimates: hit rates, bandwidths and the like, with what is not known of them.

The variance comes from the delta method. Where a count is so uncertain that a tangent says
nothing, distributions of counts that are never negative are drawn from instead. Events are
taken as independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import COVERAGE, Estimates
from gnomon.events.formula import Formula

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array
    from gnomon.events.metrics import BoundMetric, Metric

_NORMAL = 1.6448536269514722
_CURVED = 0.2  # of a count: a deviation from which on the tangent is not trusted
_DRAWS = 400
_SHARES = ("_rate", "_fraction", "_share", "_ratio")

Bounds = tuple[float | None, float | None]


def bounds_of(metric: Metric) -> Bounds:
    """Return what a metric can be at most and at least: shares are from 0 to 100 %."""
    if metric.unit.text == "%" and metric.name.endswith(_SHARES):
        return 0.0, 100.0
    return 0.0, None


def metric_estimates(
    metric: BoundMetric,
    estimates: Estimates,
    events: Sequence[str],
    constants: Mapping[str, Array | float] | None = None,
) -> Estimates:
    """Return a metric in every tick; NaN where it has no value, as where nothing was accessed."""
    return formula_estimates(metric.formula, estimates, events, constants, bounds_of(metric.metric))


def formula_estimates(
    formula: Formula,
    estimates: Estimates,
    events: Sequence[str],
    constants: Mapping[str, Array | float] | None = None,
    bounds: Bounds = (None, None),
    *,
    seed: int = 0,
) -> Estimates:
    """Return a formula's value in every tick, its deviation and its 90 % interval."""
    import numpy as np

    constants = dict(constants or {})
    columns = {
        name: (estimates.mean[:, at], estimates.deviation[:, at])
        for at, name in enumerate(events)
        if name in formula.names
    }
    fixed = {name: np.broadcast_to(value, len(estimates)) for name, value in constants.items()}
    values = {**{name: mean for name, (mean, _) in columns.items()}, **fixed}
    variances = {
        **{name: deviation**2 for name, (_, deviation) in columns.items()},
        **{name: np.zeros(len(estimates)) for name in fixed},
    }
    result = formula.evaluate_rows_with_variance(values, variances)
    shape = (len(estimates),)
    mean = np.broadcast_to(np.ma.filled(result.value, np.nan), shape).astype(float)
    spread = np.broadcast_to(np.ma.filled(result.variance, np.nan), shape).astype(float)
    deviation = np.sqrt(np.maximum(spread, 0.0))
    low, high = mean - _NORMAL * deviation, mean + _NORMAL * deviation
    curved = np.zeros(shape, dtype=bool)
    for count, apart in columns.values():
        curved |= apart > _CURVED * count
    curved &= np.isfinite(mean)
    if curved.any():
        drawn = _drawn(formula, columns, fixed, curved, seed)
        tail = (1 - COVERAGE) / 2
        low[curved], high[curved] = np.nanquantile(drawn, (tail, 1 - tail), axis=1)
        # A ratio need not have a variance: what the interval would mean for a normal one.
        deviation[curved] = (high[curved] - low[curved]) / (2 * _NORMAL)
    low, high = np.minimum(low, mean), np.maximum(high, mean)
    least, most = bounds
    return Estimates(
        *(each[:, None] for each in _bounded((mean, deviation, low, high), least, most))
    )


def _bounded(
    arrays: tuple[Array, Array, Array, Array], least: float | None, most: float | None
) -> tuple[Array, Array, Array, Array]:
    import numpy as np

    mean, deviation, low, high = arrays
    mean, low, high = (np.clip(each, least, most) for each in (mean, low, high))
    if least is not None and most is not None:
        # Nothing between two bounds deviates by more than half their distance.
        deviation = np.minimum(deviation, (most - least) / 2)
    return mean, deviation, low, high


def _drawn(
    formula: Formula,
    columns: Mapping[str, tuple[Array, Array]],
    fixed: Mapping[str, Array],
    rows: Array,
    seed: int,
) -> Array:
    """Values of a formula for counts drawn from gamma distributions, a row a tick."""
    import numpy as np

    random = np.random.default_rng(seed)
    count = int(np.count_nonzero(rows))
    drawn: dict[str, Array] = {}
    for name, (mean, deviation) in columns.items():
        apart = deviation[rows][:, None]
        m = np.maximum(mean[rows][:, None], np.maximum(0.05 * apart, 1e-300))
        shape = 1 / np.clip(apart / m, 1e-6, 20.0) ** 2
        drawn[name] = m * random.standard_gamma(shape, (count, _DRAWS)) / shape
    for name, value in fixed.items():
        drawn[name] = np.repeat(value[rows][:, None], _DRAWS, axis=1)
    found = np.ma.filled(formula.evaluate_rows(drawn), np.nan)
    values: Array = np.broadcast_to(found, (count, _DRAWS)).astype(float)
    # Where every draw has no value, the interval is the value itself.
    values[np.isnan(values).all(axis=1)] = 0.0
    return values
