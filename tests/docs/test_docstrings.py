"""Every public function has an example in its docstring, which runs and gives what it says."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gnomon as gn
from gnomon.events.event import Request

WORDS = {
    "lab": ("bench", "studies", "study"),
    "messages": ("bench", "fit", "interfere", "predict", "programs", "simulate"),
    "sim": ("compile", "list", "show"),
}
"""The functions of commands of several words; `dirt` renders a picture, which its page shows."""


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in gn.__all__:
        found = getattr(gn, name)
        if inspect.isfunction(found):
            yield name, found
    for package, names in WORDS.items():
        yield from ((f"{package}.{name}", getattr(getattr(gn, package), name)) for name in names)


FUNCTIONS = dict(_functions())


@pytest.fixture(scope="module")
def _countable() -> None:
    host = gn.source("host")
    [verdict] = host.availability([Request(host.resolve("task-clock")[0])])
    if not verdict.countable:
        pytest.skip(f"task-clock: {verdict.reason}")


@pytest.mark.usefixtures("_countable")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_function_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    test = doctest.DocTestParser().get_doctest(text, {"gn": gn, "Path": Path}, name, None, 0)
    assert test.examples, f"{name} has no example"
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)
