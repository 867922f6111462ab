"""Reports in a real browser: no errors, tables that sort and filter, plots that react."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section, write_page

if TYPE_CHECKING:
    from bokeh.model import Model
    from playwright.sync_api import Page as BrowserPage

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def _events() -> Page:
    """A page with a table of 35 events and bars."""
    names = [f"event-{number}" for number in range(35)]
    rows = [
        (Cell(name), Cell(f"{1000 * place:,}", 1000.0 * place)) for place, name in enumerate(names)
    ]
    table = DataTable.of(("event", "mean"), rows, "All events.", frozenset({1}))
    return Page("Events", "", (Section("All", (), (Figure("Bars.", lambda: _bars(names)), table)),))


def _bars(names: list[str]) -> Model:
    from gnomon.views.report.plots import figure

    chosen = names[:15]
    plot = figure("share", "", height=450, tooltips=[("event", "@y")], y_range=chosen)
    plot.hbar(y=chosen, right=[float(place + 1) for place in range(15)], height=0.7)
    return plot


PAGES: dict[str, Callable[[], Page]] = {
    "events": _events,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    for name, page in PAGES.items():
        write_page(page(), folder / f"{name}.html")
    return folder


@pytest.fixture(params=[1280, 400])
def page(request: pytest.FixtureRequest, reports: Path) -> Iterator[BrowserPage]:
    """The report of events, at the width of a desktop and of a telephone."""
    with _opened(reports / "events.html", request.param) as opened:
        yield opened


@contextmanager
def _opened(report: Path, width: int) -> Iterator[BrowserPage]:
    """Open a report; nothing may fail, be logged as an error, or be fetched from elsewhere."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    errors: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": width, "height": 900})
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


def test_paper_is_light_and_nothing_is_cut_off(reports: Path) -> None:
    with _opened(reports / "events.html", 718) as page:
        page.emulate_media(media="print", color_scheme="dark")
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(255, 255, 255)"
        wide = page.evaluate(
            "[...document.querySelectorAll('table')]"
            ".map((t) => t.getBoundingClientRect().right).every((r) => r <= innerWidth + 1)"
        )
        assert wide
