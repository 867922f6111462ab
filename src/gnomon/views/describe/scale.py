"""How scaling looks: what grows with a parameter and how, knees, predictions, common directions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.analysis.scaling.result import WIDE_RANGE
from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Finding,
    Fold,
    Headline,
    Kind,
    Layer,
    Mark,
    Section,
    Table,
    Text,
    Tone,
)

if TYPE_CHECKING:
    from gnomon.analysis.scaling.result import EventScaling, Knee, Prediction, Scaling

_STEEP = ("quadratic", "cubic", "exponential")
_ANSWERS = ("elapsed", "task-clock", "cycles", "instructions")
_CLOSE = 2.0  # in AICc: an alternative that is as good as the model
_MOST_CHARTS = 6
_MOST_ARROWS = 8
_NAMED = 4
_LARGE = 1e6  # from here on a formula has prefixes
_BEYOND = 4.0  # times the largest mean: where a band is cut


def describe(result: Scaling) -> Iterator[Block]:
    """Yield what there is to see of a scaling, from the result alone."""
    growing = [row for row in result.rows if row.model.terms]
    constant = [row for row in result.rows if not row.model.terms]
    yield Headline(_answer(result), tuple(_lines(result, growing)))
    yield from (
        Finding(_knee(result, row.event, row.knee)) for row in result.rows if row.knee is not None
    )
    if growing:
        yield _models(result, growing, "growing")
    if constant:
        names = ", ".join(row.event for row in constant[:_NAMED])
        more = f" and {len(constant) - _NAMED} more" if len(constant) > _NAMED else ""
        brief = f"{len(constant)} constant: {names}{more}"
        yield Fold(brief, (_models(result, constant, "constant"),))
    yield from _predictions(result, len(growing))
    yield from (_course(result, row) for row in growing[:_MOST_CHARTS] if row.band)
    yield from _components(result)


def _answer(result: Scaling) -> str:
    """Return how the time of a run grows, or what grows most, with its ends."""
    known_as = {row.event.partition(":")[0]: row for row in reversed(result.rows)}
    usual = [known_as[name] for name in _ANSWERS if name in known_as]
    rows = [row for row in usual if row.model.terms] or usual or list(result.rows)
    row = rows[0] if rows else None
    what = " and ".join(result.parameters)
    known = [
        (point, mean)
        for point, mean in zip(result.points, row.means if row else (), strict=False)
        if mean is not None
    ]
    if row is None or not known:
        return f"no event has a model of its growth with {what}"
    if not row.model.terms:
        mean = units.brief(sum(mean for _, mean in known) / len(known), row.unit)
        return f"{row.event} does not change with {what}: {mean}"
    (low, first), (high, last) = min(known), max(known)
    verb = "grows" if last >= first else "falls"
    ends = f"{units.brief(first, row.unit)} at {_place(result, low)}"
    ends += f", {units.brief(last, row.unit)} at {_place(result, high)}"
    return f"{row.event} {verb} with {what} ({row.growth}): {ends}"


def _lines(result: Scaling, growing: Sequence[EventScaling]) -> Iterator[str]:
    origin = result.provenance
    what = " ".join(origin.command) or origin.target or "unnamed"
    points, runs = len(result.points), result.runs
    names = " and ".join(result.parameters)
    yield (
        f"{what}: counted by {origin.source}, {points} points of {names}, "
        f"{runs} run{'s' * (runs != 1)}"
    )
    yield f"{len(growing)} of {len(result.rows)} events grow or fall with {names}"


def _place(result: Scaling, point: Sequence[float]) -> str:
    pairs = zip(result.parameters, point, strict=True)
    return ", ".join(f"{name} = {units.number(_whole(value))}" for name, value in pairs)


def _whole(value: float) -> float:
    """Return a value of a parameter as an integer where it is one."""
    return int(value) if value == int(value) else value


def _knee(result: Scaling, event: str, knee: Knee) -> str:
    at = units.number(knee.at, digits=3)
    slopes = [f"{slope:.3g}" for slope in (knee.before, knee.after)]
    how = "log-log slope" if knee.log_log else "slope"
    return (
        f"{event} bends at {result.parameters[0]} = {at}: {how} {slopes[0]} before, {slopes[1]} "
        f"after (p {units.number(knee.p, 'p')})."
    )


def _models(result: Scaling, rows: Sequence[EventScaling], name: str) -> Table:
    single = len(result.parameters) == 1
    bent = single and any(row.knee for row in rows)
    growing = any(row.model.terms for row in rows)
    return Table.of(
        rows,
        (
            Column("event", lambda row: row.event),
            Column("growth", lambda row: Cell(row.growth, tone=_tone(row)), drop=1)
            if growing
            else None,
            Column("model", _formula),
            Column("R²", lambda row: row.r_squared, drop=3, digits=4) if growing else None,
            Column("adjusted", lambda row: row.adjusted_r_squared, drop=6, digits=4)
            if growing
            else None,
            Column(f"over {result.parameters[0]}", _courses, drop=4) if single else None,
            Column("knee at", lambda row: row.knee and row.knee.at, drop=5, digits=3)
            if bent
            else None,
            Column("doubts", _doubts, flex=True, drop=2),
        ),
        name=name,
    )


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
    scaled = unit or abs(value) < _LARGE
    return units.number(value, unit) if scaled else units.brief(value)


def _courses(row: EventScaling) -> Cell:
    return Cell(course=row.means)


def _doubts(row: EventScaling) -> str:
    """Return what else would fit, and what does not."""
    near = [f"or {each.growth}" for each in row.alternatives if each.distance < _CLOSE]
    return "; ".join([*near[:1], *([row.note] if row.note else [])])


def _predictions(result: Scaling, growing: int) -> Iterator[Block]:
    found = [(row, one) for row in result.rows for one in row.predictions]
    if not found:
        return
    places = [Column(name, partial(_coordinate, i)) for i, name in enumerate(result.parameters)]
    share = units.number(result.level, "%")
    places_a_row = len(result.rows[0].predictions)
    yield Section("What another run would count elsewhere")
    yield Table.of(
        found,
        (
            Column("event", lambda pair: pair[0].event),
            *places,
            Column("predicted", lambda pair: _predicted(*pair), interval=f"{share} of single runs"),
        ),
        caption="Between bounds that all likely models share.",
        most=growing * places_a_row or None,
        name="predictions",
    )


def _coordinate(number: int, pair: tuple[EventScaling, Prediction]) -> float:
    return _whole(pair[1].at[number])


def _predicted(row: EventScaling, one: Prediction) -> Cell:
    low, high = one.interval
    status = "" if one.value is not None else "unbounded"
    return Cell(one.value, row.unit, low, high, status)


def _course(result: Scaling, row: EventScaling) -> Chart:
    """Draw an event over the parameter, with its model and where further runs are expected."""
    name, share = result.parameters[0], units.number(result.level, "%")
    x = tuple(one.at[0] for one in row.band)
    known = [(p[0], mean) for p, mean in zip(result.points, row.means, strict=True)]
    means = [mean for _, mean in known if mean is not None]
    wide = _wide(x)
    log = wide and _wide(means)
    top = max(_BEYOND * max(means, default=1.0), *(one.value or 0.0 for one in row.band))
    least = min(means, default=0.0) / 10 if log else -top
    low, high = (
        tuple(min(max(end if isfinite(end) else far, least), top) for end in ends)
        for far, ends in (
            (least, [one.interval.low for one in row.band]),
            (top, [one.interval.high for one in row.band]),
        )
    )
    values = tuple(one.value for one in row.band)
    quality = "" if row.r_squared is None else f", R² {units.number(row.r_squared, digits=3)}"
    return Chart(
        f"{row.event}: {row.growth}{quality}. The band is where {share} of further runs are "
        "expected.",
        Axis(name, log=10 if wide else 0),
        Axis(row.event, row.unit, log=10 if log else 0),
        (
            Layer(Kind.BAND, x, values, low=low, high=high),
            Layer(Kind.LINE, x, values, "model"),
            Layer(Kind.DOTS, tuple(at for at, _ in known), row.means, "measured"),
        ),
        marks=(Mark(row.knee.at, "knee"),) if row.knee else (),
    )


def _wide(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE_RANGE


def _components(result: Scaling) -> Iterator[Block]:
    found = result.components
    if len(found.events) < 2:
        return
    first = sorted(range(len(found.events)), key=lambda i: -abs(found.loadings[0, i]))
    names = ", ".join(found.events[i] for i in first[:_NAMED])
    share = units.number(float(found.shares[0]), "%")
    yield Section("What varies together")
    yield Text(
        f"The first principal component explains {share} of the variation: {names}"
        f"{' and more' if len(first) > _NAMED else ''}."
    )
    if len(found.shares) > 1:
        yield _directions(result)


def _directions(result: Scaling) -> Chart:
    """Draw points and events in the plane of the first two components."""
    found = result.components
    scores = found.scores[:, :2]
    size = float(abs(scores).max()) or 1.0
    weights = (found.loadings[:2] ** 2).sum(0)
    chosen = sorted(range(len(found.events)), key=lambda i: -weights[i])[:_MOST_ARROWS]
    reach = size / (float(max(weights[i] for i in chosen)) ** 0.5 or 1.0)
    nothing = (0.0,) * len(chosen)
    labels = [
        f"component {i + 1}: {units.number(float(found.shares[i]), '%')} of the variation"
        for i in (0, 1)
    ]
    return Chart(
        "Principal components of the standardised events: each dot is a point, with the value of "
        f"{' and '.join(result.parameters)} beside it; each arrow is an event that takes part.",
        Axis(labels[0]),
        Axis(labels[1]),
        (
            Layer(
                Kind.ARROWS,
                nothing,
                nothing,
                "events",
                low=tuple(float(found.loadings[0, i]) * reach for i in chosen),
                high=tuple(float(found.loadings[1, i]) * reach for i in chosen),
                texts=tuple(found.events[i] for i in chosen),
            ),
            Layer(
                Kind.DOTS,
                tuple(scores[:, 0].tolist()),
                tuple(scores[:, 1].tolist()),
                "points",
                texts=tuple(", ".join(map(units.brief, point)) for point in result.points),
            ),
        ),
    )
