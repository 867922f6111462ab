"""A real browser for tests: pages are opened in it, and nothing may go wrong meanwhile."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as BrowserPage

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (400, 1280)
UNFOLD = "for (const each of document.querySelectorAll('details')) each.open = true"
Open = Callable[..., Any]
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for all tests of a module."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def opened_page(
    browser: Browser, path: Path, width: int = 1280, scheme: Scheme = "light", **options: Any
) -> Iterator[BrowserPage]:
    """Open a page; nothing may fail, be logged as an error, or be fetched from elsewhere."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, **options
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda r: None if r.url.startswith(("file:", "data:")) else wrong.append(r.url)
    )
    page.goto(path.as_uri())
    yield page
    context.close()
    assert not wrong


def is_no_wider_than_the_screen(page: BrowserPage) -> bool:
    """Whether nothing has to be moved sideways to be read, with everything unfolded."""
    page.evaluate(UNFOLD)
    wide, screen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return bool(wide <= screen)


def violations(page: BrowserPage) -> list[Any]:
    """Return what axe finds by WCAG 2.2 A and AA, with everything unfolded."""
    if find_spec("axe_playwright_python") is None:
        pytest.skip("axe-playwright-python is not installed")
    page.evaluate(UNFOLD)
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    found = page.evaluate(f"axe.run({{runOnly: {json.dumps(rules)}}})")
    assert found["passes"]
    return [
        (each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]
    ]
