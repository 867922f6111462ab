"""How a recording looks: where it comes from, its totals, and their course over time."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import units
from gnomon.analysis.recorded.result import RecordingResult, Series
from gnomon.views import blocks as b
from gnomon.views.counts import headline, per_second, totals

_CURVES = 6
_FEWEST = 3  # slices that are worth a curve
_FAILED = 5
_LONGEST_UNIT = 16  # that fits beside a tick; the table has longer ones


def describe(result: RecordingResult) -> Iterator[b.Block]:
    """Yield what there is to see of a recording, from the result alone."""
    incomplete = () if result.complete else ("incomplete: interrupted, or still being written",)
    yield headline(result.provenance, result.duration, len(result.runs), *incomplete)
    yield b.Facts(tuple(_facts(result)))
    yield from totals(
        result.totals,
        result.duration,
        result.events,
        result.durations,
        per_scope=result.per_scope,
    )
    if result.provenance.plan and not result.provenance.interval:
        return  # a slice is a run of its own there
    if result.course.series:
        yield b.Section("Over time")
        yield _series(result)
    if result.slices >= _FEWEST and any(s.peak for s in result.course.series.values()):
        yield from _curves(result)


def _facts(result: RecordingResult) -> Iterator[tuple[str, b.Cell | b.Value]]:
    origin = result.provenance
    failed = [run for run in result.runs if run.exit_status]
    yield "recorded", origin.created
    yield "kernel", origin.kernel
    yield "imported", origin.imported_from
    yield "interval", b.Cell(origin.interval, "ns") if origin.interval else ""
    yield "settings", " ".join(f"{key}={value}" for key, value in origin.environment.items())
    exits = [f"run {run.run}: exit {run.exit_status}" for run in failed[:_FAILED]]
    more = [f"and {len(failed) - _FAILED} more"] if len(failed) > _FAILED else []
    yield "failed", ", ".join((*exits, *more))


def _series(result: RecordingResult) -> b.Table:
    unit_of = {info.name: info.unit for info in result.events}
    return b.Table.of(
        result.course.series.items(),
        b.Column("event", lambda each: each[0]),
        b.Column("over time", lambda each: b.Cell(course=each[1].rates), drop=1),
        b.Column("mean", lambda each: _told(each[1], each[1].mean, unit_of.get(each[0], ""))),
        b.Column("max", lambda each: _told(each[1], each[1].peak, unit_of.get(each[0], ""))),
        b.Column("last", lambda each: _last(each[1], unit_of.get(each[0], "")))
        if any(series.level for series in result.course.series.values())
        else None,
        caption=f"{result.slices:,} slices over {units.number(result.course.span, 'ns')}",
        name="course",
    )


def _told(series: Series, value: float | None, unit: str) -> b.Cell:
    """Return a value of a course: of a level what was there, otherwise how much per second."""
    return b.Cell(value, unit) if series.level else per_second(value, unit)


def _last(series: Series, unit: str) -> b.Cell:
    return b.Cell(series.rates[-1], unit) if series.level else b.Cell("")


def _curves(result: RecordingResult) -> Iterator[b.Chart]:
    """Yield a small chart for each event, in its own unit, over the same time."""
    course = result.course
    varied = [(name, series) for name, series in course.series.items() if series.peak]
    unit_of = {info.name: info.unit for info in result.events}
    for number, (name, series) in enumerate(varied[:_CURVES]):
        more = f" The first {_CURVES} of {len(varied)} events." if len(varied) > _CURVES else ""
        what = f"{name}{'' if series.level else ' per second'} over time."
        unit = _told(series, 0.0, unit_of.get(name, "")).unit
        yield b.Chart.of(
            what + more * (number == 0),
            b.Axis("time", "ns", zero=True),
            b.Axis(name, unit if len(unit) <= _LONGEST_UNIT else "", zero=True),
            b.Layer(b.Kind.LINE, course.ends, series.rates),
        )
