"""Fixtures of the guest lane.

The lane needs ``qemu-system-aarch64``, ``aarch64-linux-gnu-g++`` and, the first time, a network.
Where one is missing its tests are skipped, or fail if ``GNOMON_REQUIRE_GUEST`` is set.
"""

import os
import threading
from collections.abc import Generator
from concurrent.futures import Future
from pathlib import Path

import pytest

from . import GuestUnavailable
from .lane import Lane, PytestOutcome, prepare

_HERE = Path(__file__).resolve().parent
_UNAVAILABLE = "guest lane: "
# Cycles of opening and closing, of which the suite does ten thousand by default.
_CYCLES = "100"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The hook sees the tests of all folders.
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.guest)
    items.sort(key=_runs_beside_others)


def _runs_beside_others(item: pytest.Item) -> bool:
    return "conformance" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give all tests that have no guest the same place, so that the summary is one line."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple) and _UNAVAILABLE in report.longrepr[2]:
        report.longrepr = (__file__, 1, report.longrepr[2])
    return report


@pytest.fixture(scope="session")
def bare_guest() -> Lane:
    """A guest with the project's Python files and without its extension module."""
    try:
        return prepare()
    except GuestUnavailable as missing:
        if os.environ.get("GNOMON_REQUIRE_GUEST"):
            raise
        pytest.skip(f"{_UNAVAILABLE}{missing}")


@pytest.fixture(scope="session")
def guest(bare_guest: Lane, request: pytest.FixtureRequest) -> Lane:
    """A guest with the project as it is, its extension compiled for the guest."""
    lane = bare_guest.with_extension()
    if any(_runs_beside_others(item) for item in request.session.items):
        request.getfixturevalue("conformance")
    return lane


@pytest.fixture(scope="session")
def conformance(bare_guest: Lane) -> Future[PytestOutcome]:
    """The conformance suite, which runs in a guest of its own while other tests run in theirs."""
    lane = bare_guest.with_extension()
    future: Future[PytestOutcome] = Future()

    def run() -> None:
        environment = {"GNOMON_CONFORMANCE_CYCLES": _CYCLES}
        try:
            outcome = lane.run_pytest("tests/conformance", environment=environment, timeout=1200)
            future.set_result(outcome)
        except BaseException as error:
            future.set_exception(error)

    # A run that ends early does not wait for it: the guest ends with this process.
    threading.Thread(target=run, name="conformance", daemon=True).start()
    return future
