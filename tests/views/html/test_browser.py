"""Pages in a real browser: no errors, no overflow, what the script adds, and accessibility."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gnomon.views.html import fragment, render

from . import gallery
from .browsing import (
    SCHEMES,
    WIDTHS,
    Open,
    browser,  # noqa: F401 - a fixture
    is_no_wider_than_the_screen,
    opened_page,
    violations,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as BrowserPage

pytestmark = pytest.mark.slow
NAMES = ("survey", "compare", "memory")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name in NAMES:
        blocks = getattr(gallery, name)()
        markup = render([(blocks, gallery.WARNINGS, gallery.ORIGIN)], title=f"gnomon {name}")
        (folder / f"{name}.html").write_text(markup)
    inner = fragment(gallery.survey(), gallery.WARNINGS, gallery.ORIGIN)
    outer = '<!DOCTYPE html><html lang="en"><title>notebook</title><body><main>'
    (folder / "fragment.html").write_text(f"{outer}{inner}{inner}</main></body></html>")
    return folder


@pytest.fixture
def opened(browser: Browser, folder: Path) -> Open:  # noqa: F811
    def open_(name: str, *options: Any, **more: Any) -> AbstractContextManager[BrowserPage]:
        return opened_page(browser, folder / f"{name}.html", *options, **more)

    return open_


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [*NAMES, "fragment"])
def test_nothing_is_wider_than_the_screen(opened: Open, name: str, width: int) -> None:
    with opened(name, width) as page:
        assert is_no_wider_than_the_screen(page)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [*NAMES, "fragment"])
def test_axe_finds_nothing(opened: Open, name: str, width: int, scheme: str) -> None:
    with opened(name, width, scheme) as page:
        assert not violations(page)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_complete_without_its_script(opened: Open, name: str) -> None:
    with opened(name) as page:
        with_script = page.locator("main").inner_text()
        drawn = page.locator("main svg[role=img]").count()
        assert page.locator("main button").count()
    with opened(name, java_script_enabled=False) as page:
        text = page.locator("main").inner_text()
        assert page.locator("button, input").count() == 0, "nothing that would do nothing"
        assert page.locator("main svg[role=img]").count() == drawn
        for line in ("h1", ".findings strong", "table"):
            for each in page.locator(line).all_inner_texts():
                assert each in text
    assert "".join(text.split())[:200] == "".join(with_script.replace("copy", "").split())[:200]


def test_a_page_is_complete_within_half_a_second(opened: Open) -> None:
    with opened("survey") as page:
        timing = "performance.getEntriesByType('navigation')[0]"
        assert page.evaluate(f"{timing}.loadEventEnd - {timing}.startTime") < 500


def test_pages_are_themed_by_the_reader_and_by_a_button(opened: Open) -> None:
    shade = "getComputedStyle(document.body).backgroundColor"
    with opened("survey", scheme="light") as page:
        light = page.evaluate(shade)
        page.get_by_role("button", name="light / dark").click()
        dark = page.evaluate(shade)
    assert light != dark
    with opened("survey", scheme="dark") as page:
        assert page.evaluate(shade) == dark


def first_column(page: BrowserPage) -> list[str]:
    rows = page.locator("table.searched").first.locator("tbody tr:visible > :first-child")
    return [each.strip() for each in rows.all_inner_texts()]


def test_a_table_sorts_by_its_numbers_both_ways_and_back(opened: Open) -> None:
    with opened("survey") as page:
        before = first_column(page)
        heading = page.get_by_role("columnheader", name="mean").get_by_role("button")
        heading.click()
        assert first_column(page)[:2] == ["!\u202fcycles", "instructions"]
        assert (
            page.get_by_role("columnheader", name="mean").get_attribute("aria-sort") == "descending"
        )
        heading.click()
        assert first_column(page)[0] == before[8], "the least one first"
        heading.click()
        assert first_column(page) == before


def test_what_has_no_number_comes_last_whichever_way_a_table_is_sorted(opened: Open) -> None:
    with opened("survey") as page:
        heading = page.get_by_role("columnheader", name="missing").get_by_role("button")
        for _ in range(2):
            heading.click()
            assert set(first_column(page)[-3:]) == {"task-clock", "instructions", "!\u202fcycles"}


def test_a_search_filters_rows_and_says_how_many_are_left(opened: Open) -> None:
    with opened("survey") as page:
        page.keyboard.press("/")
        page.keyboard.type("miss branch")
        assert first_column(page) == ["branch-misses"]
        assert page.get_by_role("status").first.inner_text() == "1 of 14 rows"
        page.keyboard.press("Escape")
        assert len(first_column(page)) == 14


def test_a_legend_filters_its_series(opened: Open) -> None:
    with opened("memory") as page:
        figure = page.locator("figure", has=page.get_by_role("button", name="kernel number 1"))
        shown = figure.locator("g[data-series]:not([hidden])")
        assert shown.count() == 6
        figure.get_by_role("button", name="kernel number 3").click()
        assert shown.count() == 5
        figure.get_by_role("button", name="kernel number 2").click(modifiers=["Shift"])
        assert shown.count() == 1
        figure.get_by_role("button", name="kernel number 2").click(modifiers=["Shift"])
        assert shown.count() == 6


def test_a_part_of_a_chart_can_fill_its_width_and_escape_goes_back(opened: Open) -> None:
    with opened("survey") as page:
        figure = page.locator("figure.zoomable").last
        figure.scroll_into_view_if_needed()
        box = figure.locator(".area > svg").bounding_box()
        assert box
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.4, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
        page.mouse.up()
        inner = figure.locator("svg.x")
        assert float((inner.get_attribute("width") or "").removesuffix("%")) == pytest.approx(
            500, rel=0.05
        )
        whole = figure.get_by_role("button", name="all")
        assert whole.is_enabled()
        page.keyboard.press("Escape")
        assert inner.get_attribute("width") == "100%"
        assert whole.is_disabled()
        for _ in range(2):
            figure.get_by_role("button", name="in", exact=True).press("Enter")
        assert inner.get_attribute("width") == "400%"
        figure.get_by_role("button", name="to the left").click()
        assert inner.get_attribute("x") == "-100%"
        figure.get_by_role("button", name="out").click()
        figure.get_by_role("button", name="out").click()
        assert whole.is_disabled()


def test_keys_can_be_turned_off(opened: Open) -> None:
    with opened("survey") as page:
        focus = "document.activeElement.tagName"
        page.get_by_role("button", name="turn off").click()
        page.keyboard.press("/")
        assert page.evaluate(focus) == "BUTTON"
        page.get_by_role("button", name="turn on").click()
        page.keyboard.press("/")
        assert page.evaluate(focus) == "INPUT"


def test_commands_can_be_copied(opened: Open) -> None:
    with opened("survey", permissions=["clipboard-read", "clipboard-write"]) as page:
        button = page.locator(".cmdline button").first
        button.click()
        page.wait_for_function("document.querySelector('.cmdline button').textContent !== 'copy'")
        assert button.inner_text() in ("copied", "Ctrl-C")


def test_what_is_folded_is_printed(opened: Open) -> None:
    with opened("survey") as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        assert len(page.pdf(format="A4")) > 10_000
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details:not([open])").count() > 0
