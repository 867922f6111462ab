"""From a table of runs at points to a model for every event, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.analysis.runs import RunTable
from gnomon.analysis.scaling.choice import Choice, choose, find_knees
from gnomon.analysis.scaling.fitting import Fitted, jacobian, predicted
from gnomon.analysis.scaling.parameters import (
    FEWEST_VALUES,
    MOST_PARAMETERS,
    parse_place,
    read_number,
)
from gnomon.analysis.scaling.result import (
    WIDE_RANGE,
    Alternative,
    Coefficient,
    Components,
    EventScaling,
    Noise,
    Prediction,
    Scaling,
)
from gnomon.analysis.stats.distributions import t_quantile
from gnomon.errors import GnomonError, UsageError
from gnomon.measure.run import TIMED_OUT
from gnomon.recording.contents import RunInfo
from gnomon.result import Interval

Array = NDArray[np.float64]

_BLOCK = 2000  # events at a time, which bounds the memory
_DRAWN = 33
_ENOUGH = 5
_PLAUSIBLE = 6.0  # how much worse in AICc a model may be that predictions still reckon with


def scale_models(
    values: ArrayLike,
    parameters: Mapping[str, ArrayLike],
    *,
    events: Sequence[str] | None = None,
    units: Sequence[str] | None = None,
    at: Sequence[Sequence[float]] = (),
    level: float = 0.95,
) -> tuple[EventScaling, ...]:
    """Return for every event the model that describes best how it goes with the parameters.

    `values` is points x events, repeated runs being points of their own, with NaN for what
    is missing; `parameters` gives the value of each at every point. `at` are places to
    predict. Rows are in the order of the events.

    >>> rows = gn.scale_models([[5.0], [8.0], [14.0], [26.0], [50.0]], {"n": [1, 2, 4, 8, 16]})
    >>> round(rows[0].at(32))
    98
    """
    table = np.asarray(values, float)
    if table.ndim == 1:
        table = table[:, None]
    names = tuple(parameters)
    points = np.column_stack([np.asarray(parameters[name], float) for name in names])
    _check(table, points, names)
    labels = [f"event {i}" for i in range(table.shape[1])] if events is None else list(events)
    marks = [""] * len(labels) if units is None else list(units)
    places = np.array(at, float).reshape(len(at), len(names))
    rows: dict[int, EventScaling] = {}
    for chosen, kept in _alike(table):
        some_points = points[kept]
        if len(np.unique(some_points, axis=0)) < FEWEST_VALUES:
            continue
        for start in range(0, len(chosen), _BLOCK):
            block = chosen[start : start + _BLOCK]
            work = _Block(names, some_points, table[np.ix_(kept, block)], places, level)
            found = work.rows([labels[i] for i in block], [marks[i] for i in block])
            rows |= dict(zip(block.tolist(), found, strict=True))
    return tuple(rows[i] for i in sorted(rows))


def _check(values: Array, points: Array, names: Sequence[str]) -> None:
    if not 1 <= len(names) <= MOST_PARAMETERS:
        raise UsageError(f"{len(names)} parameters cannot be modelled: give one or two.")
    if len(values) != len(points):
        raise UsageError(f"there are {len(values)} rows of values at {len(points)} points.")
    if not np.isfinite(points).all():
        raise UsageError("a value of a parameter is not a number: growth needs numbers.")


def _alike(values: Array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield events that lack the same values, with the rows that they have."""
    present = np.isfinite(values)
    patterns, which = np.unique(present, axis=1, return_inverse=True)
    which = which.ravel()
    for number, pattern in enumerate(patterns.T):
        if pattern.any():
            yield np.flatnonzero(which == number), np.flatnonzero(pattern)


