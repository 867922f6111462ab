"""Plots that suit light and dark pages alike, and that can be hovered over and zoomed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bokeh.models import DataRange1d
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


def from_zero() -> DataRange1d:
    """Return a range of an axis that begins at zero."""
    from bokeh.models import DataRange1d

    return DataRange1d(start=0, range_padding=0.1)


def style_legend(plot: BokehFigure) -> None:
    """Put the legend below a plot, readable on any page, its entries being switches."""
    for legend in plot.legend:
        legend.background_fill_alpha = 0.0
        legend.border_line_alpha = 0.0
        legend.label_text_color = _GREY
        legend.click_policy = "hide"
        legend.ncols = 2  # narrow screens have room for two names
        plot.add_layout(legend, "below")
