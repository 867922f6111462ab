"""How the state of a run looks: totals with intervals, courses, metrics; and a tick of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.estimate.result import EventState, MetricNow, MetricState, Now, State

_CHARTS = 12


def describe(result: State) -> Iterator[b.Block]:
    """Yield what there is to see of a run, from the result alone."""
    origin, layout = result.provenance, result.readings.layout
    sets, events = len(layout.sets), len(result.names)
    command = " ".join(origin.command) or origin.target or "a run"
    yield b.Headline(
        f"{command}: {events} event{'s' * (events != 1)} in {sets} set{'s' * (sets != 1)}",
        tuple(_lines(result)),
    )
    yield b.Table.of(
        result.events,
        (
            b.Column("event", lambda line: line.event),
            b.Column("total", _total, interval="90 % interval"),
            b.Column("read", lambda line: line.read, "%", drop=3),
            b.Column("rate", lambda line: _rate(result, line), drop=2),
            b.Column("over time", lambda line: _course(result, line), drop=4),
            b.Column("what it counts", lambda line: line.description, flex=True, drop=6),
        ),
        name="events",
    )
    if any(line.estimated for line in result.events):
        yield b.Text("~ marks totals estimated from the ticks in which the event was read")
    shown = [metric for metric in result.metrics if metric.value is not None]
    if shown:
        yield b.Section("Metrics")
        yield _metrics(shown)
    restless = result.restless[:_CHARTS]
    if restless:
        yield b.Section("Estimates over time")
        yield from (_chart(result, name) for name in restless)


def _lines(result: State) -> Iterator[str]:
    origin, ticks = result.provenance, len(result)
    place = f" on {origin.host}" if origin.host else ""
    yield f"read by {origin.source}{place}"
    length = f" of {units.brief(origin.interval, 'ns')}" if origin.interval else ""
    clock = " of simulated time" if origin.simulated else ""
    span = units.brief(result.seconds * 1e9, "ns") + clock
    way = "from the whole run" if result.smoothed else "online"
    yield (
        f"{ticks} tick{'s' * (ticks != 1)}{length} over {span}; unread ticks estimated {way} "
        f"(model: {origin.model})"
    )
    if result.readings.layout.fixed:
        yield f"always counted: {', '.join(result.readings.layout.fixed)}"
    if result.cost is not None:
        yield f"estimating and recording took {units.number(result.cost, '%')} of one CPU"


def _total(line: EventState) -> b.Cell:
    if line.total is None:
        return b.Cell(None, line.unit, status="never read")
    if not line.estimated:
        return b.Cell(_whole(line.total), line.unit)
    return b.Cell(line.total, line.unit, line.low, line.high, "estimated")


def _whole(value: float) -> float:
    return int(value) if value.is_integer() else value


def _rate(result: State, line: EventState) -> b.Cell:
    if line.total is None or not result.seconds:
        return b.Cell(None)
    status = "estimated" if line.estimated else ""
    return b.Cell(line.total / result.seconds, _per_second(line.unit), status=status)


def _per_second(unit: str) -> str:
    return "CPUs" if unit == "ns" else f"{unit}/s"


def _course(result: State, line: EventState) -> b.Cell:
    if line.total is None:
        return b.Cell(None)
    rates = result.course(line.event).rates.tolist()
    return b.Cell(course=tuple(rate if math.isfinite(rate) else None for rate in rates))


def _metrics(metrics: Sequence[MetricState]) -> b.Table:
    return b.Table.of(
        metrics,
        (
            b.Column("metric", lambda metric: metric.name),
            b.Column("value", _value, interval="90 % interval"),
            b.Column("unit", _unit, drop=3),
            b.Column("over time", lambda metric: b.Cell(course=metric.values), drop=4),
            b.Column("what it is", lambda metric: metric.title, flex=True, drop=6),
        ),
        name="metrics",
    )


def _value(metric: MetricState | MetricNow) -> b.Cell:
    scale = 100 if metric.unit == "%" else 1
    value, low, high = (
        None if each is None else each / scale for each in (metric.value, metric.low, metric.high)
    )
    unit = metric.unit if metric.unit in units.UNITS else ""
    if low == high:
        return b.Cell(value, unit)
    return b.Cell(value, unit, low, high, "estimated")


def _unit(metric: MetricState | MetricNow) -> str:
    """Return a unit that stands in a column of its own, as it is too long for each number."""
    return "" if metric.unit in units.UNITS else metric.unit


def _chart(result: State, name: str) -> b.Chart:
    line, course = result[name], result.course(name)
    times = tuple(float(end) for end in result.ends)
    rates, lows, highs = (
        tuple(each.tolist()) for each in (course.rates, course.lows, course.highs)
    )
    read = [place for place, flag in enumerate(course.read.tolist()) if flag]
    # One wide interval must not make the rest a flat line.
    finite = [rate for rate in rates if math.isfinite(rate)]
    top = 1.5 * max(finite, default=0.0) or None
    return b.Chart(
        f"{name}: the estimate with its 90 % interval, and what was read.",
        b.Axis("time", "ns", zero=True),
        b.Axis(name, _per_second(line.unit), zero=True, high=top),
        (
            b.Layer(b.Kind.BAND, times, (), "90 % interval", lows, highs),
            b.Layer(b.Kind.LINE, times, rates, "estimate"),
            b.Layer(
                b.Kind.DOTS,
                tuple(times[place] for place in read),
                tuple(rates[place] for place in read),
                "read",
            ),
        ),
    )


# ---- a tick, while it goes on ---------------------------------------------------------------


def tick(now: Now, courses: Mapping[str, Sequence[float | None]]) -> Iterator[b.Block]:
    """Yield what there is to see of a tick; `courses` are of rates and metrics until now."""
    label = "SIMULATED " if now.simulated else ""
    time = units.number(now.time, "ns")
    yield b.Headline(f"{label}{time}, tick {now.tick}; Ctrl-C ends it")
    names = (*now.always, *now.events, *now.unread)
    yield b.Table.of(
        names,
        (
            b.Column("event", lambda name: name),
            b.Column("rate", lambda name: rate_of(now, name), interval="90 % interval"),
            b.Column("last ticks", lambda name: b.Cell(course=tuple(courses[name])), drop=1),
        ),
    )
    metrics = [(name, metric) for name, metric in now.metrics.items() if metric.value is not None]
    if metrics:
        yield b.Table.of(
            metrics,
            (
                b.Column("metric", lambda line: line[0]),
                b.Column("value", lambda line: _value(line[1]), interval="90 % interval"),
                b.Column(
                    "last ticks",
                    lambda line: b.Cell(course=tuple(courses[f"metric {line[0]}"])),
                    drop=1,
                ),
            ),
        )


def rate_of(now: Now, name: str) -> b.Cell:
    """Return the rate of an event in a tick."""
    unit = _per_second(now.units.get(name, ""))
    if name in now.always:
        return b.Cell(now.always[name] / now.seconds, unit)
    if name not in now.events:
        return b.Cell(None, unit, status="not read yet")
    found = now.events[name]
    mean, low, high = (each / now.seconds for each in (found.mean, found.low, found.high))
    return b.Cell(mean, unit, low, high, "estimated") if found.estimated else b.Cell(mean, unit)
