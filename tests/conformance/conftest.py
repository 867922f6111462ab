"""The cases as fixtures, and a guard that no test leaves anything behind."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from .case import Bench, SourceCase
from .cases import CASES
from .traces import traces


@pytest.fixture(params=[case for case in CASES if not case.unavailable], ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> SourceCase:
    """One of the registered sources that this machine has."""
    found = request.param
    assert isinstance(found, SourceCase)
    return found


@pytest.fixture
def bench(case: SourceCase) -> Iterator[Bench]:
    """The source of the case, and nothing left behind when the test is over."""
    import_module("numpy")  # starts threads of its own, once
    made = Bench(case, case.make())
    before = traces()
    yield made
    assert not before.added()
