"""The site builds without a warning, resolves its links, and fetches nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import gnomon

from .pages import PAGES, REPOSITORY, name_of

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The site, built as strictly as can be."""
    for module in ("mkdocs", "material"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*words, "--site-dir", str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    yield folder


def test_the_site_builds_without_a_warning(site: Path) -> None:
    for name in ("index.html", "tutorial.html", "reference/count.html", "architecture.html"):
        assert (site / name).is_file()


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(
            r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?([^\"' >]+)", text
        )
        assert not [place for place in fetched if re.match(r"(https?:)?//", place)], page.name


def test_every_page_of_the_documentation_is_on_the_site(site: Path) -> None:
    docs = REPOSITORY / "docs"
    for page in docs.rglob("*.md"):
        assert (site / page.relative_to(docs)).with_suffix(".html").is_file()


@pytest.mark.parametrize("page", [p for p in PAGES if p.parent == REPOSITORY], ids=name_of)
def test_links_between_files_of_the_repository_resolve(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if not link.startswith(("http", "#")):
            assert (page.parent / link.partition("#")[0]).exists(), link


def test_the_changelog_knows_this_version() -> None:
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{re.escape(gnomon.__version__)}\b", changes)
