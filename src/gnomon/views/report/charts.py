"""Curves and bars of a study: ours as lines and bars, published values as points on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.views.report.plots import COLOURS, figure, style_legend

if TYPE_CHECKING:
    from bokeh.model import Model
    from bokeh.models import ColumnDataSource
    from bokeh.plotting import figure as BokehFigure  # noqa: N812

    from gnomon.analysis.study.result import Bars

_MOST_LEGEND = 12


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
