"""A grid of cells, darker where numbers are larger, with the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bokeh.model import Model

_MOST_WITH_TEXT = 12  # columns
_MOST_WITH_NAMES = 20

Axis = tuple[str, Sequence[str]]
"""What an axis is about, and the names along it."""


def heat_map(
    columns: Axis,
    rows: Axis,
    cells: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
) -> Model:
    """Return the picture; rows go upwards, and a cell without a number is left out."""
    from bokeh.models import ColumnDataSource, LinearColorMapper
    from bokeh.palettes import Blues256

    from gnomon.views.report.plots import figure

    there = [
        (x, y, cell, text)
        for y, row, words in zip(rows[1], cells, texts, strict=True)
        for x, cell, text in zip(columns[1], row, words, strict=True)
        if cell is not None
    ]
    top = max((cell for _, _, cell, _ in there), default=0) or 1
    plot = figure(
        columns[0],
        rows[0],
        height=max(160, 34 * len(rows[1]) + 90),
        x_range=list(columns[1]),
        y_range=list(rows[1]),
        tooltips=[(columns[0], "@x"), (rows[0], "@y"), ("number", "@text")],
    )
    source = ColumnDataSource(
        {
            "x": [x for x, _, _, _ in there],
            "y": [y for _, y, _, _ in there],
            "root": [(cell / top) ** 0.5 for _, _, cell, _ in there],
            "text": [text for _, _, _, text in there],
            "ink": ["#ffffff" if cell > 0.3 * top else "#333333" for _, _, cell, _ in there],
        }
    )
    mapper = LinearColorMapper(palette=list(reversed(Blues256)), low=0, high=1.15)
    plot.rect(
        "x",
        "y",
        1,
        1,
        source=source,
        fill_color={"field": "root", "transform": mapper},
        line_color={"field": "root", "transform": mapper},
    )
    if len(columns[1]) <= _MOST_WITH_TEXT:
        plot.text(
            "x",
            "y",
            text="text",
            source=source,
            text_color="ink",
            text_align="center",
            text_baseline="middle",
            text_font_size="11px",
        )
    plot.grid.grid_line_color = None
    if len(columns[1]) > _MOST_WITH_NAMES:
        plot.xaxis.major_label_text_font_size = "0pt"
    return plot
