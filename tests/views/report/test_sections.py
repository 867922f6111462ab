"""What reports say of every kind of result, and what notebooks show of it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from gnomon.recording.contents import Provenance
from gnomon.views.report.assemble import (
    page_of,
    phases_page,
)
from gnomon.views.report.page import DataTable, Page, Section, render_page
from gnomon.views.report.plots import short_names

from .results import phases_result

PAGES: dict[str, Callable[[], Page]] = {
    "phases": lambda: phases_page(phases_result()),
}


def _tables(page: Page) -> list[DataTable]:
    return [
        part
        for section in page.sections
        for part in (*section.parts, *section.folded)
        if isinstance(part, DataTable)
    ]


@pytest.mark.parametrize("kind", PAGES)
def test_every_kind_of_result_becomes_one_file(kind: str) -> None:
    text = render_page(PAGES[kind]())
    assert text.count("<html") == 1
    assert 'class="bk-' in text or "data-root-id" in text
    tags = re.findall(r"<(?:script|link|img|iframe)[^>]*>", text)
    assert not [tag for tag in tags if re.search(r"(src|href)\s*=\s*[\"'](?!data:)", tag)]


def test_phases_are_drawn_with_their_table() -> None:
    [table, *_] = _tables(PAGES["phases"]())
    assert [row[0].text for row in table.rows] == ["1", "2"]


def test_a_simulated_machine_is_drawn() -> None:
    origin = Provenance("machine", simulated=True, machine="ring-4")
    page = page_of("title", (Section("s"),), (origin,))
    assert [section.title for section in page.sections] == ["s", "The simulated machine"]
    assert "<svg" in render_page(page)


@pytest.mark.parametrize("machine", ["", "/no/such/machine.toml"])
def test_a_machine_that_is_not_there_is_not_drawn(machine: str) -> None:
    origin = Provenance("machine", simulated=True, machine=machine)
    assert len(page_of("title", (Section("s"),), (origin,)).sections) == 1


def test_long_names_are_shortened_and_stay_different() -> None:
    names = ["short", "x" * 40 + "one", "x" * 40 + "two", "a" * 20 + "b" * 20 + "c" * 10]
    short = short_names(names)
    assert short[0] == "short"
    assert len(set(short)) == 4
    assert all(len(name) <= 26 for name in short)
    twins = ["p" * 30 + "q" * i + "r" * 10 for i in (1, 2)]
    assert short_names(twins) == twins


@pytest.mark.parametrize("result", [phases_result()])
def test_notebooks_show_a_small_table_without_scripts(result: object) -> None:
    html = result._repr_html_()  # type: ignore[attr-defined]
    assert "<table>" in html
    assert "<script" not in html
    assert len(html) < 40_000


def test_what_a_notebook_shows_is_escaped() -> None:
    from dataclasses import replace

    odd = replace(phases_result(), provenance=Provenance("perf", command=("<b>",)))
    html = odd._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_results_need_neither_views_nor_plots_until_they_are_shown() -> None:
    code = (
        "import sys, gnomon.analysis.survey, gnomon.analysis.compare, gnomon.analysis.phases;"
        "sys.exit(any(m.startswith(('gnomon.views', 'bokeh', 'jinja2')) for m in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
