"""Studies as pages: rows, curves, bars and timelines of messages."""

from __future__ import annotations

import pytest

from gnomon.analysis.study.result import Bar, Bars, Curve, Curves
from gnomon.views.report.charts import draw_bars, draw_curves
from gnomon.views.report.page import Figure, render_page
from gnomon.views.report.study import study_page
from gnomon_studies import carry_out, load_study


@pytest.mark.parametrize(
    ("experiment", "drawings", "plots"),
    [("E1", 2, 0), ("E2", 2, 1), ("E3", 0, 1), ("E6", 0, 5), ("E7", 0, 2)],
)
def test_experiments_come_with_their_pictures(experiment: str, drawings: int, plots: int) -> None:
    findings = carry_out(load_study("parker"), [experiment])
    page = study_page(findings, [experiment])
    [section] = page.sections
    figures = [part for part in section.parts if isinstance(part, Figure)]
    assert sum(bool(each.svg) for each in figures) == drawings
    assert sum(each.draw is not None for each in figures) == plots
    text = render_page(page)
    assert "Simulated" in text
    drawn = ["message, from its first byte" in (each.svg or "") for each in figures]
    assert sum(drawn) == drawings


def test_a_curve_has_its_published_points_as_hollow_marks() -> None:
    line = Curve("send", ((0.0, 1.0), (1.0, 1.5)), ((1.0, 1.4),))
    plot = draw_curves(Curves("Slowdown", "µs", "slowdown", (line,)))
    kinds = [type(each.glyph).__name__ for each in plot.renderers]  # type: ignore[attr-defined]
    assert kinds == ["Line", "Scatter", "Scatter"]
    marks = plot.renderers[-1]  # type: ignore[attr-defined]
    assert marks.data_source.data == {"x": [1.0], "y": [1.4]}
    assert marks.glyph.fill_color is None


def test_bars_begin_where_nothing_is_gained() -> None:
    bars = Bars("Gain", "speedup", (Bar("a", 1.5, 1.4), Bar("b", 0.9)), even=1.0)
    plot = draw_bars(bars)
    first = plot.renderers[0]  # type: ignore[attr-defined]
    assert first.glyph.left == 1.0
    assert plot.x_range.start < 0.9  # type: ignore[attr-defined]
    assert plot.x_range.end > 1.5  # type: ignore[attr-defined]
