"""Compute beside communicators as a report: what each way loses against what it gains."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.analysis.notify import InterferenceResult
from gnomon.units import format_duration
from gnomon.views.notify_interfere import HEADINGS, cells_of, where_text
from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section

if TYPE_CHECKING:
    from bokeh.model import Model


def interference_page(result: InterferenceResult) -> Page:
    """Return the report of an experiment with communicators."""
    sentence = result.recommendation
    rows = tuple(
        tuple(map(Cell, (format_duration(row.pause), row.mechanism, *cells_of(row))))
        for row in result.rows
    )
    headings = ("pause", "waits by", *HEADINGS)
    return Page(
        "Compute beside a communicator",
        where_text(result),
        (
            Section(
                "What waiting for messages takes",
                (f"{sentence[0].upper()}{sentence[1:]}",),
                (
                    Figure(
                        "Compute lost against the mean round trip, with 95 % intervals: down and "
                        "to the left is better. The larger a dot, the longer the pause.",
                        partial(_trade, result),
                    ),
                    DataTable(headings, rows, right=frozenset({0, *range(2, len(headings))})),
                ),
            ),
        ),
        warnings=result.warnings,
    )


def _trade(result: InterferenceResult) -> Model:
    from bokeh.models import ColumnDataSource

    from gnomon.views.report.plots import COLOURS, figure, plain_log_axis, style_legend

    plot = figure(
        "mean round trip in µs",
        "compute lost in %",
        height=400,
        x_axis_type="log",
        tooltips=[
            ("waits by", "@way"),
            ("pause", "@pause"),
            ("lost", "@lost{0.0} %"),
            ("round trip", "@latency{0.0} µs"),
        ],
    )
    plain_log_axis(plot.xaxis[0])
    dots: list[Any] = []
    for number, name in enumerate(dict.fromkeys(row.mechanism for row in result.rows)):
        rows = [row for row in result.rows if row.mechanism == name]
        source = ColumnDataSource(
            {
                "way": [name] * len(rows),
                "pause": [format_duration(row.pause) for row in rows],
                "lost": [100 * row.lost.value for row in rows],
                "lost_low": [100 * row.lost.low for row in rows],
                "lost_high": [100 * row.lost.high for row in rows],
                "latency": [row.latency.value / 1000 for row in rows],
                "latency_low": [row.latency.low / 1000 for row in rows],
                "latency_high": [row.latency.high / 1000 for row in rows],
                "size": [8 + 4 * result.pauses.index(row.pause) for row in rows],
            }
        )
        colour = COLOURS[number % len(COLOURS)]
        plot.segment(
            "latency", "lost_low", "latency", "lost_high", source=source, color=colour, alpha=0.7
        )
        plot.segment(
            "latency_low", "lost", "latency_high", "lost", source=source, color=colour, alpha=0.7
        )
        dots.append(
            plot.scatter(
                "latency", "lost", size="size", source=source, color=colour, legend_label=name
            )
        )
    plot.hover.renderers = dots
    style_legend(plot)
    return plot
