"""A report is one file that says everything and fetches nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bokeh.model import Model

from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section, render_page, write_page


def _page(**options: object) -> Page:
    table = DataTable(("name", "value"), ((Cell("<b>&"), Cell("1", 1.0)),))
    section = Section("Heading", ("A sentence.",), (table,))
    return Page("Title <x>", "where", (section,), (("fact", "text"),), **options)  # type: ignore[arg-type]


def _plot() -> Figure:
    from gnomon.views.report.plots import figure

    def draw() -> Model:
        plot = figure("x", "y")
        plot.line([1, 2], [3, 4])
        return plot

    return Figure("A line.", draw)


def test_what_is_given_is_escaped() -> None:
    text = render_page(_page())
    assert "<b>&" not in text
    assert "&lt;b&gt;&amp;" in text
    assert "<title>Title &lt;x&gt;</title>" in text


def test_nothing_is_fetched_from_elsewhere() -> None:
    text = render_page(Page("t", "s", (Section("h", (), (_plot(),)),)))
    tags = re.findall(r"<(?:script|link|img|iframe)[^>]*>", text)
    assert not [tag for tag in tags if re.search(r"(src|href)\s*=\s*[\"'](?!data:)", tag)]
    assert "Bokeh" in text


def test_a_page_without_plots_carries_no_plotting_code() -> None:
    assert len(render_page(_page())) < 50_000


def test_simulated_is_said_aloud() -> None:
    assert "Simulated:" in render_page(_page(simulated=True))
    assert "Simulated:" not in render_page(_page())


def test_columns_without_content_are_left_out() -> None:
    table = DataTable.of(("a", "b", "c"), [(Cell("1"), Cell(""), Cell("2"))], right=frozenset({2}))
    assert table.headings == ("a", "c")
    assert table.right == {1}


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("before")
    broken = Page("t", "s", (Section("h", (), (Figure("f", draw=object),)),))  # type: ignore[arg-type]
    with pytest.raises((ValueError, TypeError, AttributeError)):
        write_page(broken, path)
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
