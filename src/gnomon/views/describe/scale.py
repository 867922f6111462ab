"""How scaling looks: what grows with a parameter and how, knees, predictions, common directions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite

from gnomon import units
from gnomon.analysis.scaling.result import WIDE_RANGE, EventScaling, Prediction, Scaling
from gnomon.views import blocks as b
from gnomon.views.blocks import Kind, Tone
from gnomon.views.shared import counted, some, subject

_STEEP = ("quadratic", "cubic", "exponential")
_CLOSE = 2.0  # in AICc: an alternative that is as good as the model
_MOST_CHARTS = 6
_MOST_ARROWS = 8
_NAMED = 4
_LARGE = 1e6  # from here on a formula has prefixes
_BEYOND = 4.0  # times the largest mean: where a band is cut


def describe(result: Scaling) -> Iterator[b.Block]:
    """Yield what there is to see of a scaling, from the result alone."""
    growing = [row for row in result.rows if row.model.terms]
    constant = [row for row in result.rows if not row.model.terms]
    names = " and ".join(result.parameters)
    origin = result.provenance
    lines = (
        f"{subject(origin)}: counted by {origin.source}, {counted(len(result.points), 'point')} of "
        f"{names}, {counted(result.runs, 'run')}",
        f"{len(growing)} of {len(result.rows)} events grow or fall with {names}",
    )
    yield b.Headline(result.headline, lines)
    yield from (b.Finding(_knee(result, row)) for row in result.rows if row.knee)
    if growing:
        yield _models(result, growing, "growing")
    if constant:
        brief = f"{len(constant)} constant: {some([row.event for row in constant], _NAMED)}"
        yield b.Fold(brief, (_models(result, constant, "constant"),))
    yield from _predictions(result, len(growing))
    yield from (_course(result, row) for row in growing[:_MOST_CHARTS] if row.band)
    yield from _components(result, names)


def _knee(result: Scaling, row: EventScaling) -> str:
    knee = row.knee
    if knee is None:
        return ""
    how = "log-log slope" if knee.log_log else "slope"
    return (
        f"{row.event} bends at {result.parameters[0]} = {units.number(knee.at, digits=3)}: {how} "
        f"{knee.before:.3g} before, {knee.after:.3g} after (p {units.number(knee.p, 'p')})."
    )


def _models(result: Scaling, rows: Sequence[EventScaling], name: str) -> b.Table:
    growing = any(row.model.terms for row in rows)  # columns of others have nothing in them
    single = len(result.parameters) == 1
    columns = (
        b.Column("event"),
        b.Column("growth", lambda row: b.Cell(row.growth * growing, tone=_tone(row)), drop=1),
        b.Column("model", _formula),
        b.Column("R²", "r_squared", drop=3, digits=4) if growing else None,
        b.Column("adjusted", "adjusted_r_squared", drop=6, digits=4) if growing else None,
        b.Column(f"over {result.parameters[0]}", lambda row: b.Cell(course=row.means), drop=4)
        if single
        else None,
        b.Column("knee at", lambda row: row.knee and row.knee.at, drop=5, digits=3),
        b.Column("doubts", _doubts, flex=True, drop=2),
    )
    return b.Table.of(rows, *columns, name=name)


def _tone(row: EventScaling) -> Tone:
    if not row.model.terms:
        return Tone.FAINT
    return Tone.BAD if any(word in row.growth for word in _STEEP) else Tone.PLAIN


def _formula(row: EventScaling) -> str:
    """Return the model with few digits, each number with its unit."""
    first, *factors = (each.value for each in row.coefficients[: 1 + len(row.model.terms)])
    text = _amount(first, row.unit)
    for factor, term in zip(factors, row.terms(digits=4), strict=True):
        text += f" {'−' if factor < 0 else '+'} {_amount(abs(factor), row.unit)}·{term}"
    return text


def _amount(value: float, unit: str) -> str:
    return units.number(value, unit) if unit or abs(value) < _LARGE else units.brief(value)


def _doubts(row: EventScaling) -> str:
    """Return what else would fit, and what does not."""
    near = [f"or {each.growth}" for each in row.alternatives if each.distance < _CLOSE]
    return "; ".join(filter(None, (*near[:1], row.note)))


def _predictions(result: Scaling, growing: int) -> Iterator[b.Block]:
    found = [(row, one) for row in result.rows for one in row.predictions]
    if not found:
        return
    places = [b.Column(name, partial(_coordinate, i)) for i, name in enumerate(result.parameters)]
    share = f"{units.number(result.level, '%')} of single runs"
    columns = (
        b.Column("event", lambda pair: pair[0].event),
        *places,
        b.Column("predicted", _predicted, interval=share),
    )
    caption = "Intervals combine all likely models."
    most = growing * len(result.rows[0].predictions) or None
    yield b.Section("Predictions for further runs")
    yield b.Table.of(found, *columns, caption=caption, most=most, name="predictions")


def _coordinate(number: int, pair: tuple[EventScaling, Prediction]) -> float:
    value = pair[1].at[number]
    return int(value) if value == int(value) else value


def _predicted(pair: tuple[EventScaling, Prediction]) -> b.Cell:
    row, one = pair
    status = "unbounded" if one.value is None else ""
    return b.Cell(one.value, row.unit, *one.interval, status)


def _course(result: Scaling, row: EventScaling) -> b.Chart:
    """Draw an event over the parameter, with its model and where further runs are expected."""
    x = tuple(one.at[0] for one in row.band)
    values = tuple(one.value for one in row.band)
    means = [mean for mean in row.means if mean is not None]
    wide, log = _wide(x), _wide(x) and _wide(means)
    top = max(_BEYOND * max(means, default=1.0), *(value or 0.0 for value in values))
    least = min(means, default=0.0) / 10 if log else -top

    def end(value: float, far: float) -> float:
        return min(max(value if isfinite(value) else far, least), top)

    low = tuple(end(one.interval.low, least) for one in row.band)
    high = tuple(end(one.interval.high, top) for one in row.band)
    quality = "" if row.r_squared is None else f", R² {units.number(row.r_squared, digits=3)}"
    share = f"{units.number(result.level, '%')} of further runs"
    return b.Chart.of(
        f"{row.event}: {row.growth}{quality}. The band is where {share} are expected.",
        b.Axis(result.parameters[0], log=10 if wide else 0),
        b.Axis(row.event, row.unit, log=10 if log else 0),
        b.Layer(Kind.BAND, x, values, low=low, high=high),
        b.Layer(Kind.LINE, x, values, "model"),
        b.Layer(Kind.DOTS, tuple(at[0] for at in result.points), row.means, "measured"),
        marks=(b.Mark(row.knee.at, "knee"),) if row.knee else (),
    )


def _wide(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE_RANGE


def _components(result: Scaling, parameters: str) -> Iterator[b.Block]:
    found = result.components
    if len(found.events) < 2:
        return
    first = sorted(range(len(found.events)), key=lambda i: -abs(found.loadings[0, i]))
    names = ", ".join(found.events[i] for i in first[:_NAMED])
    more = " and more" if len(first) > _NAMED else ""
    shares = [units.number(float(share), "%") for share in found.shares]
    told = f"The first principal component explains {shares[0]} of the variation: {names}{more}."
    yield b.Section("Correlated events")
    yield b.Text(told)
    if len(shares) > 1:
        axes = (f"component {i}: {share} of the variation" for i, share in enumerate(shares, 1))
        yield _directions(result, parameters, *map(b.Axis, [*axes][:2]))


def _directions(result: Scaling, parameters: str, x: b.Axis, y: b.Axis) -> b.Chart:
    """Draw points and events in the plane of the first two components."""
    found = result.components
    scores = found.scores[:, :2]
    weights = (found.loadings[:2] ** 2).sum(0)
    chosen = sorted(range(len(found.events)), key=lambda i: -weights[i])[:_MOST_ARROWS]
    size = float(abs(scores).max()) or 1.0
    reach = size / (float(max(weights[i] for i in chosen)) ** 0.5 or 1.0)
    nothing = (0.0,) * len(chosen)
    ends = [tuple(float(row[i]) * reach for i in chosen) for row in found.loadings[:2]]
    names = tuple(found.events[i] for i in chosen)
    places = [tuple(column.tolist()) for column in scores.T]
    points = tuple(", ".join(map(units.brief, point)) for point in result.points)
    return b.Chart.of(
        "Principal components of the standardised events: each dot is a point, with the value of "
        f"{parameters} beside it; each arrow is an event.",
        x,
        y,
        b.Layer(Kind.ARROWS, nothing, nothing, "events", ends[0], ends[1], texts=names),
        b.Layer(Kind.DOTS, places[0], places[1], "points", texts=points),
    )
