"""Phases as a part of a report: the series with its phases, and what was counted in each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.analysis.phases.model import PhaseSeries, PhasesResult
from gnomon.views.phases import count_text, quantity_text, rate_text, signed_text, time_text
from gnomon.views.report.page import Cell, DataTable, Figure, Section

if TYPE_CHECKING:
    from bokeh.model import Model

_MOST_POINTS = 2_000


def phases_sections(result: PhasesResult) -> tuple[Section, ...]:
    """Return the sections that the phases of a run make of a report."""
    figures = [
        Figure(
            f"{series.name} over time, with the fitted course of each phase; bands tell the "
            "phases apart, and dashed lines show where each begins.",
            partial(_plot, result, series),
        )
        for series in result.series
    ]
    parts: list[DataTable | Figure] = [*figures, _phase_table(result)]
    if any(phase.counts for phase in result.phases):
        parts.append(_count_table(result))
    lead = (f"{result.decision[0].upper()}{result.decision[1:]}.",)
    folded = (_choices(result),) if result.choices else ()
    return (Section("Phases", lead, tuple(parts), folded, "How many phases were considered"),)


def _phase_table(result: PhasesResult) -> DataTable:
    headings = ["phase", "from", "to", "duration"]
    for series in result.series:
        headings += [f"{series.name}, at first", "at last"]
        headings += [] if series.is_rate else ["a second"]
    headings.append("begins between")
    rows = []
    for number, phase in enumerate(result.phases):
        cells = [Cell(str(number + 1), number + 1)]
        times = (phase.start, phase.end, phase.duration)
        cells += [Cell(time_text(time, result), time) for time in times]
        for series, fit in zip(result.series, phase.fits, strict=True):
            cells += [Cell(quantity_text(v, fit.unit), v) for v in (fit.first, fit.last)]
            if not series.is_rate:
                cells.append(Cell(signed_text(fit.slope, fit.unit), fit.slope))
        begin = result.breaks[number - 1] if number else None
        cells.append(
            Cell("")
            if begin is None
            else Cell(f"{time_text(begin.low, result)} and {time_text(begin.high, result)}")
        )
        rows.append(tuple(cells))
    return DataTable.of(headings, rows, right=frozenset(range(len(headings))))


def _count_table(result: PhasesResult) -> DataTable:
    numbers = range(1, len(result.phases) + 1)
    headings = ["event", *(text for i in numbers for text in (f"in phase {i}", "rate"))]
    rows = []
    for counts in zip(*(phase.counts for phase in result.phases), strict=True):
        cells = [Cell(counts[0].event)]
        for count in counts:
            cells += [Cell(count_text(count), count.value), Cell(rate_text(count), count.rate)]
        rows.append(tuple(cells))
    caption = "What was counted in each phase, and how much of it a second."
    return DataTable.of(headings, rows, caption, frozenset(range(1, len(headings))))


def _choices(result: PhasesResult) -> DataTable:
    rows = tuple(
        (
            Cell(str(each.phases), each.phases),
            Cell(str(each.shape)),
            Cell(f"{each.bic:.1f}", each.bic),
            Cell("" if each.p_value is None else f"{each.p_value:.2g}", each.p_value),
            Cell("chosen" if each.chosen else "", cue="down" if each.chosen else ""),
        )
        for each in result.choices
    )
    headings = ("phases", "shape", "BIC", "p of the weakest break", "")
    return DataTable.of(headings, rows, right=frozenset({0, 2, 3}))


def _plot(result: PhasesResult, series: PhaseSeries) -> Model:
    from bokeh.models import ColumnDataSource
    from bokeh.models.annotations import BoxAnnotation, Span

    from gnomon.views.report.plots import COLOURS, figure, value_axis

    per, unit = _time_scale(result)
    plot = figure(
        f"time in {unit}" if unit else "time",
        series.name,
        tooltips=[("at", f"@x{{0.[000]}} {unit}"), (series.name, "@text"), ("phase", "@phase")],
    )
    for number, phase in enumerate(result.phases):
        plot.add_layout(
            BoxAnnotation(
                left=phase.start / per,
                right=phase.end / per,
                fill_color=COLOURS[number % len(COLOURS)],
                fill_alpha=0.10,
                line_color=None,
            )
        )
    line: dict[str, Any] = {"line_color": COLOURS[5], "line_dash": "dashed"}
    for found in result.breaks:
        plot.add_layout(Span(location=found.time / per, dimension="height", **line))
    source = ColumnDataSource(_points(result, series, per))
    dots = plot.scatter("x", "y", source=source, size=4, color=COLOURS[0], alpha=0.7)
    place = [each.name for each in result.series].index(series.name)
    for phase in result.phases:
        fit = phase.fits[place]
        ends = (max(phase.start, series.times[0]), min(phase.end, series.times[-1]))
        times = [float(end) / per for end in ends]
        plot.line(times, [fit.first, fit.last], color=COLOURS[1], line_width=2.5)
    plot.hover.renderers = [dots]
    value_axis(plot, series.unit)
    return plot


def _time_scale(result: PhasesResult) -> tuple[float, str]:
    """Return what to divide times by, and the unit that they are in then."""
    if result.time_unit != "ns":
        return 1.0, result.time_unit
    return (1e9, "s") if result.phases[-1].end >= 2e9 else (1e6, "ms")


def _points(result: PhasesResult, series: PhaseSeries, per: float) -> dict[str, Any]:
    """Return the points to draw; of very many every n-th, which hides no phase."""
    step = -(-series.times.size // _MOST_POINTS)
    times, values = series.times[::step].tolist(), series.values[::step].tolist()
    edges = [phase.end for phase in result.phases[:-1]]
    return {
        "x": [time / per for time in times],
        "y": values,
        "text": [quantity_text(value, series.unit) for value in values],
        "phase": [1 + sum(time > edge for edge in edges) for time in times],
    }
