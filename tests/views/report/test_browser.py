"""Reports in a real browser: no errors, tables that sort and filter, plots that react."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gnomon.analysis.survey.costs import Share
from gnomon.analysis.survey.indicators import Indicator
from gnomon.analysis.survey.result import SurveyResult
from gnomon.analysis.survey.selection import Fold, Judged
from gnomon.recording.model import Provenance, RunInfo, Status
from gnomon.views.report.assemble import survey_page
from gnomon.views.report.page import write_page

if TYPE_CHECKING:
    from playwright.sync_api import Page as BrowserPage

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def _judged(number: int) -> Judged:
    values = {(run, number): 1_000.0 * (number + 1) + run for run in range(4)}
    indicator = Indicator(
        f"event-{number}", "what it counts", "", "thread", "perf", False, (), Status.COUNTED, values
    )
    share = Share(number / 100, "10 ns each") if number % 2 else None
    return Judged(indicator, None if number < 35 else Fold.ZERO, "", share)


def _result() -> SurveyResult:
    runs = tuple(RunInfo(i, 0, i * 10**9, i * 10**9 + 10**8 + i * 10**6, 0) for i in range(12))
    origin = Provenance("perf", command=("./program",), host="box", plan=("perf event",), repeat=12)
    return SurveyResult(origin, tuple(map(_judged, range(40))), runs, 12, ("a warning",))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_page(survey_page(_result()), path)
    return path


@pytest.fixture(params=[1280, 400])
def page(request: pytest.FixtureRequest, report: Path) -> Iterator[BrowserPage]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    errors: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": request.param, "height": 900})
        opened.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on("requestfailed", lambda r: errors.append(r.url))
        outside: list[str] = []
        opened.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:")) else outside.append(r.url),
        )
        opened.goto(report.as_uri())
        opened.wait_for_selector(".bk-Figure")
        yield opened
        browser.close()
    assert not errors
    assert not outside


def _first_column(page: BrowserPage) -> list[str]:
    cells = page.locator("table.data").first.locator("tbody tr:visible td:first-child")
    return [text.strip() for text in cells.all_inner_texts()]


def test_nothing_is_wider_than_the_screen(page: BrowserPage) -> None:
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]


def test_the_table_sorts_by_number_both_ways(page: BrowserPage) -> None:
    heading = page.locator("table.data thead button", has_text="mean").first
    heading.click()
    descending = _first_column(page)
    assert descending[0] == "event-34"
    heading.click()
    assert _first_column(page) == descending[::-1]


def test_the_table_filters_as_one_types(page: BrowserPage) -> None:
    everything = len(_first_column(page))
    page.locator("input[type=search]").first.fill("event-3")
    shown = _first_column(page)
    assert 0 < len(shown) < everything
    assert all("event-3" in name for name in shown)
    page.locator("input[type=search]").first.fill("")
    assert len(_first_column(page)) == everything


def test_a_plot_shows_a_value_under_the_pointer_and_zooms(page: BrowserPage) -> None:
    figure = page.locator(".bk-Figure").first
    figure.scroll_into_view_if_needed()
    box = figure.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    for share in (0.3, 0.35, 0.4):
        page.mouse.move(box["x"] + box["width"] * share, middle)
    tooltip = page.locator(".bk-tooltip-content").first
    tooltip.wait_for()
    assert "event-" in tooltip.inner_text()
    # No view of ours to ask: the plot itself knows what it shows.
    limits = "(() => { const p = Bokeh.documents[0].roots()[0]; return p.x_range.end; })()"
    before = page.evaluate(limits)
    page.mouse.move(box["x"] + box["width"] * 0.45, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, middle + 40, steps=8)
    page.mouse.up()
    page.wait_for_function(f"{limits} < {before}")
