"""A study as a report: what was published beside what was found, and pictures to look at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gnomon.analysis.study.result import Bars, Curves, Findings, Picture, Scene, Surface, Verdict
from gnomon.views.html.charts import figure as chart_of
from gnomon.views.report.charts import draw_bars, draw_curves
from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section
from gnomon.views.study import value_text
from gnomon.views.timelines import drawing

if TYPE_CHECKING:
    from bokeh.model import Model

_CUES = {Verdict.REPRODUCED: "down", Verdict.NOT_REPRODUCED: "warn", Verdict.SHAPE_ONLY: "same"}


def study_page(findings: Findings, ids: Sequence[str] | None = None) -> Page:
    """Return the report of a study, or of some of its experiments."""
    study = findings.study
    sections = []
    for experiment in study.choose(ids):
        parts: list[DataTable | Figure] = [_table(findings, experiment.id)]
        parts += [_figure(each) for each in experiment.pictures(findings.seed)]
        sections.append(Section(f"{experiment.id}: {experiment.title}", (), tuple(parts)))
    numbers = ", ".join(f"{findings.count(verdict)} {verdict}" for verdict in Verdict)
    return Page(
        title=study.title,
        subtitle=f"after {study.document} · seed {findings.seed} · "
        f"{len(findings.rows)} quantities: {numbers}",
        sections=tuple(sections),
        simulated=study.simulated,
    )


def _figure(picture: Picture) -> Figure:
    caption = f"{picture.title}."
    match picture:
        case Surface():
            return Figure(caption, partial(_heat, picture))
        case Curves():
            return Figure(caption, partial(draw_curves, picture))
        case Bars():
            return Figure(caption, partial(draw_bars, picture))
        case Scene():
            return Figure(caption, svg=chart_of(drawing(picture.timeline)))


def _table(findings: Findings, experiment: str) -> DataTable:
    rows = [
        (
            Cell(row.quantity),
            Cell(value_text(row.published)),
            Cell(value_text(row.ours)),
            Cell(row.tolerance),
            Cell(str(row.verdict), cue=_CUES[row.verdict]),
            Cell(row.note),
        )
        for row in findings.rows
        if row.id == experiment or row.id.startswith(f"{experiment}.")
    ]
    headings = ("quantity", "published", "ours", "tolerance", "verdict", "note")
    return DataTable.of(headings, rows, right=frozenset({1, 2}))


def _heat(surface: Surface) -> Model:
    """Return a picture with a number in each cell, where there is room for it."""
    from gnomon.views.report.heat import heat_map

    texts = [[f"{cell:,.0f}" for cell in row] for row in surface.cells]
    return heat_map(
        (surface.x_label, surface.columns), (surface.y_label, surface.rows), surface.cells, texts
    )
