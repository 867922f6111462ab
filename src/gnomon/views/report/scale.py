"""Scaling as a part of a report: how each event grows, drawn with its model and its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

from gnomon.analysis.scaling import WIDE_RANGE
from gnomon.analysis.scaling.result import EventScaling, Scaling
from gnomon.units import format_si
from gnomon.views.report.page import Cell, DataTable, Figure, Section
from gnomon.views.scale import amount_text, doubts_text, formula_text, place_text

if TYPE_CHECKING:
    from bokeh.model import Model

_MOST_PLOTS = 6
_MOST_ARROWS = 8


def scale_sections(result: Scaling) -> tuple[Section, ...]:
    """Return the sections that scaling makes of a report."""
    growing = [row for row in result.rows if row.model.terms]
    constant = [row for row in result.rows if not row.model.terms]
    figures = [
        Figure(_caption(row, result), partial(_growth_plot, row, result), half=True)
        for row in growing[:_MOST_PLOTS]
        if row.band
    ]
    tables = [_table(result, growing)] if growing else []
    main = Section(
        "What grows",
        _lead(result, growing),
        (*figures, *tables),
        (_table(result, constant),) if constant else (),
        f"{len(constant)} event{'s that do' * (len(constant) != 1) or ' that does'} not grow",
    )
    return main, *_predicted(result), *_together(result)


def _lead(result: Scaling, growing: Sequence[EventScaling]) -> tuple[str, ...]:
    names = " and ".join(result.parameters)
    first = (
        f"{len(growing)} of {len(result.rows)} events grow or fall with {names}, as seen at "
        f"{len(result.points)} points in {result.runs} run{'s' * (result.runs != 1)}."
    )
    knees = [row for row in result.rows if row.knee is not None]
    second = "; ".join(
        f"{row.event} bends at {result.parameters[0]} = {row.knee.at:.4g}"
        for row in knees
        if row.knee is not None
    )
    return (first, f"Knees: {second}.") if second else (first,)


def _caption(row: EventScaling, result: Scaling) -> str:
    share = "" if row.r_squared is None else f", R² {row.r_squared:.3f}"
    knee = "" if row.knee is None else f"; it bends at {row.knee.at:.4g}"
    return (
        f"{row.event}: {row.growth}{share}{knee}. The band is where {result.level:.0%} of further "
        "runs are expected."
    )


def _table(result: Scaling, rows: Sequence[EventScaling]) -> DataTable:
    cells = [
        (
            Cell(row.event),
            Cell(row.growth),
            Cell(formula_text(row, result.parameters)),
            Cell("" if row.r_squared is None else f"{row.r_squared:.4f}", row.r_squared),
            Cell(
                "" if row.adjusted_r_squared is None else f"{row.adjusted_r_squared:.4f}",
                row.adjusted_r_squared,
            ),
            Cell(
                "" if row.knee is None else f"{row.knee.at:.4g}",
                None if row.knee is None else row.knee.at,
            ),
            Cell(doubts_text(row)),
        )
        for row in rows
    ]
    headings = ("event", "growth", "model", "R²", "adjusted", "knee at", "doubts")
    return DataTable.of(headings, cells, right=frozenset({3, 4, 5}))


def _predicted(result: Scaling) -> tuple[Section, ...]:
    rows = [
        (
            Cell(row.event),
            Cell(place_text(result, one)),
            Cell(amount_text(one.value, row.unit), one.value),
            Cell(f"{amount_text(one.low, row.unit)} to {amount_text(one.high, row.unit)}"),
        )
        for row in result.rows
        for one in row.predictions
    ]
    if not rows:
        return ()
    headings = ("event", "at", "predicted", f"{result.level:.0%} of single runs")
    table = DataTable(headings, tuple(rows), right=frozenset({2, 3}))
    words = "What another run would count, between bounds that all likely models share."
    return (Section("What to expect elsewhere", (words,), (table,)),)


def _together(result: Scaling) -> tuple[Section, ...]:
    found = result.components
    if len(found.events) < 2 or len(found.shares) < 2:
        return ()
    share = float(found.shares[0])
    words = f"{share:.0%} of the variation of all events goes in one direction."
    caption = (
        "Principal components of the standardised events: each dot is measured, with the value of "
        f"{' and '.join(result.parameters)} beside it; each line is an event that takes part."
    )
    return (
        Section("What varies together", (words,), (Figure(caption, lambda: _pca_plot(result)),)),
    )


def _growth_plot(row: EventScaling, result: Scaling) -> Model:
    from bokeh.models import ColumnDataSource
    from bokeh.models.annotations import Span

    from gnomon.views.report.plots import COLOURS, figure, plain_log_axis, plain_numbers, value_axis

    x = [place.at[0] for place in row.band]
    known = [mean for mean in row.means if mean is not None]
    wide_x = min(x) > 0 and max(x) / min(x) > WIDE_RANGE
    wide_y = bool(known) and min(known) > 0 and max(known) / min(known) > WIDE_RANGE
    log = wide_x and wide_y
    plot = figure(
        result.parameters[0],
        row.event,
        height=280,
        tooltips=[(result.parameters[0], "@x"), (row.event, "@text")],
        x_axis_type="log" if wide_x else "linear",
        y_axis_type="log" if log else "linear",
    )
    floor = min(known) / 10 if log else float("-inf")
    ceiling = 4 * max(known, default=1.0)
    band = ColumnDataSource(
        {
            "x": x,
            "low": [max(_finite(p.low, -ceiling), floor) for p in row.band],
            "high": [min(_finite(p.high, ceiling), max(ceiling, p.value)) for p in row.band],
        }
    )
    plot.varea("x", "low", "high", source=band, fill_color=COLOURS[0], fill_alpha=0.15)
    plot.line(x, [p.value for p in row.band], color=COLOURS[0], line_width=2)
    if len(row.means) == len(result.points):
        points = [(p[0], m) for p, m in zip(result.points, row.means, strict=True) if m is not None]
        source = ColumnDataSource(
            {
                "x": [at for at, _ in points],
                "y": [mean for _, mean in points],
                "text": [amount_text(mean, row.unit) for _, mean in points],
            }
        )
        dots = plot.scatter("x", "y", source=source, size=8, color=COLOURS[1])
        plot.hover.renderers = [dots]
    if row.knee is not None:
        line: dict[str, Any] = {"line_color": COLOURS[4], "line_dash": "dashed"}
        plot.add_layout(Span(location=row.knee.at, dimension="height", **line))
    value_axis(plot, row.unit)
    if wide_x:
        plain_log_axis(plot.xaxis)
    else:
        plot.xaxis.formatter = plain_numbers()
    return plot


def _finite(number: float, instead: float) -> float:
    return number if isfinite(number) else instead


def _pca_plot(result: Scaling) -> Model:
    from bokeh.models import ColumnDataSource

    from gnomon.views.report.plots import COLOURS, figure, padded

    found = result.components
    scores = found.scores[:, :2]
    size = float(abs(scores).max()) or 1.0
    shares = [f"component {i + 1}: {found.shares[i]:.0%} of the variation" for i in (0, 1)]
    ranges = {"x_range": padded(), "y_range": padded()}  # names stand beside the dots
    plot = figure(shares[0], shares[1], height=380, tooltips=[("", "@name")], **ranges)
    weights = (found.loadings[:2] ** 2).sum(0)
    chosen = sorted(range(len(found.events)), key=lambda i: -weights[i])[:_MOST_ARROWS]
    largest = float(max(weights[i] for i in chosen)) ** 0.5 or 1.0
    arrows = ColumnDataSource(
        {
            "x0": [0.0] * len(chosen),
            "y0": [0.0] * len(chosen),
            "x1": [float(found.loadings[0, i]) / largest * size for i in chosen],
            "y1": [float(found.loadings[1, i]) / largest * size for i in chosen],
            "name": [found.events[i] for i in chosen],
        }
    )
    plot.segment("x0", "y0", "x1", "y1", source=arrows, color=COLOURS[5], line_width=2)
    small: dict[str, Any] = {"text_font_size": "11px", "text_baseline": "middle", "x_offset": 6}
    plot.text("x1", "y1", "name", source=arrows, text_color=COLOURS[5], **small)
    names = [", ".join(_number(value) for value in point) for point in result.points]
    dots = ColumnDataSource({"x": scores[:, 0].tolist(), "y": scores[:, 1].tolist(), "name": names})
    plot.scatter("x", "y", source=dots, size=9, color=COLOURS[1])
    plot.text("x", "y", "name", source=dots, text_color=COLOURS[1], y_offset=-12, **small)
    return plot


def _number(value: float) -> str:
    """Return a value of a parameter as an axis shows it."""
    return f"{value:g}" if abs(value) < 1e5 else format_si(value)
