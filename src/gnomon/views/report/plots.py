"""Plots that suit light and dark pages alike, and that can be hovered over and zoomed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bokeh.models import DataRange1d, TickFormatter
    from bokeh.plotting import figure as BokehFigure  # noqa: N812

COLOURS = ("#3b7dd8", "#d9822b", "#2f9e6e", "#b65fcf", "#c94f4f", "#8a8f98")
_GREY = "#8a93a1"


def figure(
    x_label: str,
    y_label: str,
    *,
    height: int = 320,
    tooltips: Sequence[tuple[str, str]] = (),
    **options: Any,
) -> BokehFigure:
    """Return an empty plot in the house style; options go to Bokeh's figure."""
    from bokeh.plotting import figure as bokeh_figure

    plot = bokeh_figure(
        height=height,
        sizing_mode="stretch_width",
        tools="pan,box_zoom,wheel_zoom,reset,save",
        active_drag="box_zoom",
        toolbar_location="above",
        x_axis_label=x_label,
        y_axis_label=y_label,
        **options,
    )
    plot.toolbar.logo = None
    plot.toolbar.autohide = True  # tools are for the pointer, not for paper
    if tooltips:
        from bokeh.models import HoverTool

        plot.add_tools(HoverTool(tooltips=list(tooltips)))
    # No background of its own: the page is light or dark as its reader wants.
    plot.background_fill_color = None
    plot.border_fill_color = None
    plot.outline_line_color = None
    for axis in plot.axis:
        axis.axis_label_text_color = _GREY
        axis.major_label_text_color = _GREY
        axis.axis_line_color = _GREY
        axis.major_tick_line_color = _GREY
        axis.minor_tick_line_color = None
        axis.axis_label_text_font_style = "normal"
    for grid in plot.grid:
        grid.grid_line_color = _GREY
        grid.grid_line_alpha = 0.25
    return plot


def value_axis(plot: BokehFigure, unit: str) -> None:
    """Let the vertical axis show values of an event in units that people read."""
    from bokeh.models import CustomJSTickFormatter

    plot.yaxis.formatter = CustomJSTickFormatter(code=_TICKS.get(unit, _NUMBERS))


_NUMBERS = """
    if (Math.abs(tick) < 1e5) return `${+tick.toPrecision(6)}`;
    const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
    const [size, name] = steps.find(([size]) => Math.abs(tick) >= size) || [1, ""];
    return `${+(tick / size).toPrecision(4)} ${name}`.trim();
"""
_TICKS = {
    "ns": """
        const steps = [[6e10, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
        const [size, name] = steps.find(([size]) => Math.abs(tick) >= size) || [1, "ns"];
        return tick === 0 ? "0" : `${+(tick / size).toPrecision(4)} ${name}`;
    """,
    "B": """
        const steps = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
        const [size, name] = steps.find(([size]) => Math.abs(tick) >= size) || [1, "B"];
        return tick === 0 ? "0" : `${+(tick / size).toPrecision(4)} ${name}`;
    """,
    "ns/s": "return `${+(tick / 1e9).toPrecision(3)} CPUs`;",
}


def ratio_axis(plot: BokehFigure, low: float, high: float) -> None:
    """Let a logarithmic horizontal axis show ratios, close to one or far apart."""
    from bokeh.models import AdaptiveTicker, CustomJSTickFormatter, FixedTicker

    steps = [mantissa * 10.0**power for power in range(-9, 10) for mantissa in (1, 2, 5)]
    wide = high / low > 6
    ticker = FixedTicker(ticks=steps) if wide else AdaptiveTicker(desired_num_ticks=6)
    plot.xaxis.ticker = ticker
    plot.xgrid.ticker = ticker
    plot.xaxis.formatter = CustomJSTickFormatter(code="return `×${+tick.toPrecision(3)}`;")


def plain_log_axis(axis: Any) -> None:
    """Let a logarithmic axis show numbers as people write them, not as powers of ten."""
    from bokeh.models import LogTicker

    axis.ticker = LogTicker()
    axis.formatter = plain_numbers()


def plain_numbers() -> TickFormatter:
    """Return how an axis shows large numbers as people write them."""
    from bokeh.models import CustomJSTickFormatter

    return CustomJSTickFormatter(code=_NUMBERS)


def short_names(names: Sequence[str], most: int = 26) -> list[str]:
    """Return names that leave room for a plot beside them, each still different from the others."""
    short = [name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}" for name in names]
    return [one if short.count(one) == 1 else name for one, name in zip(short, names, strict=True)]


def from_zero() -> DataRange1d:
    """Return a range of an axis that begins at zero."""
    from bokeh.models import DataRange1d

    return DataRange1d(start=0, range_padding=0.1)


def padded() -> DataRange1d:
    """Return a range of an axis that leaves room for names at its ends."""
    from bokeh.models import DataRange1d

    return DataRange1d(range_padding=0.35)


def height_with_legend(names: int) -> int:
    """Return the height of a plot that has a legend of so many names below it."""
    return 340 + 24 * ((names + 1) // 2)


def style_legend(plot: BokehFigure) -> None:
    """Put the legend below a plot, readable on any page, its entries being switches."""
    for legend in plot.legend:
        legend.background_fill_alpha = 0.0
        legend.border_line_alpha = 0.0
        legend.label_text_color = _GREY
        legend.click_policy = "hide"
        legend.update(margin=0, padding=4)
        legend.ncols = 2  # narrow screens have room for two names
        plot.add_layout(legend, "below")