class _Block:
    """Events that were measured at the same points, modelled together."""

    def __init__(
        self, names: tuple[str, ...], points: Array, values: Array, at: Array, level: float
    ) -> None:
        self._names = names
        self._values = values
        self._level = level
        self._parts = choose(points, values)
        self._points = points
        self._at = at

    def rows(self, events: Sequence[str], units: Sequence[str]) -> list[EventScaling]:
        """Return a row an event."""
        rows: dict[int, EventScaling] = {}
        for choice, members in self._parts:
            knees = find_knees(self._points, self._values[:, members], choice)
            foreseen = _foreseen(choice, self._at, self._level)
            for number in np.unique(choice.chosen):
                some = np.flatnonzero(choice.chosen == number)
                for place, row in self._same_model(choice, int(number), some, members):
                    event = int(members[place])
                    rows[event] = replace(
                        row,
                        event=events[event],
                        unit=units[event],
                        knee=knees.get(place),
                        predictions=foreseen[place] if foreseen else (),
                    )
        return [rows[i] for i in sorted(rows)]

    def _same_model(
        self, choice: Choice, number: int, some: NDArray[np.intp], members: NDArray[np.intp]
    ) -> Iterator[tuple[int, EventScaling]]:
        """Yield rows, without what does not depend on the model, for events of one model."""
        fitted = choice.fits[number]
        numbers, reach = (
            a.tolist() for a in _coefficient_bounds(choice, fitted, some, self._level)
        )
        terms = self._terms(choice, number)
        r_squared, adjusted = self._r_squared(choice, number, some, members[some])
        with np.errstate(invalid="ignore"):  # none of them can be told from another: no rivals
            near = choice.criteria[:, some] - choice.criteria[number, some]
        rivals = (near <= _PLAUSIBLE).sum(0)
        means = choice.data.means.T.tolist()
        for place, event in enumerate(some.tolist()):
            yield (
                event,
                EventScaling(
                    event="",
                    unit="",
                    parameters=self._names,
                    model=fitted.model,
                    coefficients=tuple(
                        Coefficient(term, c, _interval(c - r, c + r))
                        for term, c, r in zip(terms, numbers[place], reach[place], strict=True)
                    ),
                    r_squared=r_squared[place],
                    adjusted_r_squared=adjusted[place],
                    noise=choice.data.noise,
                    alternatives=(
                        _alternatives(choice, number, near[:, place]) if rivals[place] > 1 else ()
                    ),
                    means=tuple(means[event]),
                    note="no model goes through all points" if choice.by_points[event] else "",
                ),
            )

    def _terms(self, choice: Choice, number: int) -> list[str]:
        model = choice.fits[number].model
        factors = [self._names[factor.parameter] for _, factor in model.free]
        symbols = ["a", "b"][: len(factors)]
        exponents = [f"{symbol} of {name}" for symbol, name in zip(symbols, factors, strict=True)]
        return ["1", *model.text(self._names, symbols), *exponents]

    def _r_squared(
        self, choice: Choice, number: int, some: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> tuple[list[float | None], list[float | None]]:
        """Return the share of variance explained, plainly and allowing for the numbers fitted."""
        fitted = choice.fits[number]
        model = predicted(
            fitted.model, self._points, fitted.coefficients[some], fitted.exponents[some]
        ).T
        values = self._values[:, columns]
        total = ((values - values.mean(0)) ** 2).sum(0)
        rest = ((values - model) ** 2).sum(0)
        freedom = len(values) - fitted.model.size
        plain: list[float | None] = []
        adjusted: list[float | None] = []
        for whole, left in zip(total.tolist(), rest.tolist(), strict=True):
            known = whole > 0 and bool(fitted.model.terms)
            plain.append(1 - left / whole if known else None)
            fair = known and freedom > 0
            adjusted.append(1 - left / freedom / (whole / (len(values) - 1)) if fair else None)
        return plain, adjusted


def _foreseen(choice: Choice, at: Array, level: float) -> list[tuple[Prediction, ...]]:
    """Return the predictions of every event, place by place."""
    if not len(at):
        return []
    value, low, high = _predictions(choice, at, level)
    places = [tuple(place) for place in at.tolist()]
    return [
        tuple(_prediction(*numbers) for numbers in zip(places, *bounds, strict=True))
        for bounds in zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def _prediction(at: tuple[float, ...], value: float, low: float, high: float) -> Prediction:
    return Prediction(at, value if isfinite(value) else None, _interval(low, high))


def _interval(low: float, high: float) -> Interval:
    return Interval(low if isfinite(low) else -inf, high if isfinite(high) else inf)


def _alternatives(choice: Choice, number: int, distance: Array) -> tuple[Alternative, ...]:
    order = np.argsort(distance, kind="stable")
    return tuple(
        Alternative(choice.fits[i].model.name, float(distance[i]))
        for i in order
        if i != number and distance[i] <= _PLAUSIBLE
    )[:3]


# ---- intervals of coefficients and of predictions -----------------------------------------


def _covariance(
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


def _coefficient_bounds(
    choice: Choice, fitted: Fitted, events: NDArray[np.intp], level: float
) -> tuple[Array, Array]:
    """Return how far each number of the model may lie off, and the numbers themselves."""
    spread, _, freedom = _covariance(choice, fitted, events)
    deviation = np.sqrt(np.maximum(np.einsum("eii->ei", spread), 0.0))
    numbers = np.concatenate([fitted.coefficients[events], fitted.exponents[events]], axis=1)
    return numbers, deviation * t_quantile((1 + level) / 2, freedom)[:, None]


def _predictions(choice: Choice, at: Array, level: float) -> tuple[Array, Array, Array]:
    """Return values and bounds of another run at points x parameters, as events x points.

    Bounds span those of every model that describes an event nearly as well as its own.
    """
    chosen = choice.chosen
    shape = (len(chosen), len(at))
    value, low, high = np.full(shape, np.nan), np.full(shape, np.inf), np.full(shape, -np.inf)
    own = choice.criteria[chosen, np.arange(len(chosen))]
    for number, fitted in enumerate(choice.fits):
        near = choice.criteria[number] <= own + _PLAUSIBLE
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
    spread, variance, freedom = _covariance(choice, fitted, events)
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


def scale_table(
    table: RunTable, at: Sequence[str] = (), level: float = 0.95, *, interrupted: bool = False
) -> Scaling:
    """Model the events of a table whose runs have parameters; the work behind `scale`."""
    names = tuple(dict.fromkeys(name for run in table.runs for name in run.parameters))
    if not names:
        raise GnomonError(
            "the runs of the recording have no parameters: record with `gnomon scale -o REC`."
        )
    warnings = [*table.warnings, *_failures(table)]
    kept = [
        i
        for i, run in enumerate(table.runs)
        if not run.exit_status and set(run.parameters) == set(names)
    ]
    whole, table = table, table.select(kept)
    points = np.array(
        [[read_number(run.parameters[name], name) for name in names] for run in table.runs], float
    ).reshape(len(table.runs), len(names))
    distinct = np.unique(points, axis=0)
    if len(distinct) < FEWEST_VALUES:
        late = any(run.exit_status == TIMED_OUT for run in whole.runs)
        raise GnomonError(
            f"only {len(distinct)} of {_count_points(whole)} points have a run that worked, and "
            f"growth takes at least {FEWEST_VALUES}: "
            + ("allow more time with --timeout." if late else "see why the command fails.")
        )
    if len(distinct) < _ENOUGH and len(points) < 2 * _ENOUGH:
        warnings.append(
            f"with {len(distinct)} points and {len(points)} runs only growth that a model fits "
            f"nearly exactly can be significant: {_ENOUGH} points or more show the rest"
        )
    if len(distinct) == len(points):
        warnings.append("one run per point cannot separate scatter from misfit: use -r 3")
    known = [i for i in range(len(table.events)) if np.isfinite(table.values[:, i]).any()]
    places = [parse_place(text, names) for text in at]
    rows = scale_models(
        table.values[:, known],
        {name: points[:, i] for i, name in enumerate(names)},
        events=[table.events[i].name for i in known],
        units=[table.events[i].unit for i in known],
        at=[*places, *_places_to_draw(points, places)],
        level=level,
    )
    means = np.array(
        [_means(table.values[(points == point).all(1)][:, known]) for point in distinct]
    )
    column = {table.events[event].name: means[:, i].tolist() for i, event in enumerate(known)}
    rows = tuple(
        replace(
            row,
            means=tuple(mean if isfinite(mean) else None for mean in column[row.event]),
            predictions=row.predictions[: len(places)],
            band=row.predictions[len(places) :],
        )
        for row in rows
    )
    return Scaling(
        parameters=names,
        points=tuple(tuple(point) for point in distinct.tolist()),
        runs=len(points),
        rows=tuple(sorted(rows, key=_rank)),
        components=principal_components(means, [table.events[i].name for i in known]),
        provenance=table.provenance,
        warnings=tuple(dict.fromkeys(warnings)),
        level=level,
        interrupted=interrupted,
    )


def _places_to_draw(
    points: NDArray[np.float64], asked: Sequence[Sequence[float]]
) -> list[list[float]]:
    """Return places all over the range of a single parameter, as far as was asked for."""
    if points.shape[1] != 1:
        return []
    known = [*points[:, 0].tolist(), *(place[0] for place in asked)]
    low, high = min(known), max(known)
    wide = low > 0 and high / low > WIDE_RANGE
    steps = np.geomspace(low, high, _DRAWN) if wide else np.linspace(low, high, _DRAWN)
    return [[value] for value in steps.tolist()]


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each column where it has values, NaN where it has none."""
    counted = np.isfinite(values)
    sums = np.where(counted, values, 0.0).sum(0)
    means: NDArray[np.float64] = np.full(sums.shape, np.nan)
    np.divide(sums, counted.sum(0), out=means, where=counted.any(0))
    return means


def _count_points(table: RunTable) -> int:
    return len({tuple(run.parameters.items()) for run in table.runs})


def _failures(table: RunTable) -> Iterator[str]:
    """Yield a warning for each point at which runs failed."""
    points: dict[str, list[RunInfo]] = {}
    for run in table.runs:
        where = ", ".join(f"{name}={value}" for name, value in run.parameters.items())
        points.setdefault(where, []).append(run)
    for where, runs in points.items():
        failed = [run for run in runs if run.exit_status]
        if failed:
            statuses = ", ".join(sorted({str(run.exit_status) for run in failed}))
            yield (
                f"at {where} {len(failed)} of {len(runs)} runs failed (exit status {statuses}) "
                "and are left out"
            )


def _rank(row: EventScaling) -> tuple[float, ...]:
    """Order by growth over the measured range; constants come last."""
    known = [abs(mean) for mean in row.means if mean is not None]
    low, high = min(known), max(known)
    growth = high / low if low > 0 else np.inf if high > 0 else 1.0
    return (float(not row.model.terms), -float(growth))


def principal_components(values: NDArray[np.float64], events: Sequence[str]) -> Components:
    """Return the components of points x events; events that do not vary or lack values are out."""
    complete = ~np.isnan(values).any(0)
    spread = np.where(complete, np.nan_to_num(values).std(0), 0.0)
    size = np.where(complete, np.abs(np.nan_to_num(values)).max(0, initial=0.0), 0.0)
    kept = np.flatnonzero(spread > 1e-12 * size)
    names = tuple(events[i] for i in kept.tolist())
    if not names:
        return Components((), np.empty(0), np.empty((0, 0)), np.empty((len(values), 0)))
    standard = (values[:, kept] - values[:, kept].mean(0)) / spread[kept]
    left, strength, right = np.linalg.svd(standard, full_matrices=False)
    variance = strength**2
    return Components(names, variance / variance.sum(), right, left * strength)
