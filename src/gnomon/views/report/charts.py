"""Curves and bars of a study: ours as lines and bars, published values as points on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.views.report.plots import COLOURS, figure, plain_log_axis, style_legend

if TYPE_CHECKING:
    from bokeh.model import Model
    from bokeh.models import ColumnDataSource
    from bokeh.plotting import figure as BokehFigure  # noqa: N812

    from gnomon.analysis.study.result import Bars, Curves

_MOST_LEGEND = 12


def draw_curves(picture: Curves) -> Model:
    """Return a plot with a line for each curve; hollow points are published values."""
    from bokeh.models import FixedTicker

    plot = figure(
        picture.x_label,
        picture.y_label,
        x_axis_type="log" if picture.doubling else "linear",
        tooltips=[
            ("", "$name"),
            (picture.x_label, "@x{0,0.[000]}"),
            (picture.y_label, "@y{0,0.[0000]}"),
        ],
    )
    if picture.doubling:
        plain_log_axis(plot.xaxis)
        plot.xaxis.ticker = FixedTicker(
            ticks=sorted({x for c in picture.curves for x, _ in c.points})
        )
    for number, curve in enumerate(picture.curves):
        colour = COLOURS[number % len(COLOURS)]
        dash = "solid" if number < len(COLOURS) else "dashed"
        data = _source(curve.points)
        name = curve.name
        plot.line(
            "x", "y", source=data, color=colour, line_width=2, line_dash=dash, name=name,
            legend_label=name,
        )  # fmt: skip
        if len(curve.points) <= _MOST_LEGEND:
            plot.scatter("x", "y", source=data, color=colour, size=5, name=name, legend_label=name)
        if curve.published:
            plot.scatter(
                "x", "y", source=_source(curve.published), marker="diamond", size=13,
                line_color=colour, line_width=2, fill_color=None, name=f"{name}, published",
                legend_label=name,
            )  # fmt: skip
    style_legend(plot)
    return plot


def draw_bars(picture: Bars) -> Model:
    """Return a plot with a bar for each value of ours, and a mark where one was published."""
    from bokeh.models import ColumnDataSource

    names = [bar.name for bar in picture.bars]
    values = [bar.ours for bar in picture.bars]
    known = {bar.name: bar.published for bar in picture.bars if bar.published is not None}
    plot = figure(
        picture.label,
        "",
        height=110 + 30 * len(names),
        y_range=list(reversed(names)),
        tooltips=[("", "@name"), (picture.label, "@value{0,0.[0000]}")],
    )
    source = ColumnDataSource(
        {"name": names, "value": values, "text": [f"{value:.4g}" for value in values]}
    )
    plot.hbar(
        "name", left=picture.even, right="value", height=0.65, color=COLOURS[0], alpha=0.8,
        source=source, legend_label="ours",
    )  # fmt: skip
    plot.text(
        "value", "name", text="text", source=source, x_offset=10, text_baseline="middle",
        text_font_size="11px", text_color="#8a93a1",
    )  # fmt: skip
    if known:
        plot.scatter(
            list(known.values()), list(known),
            marker="diamond", size=13, line_color=COLOURS[1], line_width=2, fill_color=None,
            legend_label="published",
        )  # fmt: skip
    _leave_room(plot, picture.even, values)
    plot.ygrid.grid_line_color = None
    style_legend(plot)
    plot.legend.visible = bool(known)  # otherwise there is nothing to tell apart
    return plot


def _leave_room(plot: BokehFigure, even: float, values: list[float]) -> None:
    """Begin where nothing is gained, and leave room for a number after the longest bar."""
    from bokeh.models import Range1d

    low, high = min(even, *values), max(even, *values)
    room = 0.12 * (high - low or 1.0)
    plot.x_range = Range1d(start=low - (room if low < even else 0), end=high + room)


def _source(points: tuple[tuple[float, float], ...]) -> ColumnDataSource:
    from bokeh.models import ColumnDataSource

    return ColumnDataSource({"x": [x for x, _ in points], "y": [y for _, y in points]})
