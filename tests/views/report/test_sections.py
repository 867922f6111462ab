"""What stands in reports beside results, and what results import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gnomon.recording.contents import Provenance
from gnomon.views.report.assemble import page_of
from gnomon.views.report.page import Section, render_page
from gnomon.views.report.plots import short_names


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


def test_results_need_neither_views_nor_plots_until_they_are_shown() -> None:
    code = (
        "import sys, gnomon.analysis.survey, gnomon.analysis.compare, gnomon.analysis.phases;"
        "sys.exit(any(m.startswith(('gnomon.views', 'bokeh', 'jinja2')) for m in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
