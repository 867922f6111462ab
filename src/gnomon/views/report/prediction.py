"""Predictions for applications as a part of a report: bars of speedups, curves of slowdowns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gnomon.units import format_duration
from gnomon.views.prediction import GAIN, assumed, gain_text, way_text
from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section

if TYPE_CHECKING:
    from bokeh.model import Model

    from gnomon.analysis.prediction import Prediction


def prediction_page(prediction: Prediction) -> Page:
    """Return the report of a prediction."""
    return Page(
        f"What user-level notification would bring {prediction.application.name}",
        "estimated by a model from measured costs",
        (prediction_section(prediction),),
        warnings=prediction.warnings,
    )


def prediction_section(prediction: Prediction) -> Section:
    """Return the answer with its plots and table."""
    rows = tuple(
        (
            Cell(way_text(row, prediction)),
            Cell(format_duration(row.cycle.value), row.cycle.value),
            Cell(f"{row.running:.0%}", row.running, bar=row.running),
            Cell(f"{row.waiting:.0%}", row.waiting, bar=row.waiting),
            Cell("" if row is prediction.target else gain_text(row.speedup), row.speedup.value),
        )
        for row in (*prediction.rows, prediction.target)
    )
    headings = ("told by", "cycle", "running", "waiting", GAIN)
    sentence = prediction.sentence
    return Section(
        "User-level notification",
        tuple(f"{line[0].upper()}{line[1:]}." for line in (sentence, *assumed(prediction))),
        (
            Figure(
                "How many times as fast user-level notification would be as each mechanism, "
                "with 95 % intervals from those of the inputs.",
                partial(_bars, prediction),
            ),
            Figure(
                "How many times as long a cycle takes as with user-level notification, over the "
                "compute time per message; the dashed line is this application.",
                partial(_curves, prediction),
            ),
            DataTable(headings, rows, right=frozenset(range(1, 5))),
        ),
    )


def _bars(prediction: Prediction) -> Model:
    from bokeh.models import ColumnDataSource
    from bokeh.models.annotations import Span, Whisker

    from gnomon.views.report.plots import COLOURS, figure

    rows = sorted(prediction.rows, key=lambda row: row.speedup.value)
    source = ColumnDataSource(
        {
            "way": [row.way.name for row in rows],
            "speedup": [row.speedup.value for row in rows],
            "low": [row.speedup.low for row in rows],
            "high": [row.speedup.high for row in rows],
            "colour": [COLOURS[1] if row is prediction.now else COLOURS[0] for row in rows],
        }
    )
    plot = figure(
        "times as fast",
        "",
        height=60 + 26 * len(rows),
        y_range=[row.way.name for row in rows],
        x_range=(0, 1.08 * max(row.speedup.high for row in rows)),
        tooltips=[("told by", "@way"), ("speedup", "@speedup{0.000} [@low{0.000}, @high{0.000}]")],
    )
    plot.hbar("way", right="speedup", height=0.7, color="colour", alpha=0.8, source=source)
    whisker = Whisker(base="way", lower="low", upper="high", source=source, dimension="width")
    whisker.line_color = COLOURS[5]
    plot.add_layout(whisker)
    plot.add_layout(Span(location=1, dimension="height", line_color=COLOURS[5], line_dash="dotted"))
    return plot


def _curves(prediction: Prediction) -> Model:
    from bokeh.models.annotations import Span

    from gnomon.views.report.plots import (
        COLOURS,
        figure,
        height_with_legend,
        plain_log_axis,
        style_legend,
    )

    plot = figure(
        "compute per message in µs",
        "times as long",
        height=height_with_legend(len(prediction.curves)),
        x_axis_type="log",
        tooltips=[("compute", "@x{0.[000]} µs"), ("slowdown", "@y{0.000}"), ("told by", "$name")],
    )
    plain_log_axis(plot.xaxis[0])
    for number, curve in enumerate(prediction.curves):
        now = curve.way == prediction.now.way.name
        plot.line(
            [compute / 1000 for compute in curve.compute],
            list(curve.slowdown),
            line_width=3 if now else 1.5,
            color=COLOURS[number % len(COLOURS)],
            line_dash=("solid", "dashed", "dotdash")[number // len(COLOURS) % 3],
            legend_label=curve.way,
            name=curve.way,
        )
    plot.add_layout(
        Span(
            location=prediction.application.compute.value / 1000,
            dimension="height",
            line_color=COLOURS[5],
            line_dash="dashed",
        )
    )
    style_legend(plot)
    return plot
