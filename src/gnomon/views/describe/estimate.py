"""How the state of a run looks: totals with intervals, courses, metrics; and a tick of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gnomon import units
from gnomon.analysis.estimate.result import (
    Ahead,
    Course,
    EventState,
    MetricState,
    Now,
    State,
    ValueNow,
)
from gnomon.views import blocks as b
from gnomon.views.shared import counted

_CHARTS = 12
_INTERVAL = "90 % interval"


def describe(result: State) -> Iterator[b.Block]:
    """Yield what there is to see of a run, from the result alone."""
    origin, sets = result.provenance, len(result.readings.layout.sets)
    yield b.Headline(
        f"{' '.join(origin.command) or origin.target or 'a run'}: {len(result.names)} "
        f"event{'s' * (len(result.names) != 1)} in {counted(sets, 'set')}",
        tuple(_lines(result)),
    )
    columns: tuple[b.Column, ...] = (
        b.Column("event"),
        b.Column("total", _total, interval=_INTERVAL),
        b.Column("read", "read", "%", drop=3),
        b.Column("rate", lambda line: b.Cell(line.rate, line.rate_unit, status=line.status)),
        b.Column("over time", lambda line: _over_time(result, line), drop=4),
        b.Column("what it counts", "description", flex=True, drop=6),
    )
    yield b.Table.of(result.events, *columns, name="events")
    if any(line.estimated for line in result.events):
        yield b.Text("~ marks totals estimated from the ticks in which the event was read")
    if result.ahead:
        yield b.Section("Ahead: what is expected after the last tick")
        yield b.Table.of(result.ahead, *_ahead_columns(result), name="ahead")
    columns = (
        b.Column("metric", "name"),
        b.Column("value", _value, interval=_INTERVAL),
        b.Column("unit", lambda metric: metric.unit if _value(metric).unit == "" else "", drop=3),
        b.Column("over time", lambda metric: b.Cell(course=metric.values), drop=4),
        b.Column("meaning", "title", flex=True, drop=6),
    )
    yield b.Section("Metrics")
    metrics = [metric for metric in result.metrics if metric.value is not None]
    yield b.Table.of(metrics, *columns, name="metrics")
    yield b.Section("Estimates over time")
    times = tuple(map(float, result.ends))
    for name in result.restless[:_CHARTS]:
        yield _chart(result[name], times, result.course(name))


def _lines(result: State) -> Iterator[str]:
    origin, ticks = result.provenance, len(result)
    yield f"read by {origin.source}" + (f" on {origin.host}" if origin.host else "")
    length = f" of {units.brief(origin.interval, 'ns')}" if origin.interval else ""
    span = units.brief(result.seconds * 1e9, "ns") + " of simulated time" * origin.simulated
    way = "from the whole run" if result.smoothed else "online"
    yield (
        f"{counted(ticks, 'tick')}{length} over {span}; unread ticks estimated {way} "
        f"(model: {origin.model})"
    )
    if result.readings.layout.fixed:
        yield f"always counted: {', '.join(result.readings.layout.fixed)}"
    if result.cost is not None:
        yield f"estimating and recording took {units.number(result.cost, '%')} of one CPU"


def _ahead_columns(result: State) -> Iterator[b.Column]:
    """Yield a column for the first tick to come, one in the middle, and the last."""
    yield b.Column("event", "event")
    count, step = len(result.ahead[0].rates), result.provenance.interval
    for place in sorted({0, count // 2, count - 1}):
        ticks = place + 1
        title = f"in {units.brief(ticks * step, 'ns')}" if step else f"in {counted(ticks, 'tick')}"
        yield b.Column(title, partial(_expected, place), interval=_INTERVAL)
    yield b.Column("over time", lambda line: b.Cell(course=line.rates), drop=4)


def _expected(place: int, line: Ahead) -> b.Cell:
    ends = (line.lows[place], line.highs[place])
    return b.Cell(line.rates[place], line.unit, *ends, "estimated")


def _total(line: EventState) -> b.Cell:
    ends = (line.low, line.high) if line.estimated else (None, None)
    return b.Cell(line.total, line.unit, *ends, line.status)


def _over_time(result: State, line: EventState) -> b.Cell:
    rates = result.course(line.event).rates.tolist() if line.total is not None else ()
    return b.Cell(course=tuple(rate if math.isfinite(rate) else None for rate in rates))


def _value(metric: MetricState | ValueNow) -> b.Cell:
    """Return the value of a metric; a unit of several words is left to a column of its own."""
    unit, scale = metric.unit if metric.unit in units.UNITS else "", 1 + 99 * (metric.unit == "%")
    values = (metric.value, metric.low, metric.high)
    value, low, high = (None if each is None else each / scale for each in values)
    return b.Cell(value, unit) if low == high else b.Cell(value, unit, low, high, "estimated")


def _chart(line: EventState, times: tuple[float, ...], course: Course) -> b.Chart:
    rates, lows, highs = (
        tuple(each.tolist()) for each in (course.rates, course.lows, course.highs)
    )
    read = course.read.nonzero()[0].tolist()
    at, seen = tuple(times[place] for place in read), tuple(rates[place] for place in read)
    # One wide interval must not make the rest a flat line.
    top = 1.5 * max(filter(math.isfinite, rates), default=0.0) or None
    return b.Chart.of(
        f"{line.event}: the estimate with its 90 % interval, and the readings.",
        b.Axis("time", "ns", zero=True),
        b.Axis(line.event, line.rate_unit, zero=True, high=top),
        b.Layer(b.Kind.BAND, times, (), _INTERVAL, lows, highs),
        b.Layer(b.Kind.LINE, times, rates, "estimate"),
        b.Layer(b.Kind.DOTS, at, seen, "read"),
    )


def tick(now: Now, courses: Mapping[str, Sequence[float | None]]) -> Iterator[b.Block]:
    """Yield what there is to see of a tick while a run goes on; `courses` are until now."""
    title = f"{'SIMULATED ' * now.simulated}{units.number(now.time, 'ns')}, tick {now.tick}"
    yield b.Headline(f"{title}; Ctrl-C ends it")
    columns = (
        b.Column("event or metric", lambda line: line[0]),
        b.Column("now", lambda line: line[1], interval=_INTERVAL),
        b.Column("last ticks", lambda line: b.Cell(course=tuple(courses[line[0]])), drop=1),
    )
    metrics = [(name, _value(metric)) for name, metric in now.metrics.items()]
    yield b.Table.of(
        [*((name, rate(each)) for name, each in now.events.items()), *metrics], *columns
    )


def rate(event: ValueNow) -> b.Cell:
    """Return the rate of an event in a tick."""
    ends = (event.low, event.high) if event.status == "estimated" else (None, None)
    return b.Cell(event.value, event.unit, *ends, event.status)
