"""Every dependency has its reason in docs/dependencies.md."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from packaging.requirements import Requirement

from .pages import DOCS, REPOSITORY


def _requirements() -> Iterator[str]:
    document = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    yield from document["build-system"]["requires"]
    yield from document["project"]["dependencies"]
    for some in document["project"]["optional-dependencies"].values():
        yield from some


def _named() -> set[str]:
    """Return the packages in the tables of the page, from the columns before the reason."""
    page = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\|(.*)\|[^|]*\|$", page, re.MULTILINE)
    return {word for cell in cells for word in re.split(r"[\s,|]+", cell) if word}


def test_every_python_package_is_named() -> None:
    named = _named()
    for text in _requirements():
        assert Requirement(text).name in named, text


def test_every_debian_package_is_named() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    [packages] = re.findall(r"^PACKAGES := (.*)$", makefile, re.MULTILINE)
    assert set(packages.split()) <= _named()


def test_every_extra_is_named() -> None:
    document = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    page = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    for extra in set(document["project"]["optional-dependencies"]) - {"test", "docs"}:
        assert f"`gnomon[{extra}]`" in page
