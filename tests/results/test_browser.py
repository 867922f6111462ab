"""The page of every kind of result in a browser: no error, axe, small, quick, without script."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.views.html.browsing import (
    SCHEMES,
    WIDTHS,
    browser,  # noqa: F401 - a fixture
    is_no_wider_than_the_screen,
    opened_page,
    violations,
)

from gnomon.result import KINDS
from gnomon.views import show

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=alert(1)> 'name' \"of\" " + "something-quite-long-" * 9


@pytest.fixture(scope="module", params=KINDS)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a small result of a kind; that of hostile names stands beside it."""
    cases = import_module(f"tests.results.cases.{request.param.replace('-', '_')}")
    path = tmp_path_factory.mktemp("page") / "page.html"
    show.write_page(path, cases.small(), title=f"gnomon {request.param}")
    show.write_page(path.with_name("hostile.html"), cases.hostile(HOSTILE))
    return path


def test_the_browser_and_axe_find_nothing(browser: Browser, page: Path) -> None:  # noqa: F811
    for width in WIDTHS:
        for scheme in SCHEMES:
            with opened_page(browser, page, width, scheme) as opened:
                assert is_no_wider_than_the_screen(opened)
                assert not violations(opened), (width, scheme)


def test_hostile_names_do_nothing_and_need_no_wider_screen(
    browser: Browser,  # noqa: F811
    page: Path,
) -> None:
    for width in WIDTHS:
        with opened_page(browser, page.with_name("hostile.html"), width) as opened:
            assert is_no_wider_than_the_screen(opened)
            assert not opened.locator("img").count()


def test_it_is_small_and_complete_within_half_a_second(
    browser: Browser,  # noqa: F811
    page: Path,
) -> None:
    assert page.stat().st_size < 200_000
    timing = "performance.getEntriesByType('navigation')[0]"
    took = []
    for _ in range(20):  # the machine may be busy
        with opened_page(browser, page) as opened:
            took.append(opened.evaluate(f"{timing}.loadEventEnd - {timing}.startTime"))
        if took[-1] < 500:
            break
    assert min(took) < 500


def test_headline_findings_and_tables_are_read_without_script(
    browser: Browser,  # noqa: F811
    page: Path,
) -> None:
    with opened_page(browser, page, java_script_enabled=False) as opened:
        assert opened.locator("button, input").count() == 0, "nothing that would do nothing"
        assert opened.locator("h1").inner_text().strip()
        with_script = opened.locator("tbody tr").count()
    with opened_page(browser, page) as opened:
        assert opened.locator("tbody tr").count() == with_script
