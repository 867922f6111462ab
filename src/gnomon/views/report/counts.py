"""A recording as a part of a report: its totals, and its course over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.analysis.series import Course, slices_over_time
from gnomon.analysis.summary import EventCount, summarise
from gnomon.recording import Reading, Recording
from gnomon.recording.contents import EventInfo, Status
from gnomon.units import format_duration
from gnomon.views.counts import format_spread, format_value
from gnomon.views.report.page import Cell, DataTable, Figure, Section

if TYPE_CHECKING:
    from bokeh.model import Model

_CURVES = 6
FOOTPRINT = "footprint:"
"""What the names of levels of memory begin with: no counts, so they have no rate."""


def count_sections(recording: Recording) -> tuple[Section, ...]:
    """Return the sections that a recording of counts makes of a report."""
    infos = tuple(info for info in recording.events if not info.name.startswith(FOOTPRINT))
    names = {info.name for info in infos}
    readings = [
        Reading(0, t.event, t.scope, t.value, t.enabled, t.running, t.status, t.run, t.batch)
        for t in recording.totals()
        if t.event in names
    ]
    counts = summarise(readings, infos)
    runs = len(recording.runs)
    lead = f"{len(counts)} events over {runs} run{'s' * (runs != 1)}."
    totals = Section("Totals", (lead,), (_table(counts, infos),))
    course = slices_over_time(recording, names)
    if course.ticks < 3:
        return (totals,)
    return totals, _course_section(course, infos)


def _table(counts: tuple[EventCount, ...], infos: tuple[EventInfo, ...]) -> DataTable:
    texts = {info.name: info.description for info in infos}
    rows = [
        (
            Cell(count.event),
            Cell(
                str(count.status)
                if count.value is None
                else ("~ " if count.status is Status.SCALED else "")
                + format_value(count.value, count.unit),
                count.value,
            ),
            Cell(
                "" if count.running is None or count.value is None else f"{count.running:.0%}",
                count.running,
            ),
            Cell(format_spread(count.spread), count.spread),
            Cell(texts.get(count.event, "")),
        )
        for count in counts
    ]
    headings = ("event", "count", "of time", "spread", "what it counts")
    return DataTable.of(headings, rows, right=frozenset({1, 2, 3}))


def _course_section(course: Course, infos: tuple[EventInfo, ...]) -> Section:
    caption = (
        f"Events a second over {format_duration(course.span)} in {course.ticks} slices, each "
        "relative to its own peak; a click on a name hides it."
    )
    return Section("Course over time", (), (Figure(caption, lambda: _course_plot(course, infos)),))


def _course_plot(course: Course, infos: tuple[EventInfo, ...]) -> Model:
    from bokeh.models import ColumnDataSource

    from gnomon.views.report.plots import COLOURS, figure, from_zero, style_legend

    plot = figure(
        "time in ms",
        "of its peak",
        tooltips=[("event", "$name"), ("at", "@x{0.0} ms"), ("rate", "@rate{0.000a} /s")],
        y_range=from_zero(),
    )
    shown = [info for info in infos if _varies(course, info.name)][:_CURVES]
    for info, colour in zip(shown, COLOURS, strict=False):
        series = course.series[info.name]
        peak = series.peak or 1.0
        columns: dict[str, Any] = {
            "x": [end / 1e6 for end in course.ends],
            "y": [float("nan") if rate is None else rate / peak for rate in series.rates],
            "rate": [float("nan") if rate is None else rate for rate in series.rates],
        }
        source = ColumnDataSource(columns)
        plot.line("x", "y", source=source, color=colour, legend_label=info.name, name=info.name)
    if shown:
        style_legend(plot)
    return plot


def _varies(course: Course, event: str) -> bool:
    series = course.series.get(event)
    return series is not None and bool(series.peak)
