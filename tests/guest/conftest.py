"""Fixtures of the guest lane.

The lane needs ``qemu-system-aarch64``, ``aarch64-linux-gnu-g++`` and, the first time, a network;
guests of x86_64 need ``qemu-system-x86_64``.
Where one is missing its tests are skipped, or fail if ``GNOMON_REQUIRE_GUEST`` is set.
"""

import os
import threading
from collections.abc import Generator
from concurrent.futures import Future
from pathlib import Path

import pytest

from . import GuestUnavailable
from .architectures import AMD64, ARM64, Architecture
from .lane import Lane, PytestOutcome, prepare

_HERE = Path(__file__).resolve().parent
_UNAVAILABLE = "guest lane: "
# Cycles of opening and closing, of which the suite does ten thousand by default, and rounds of its
# brief program, of which that does twenty thousand.
_LESS = {"GNOMON_CONFORMANCE_CYCLES": "100", "GNOMON_CONFORMANCE_ROUNDS": "3000"}
# What only a guest has are hardware events. Software events and simulated sources are tried in full
# on the host, as they ask nothing of the PMU: of them only the values are looked at, which another
# kernel, and kernels of ours compiled for another processor, must give as well.
_TRIED = "perf-hardware or (test_values and (perf-software or machine-laptop))"


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
    return _prepared(ARM64)


@pytest.fixture(scope="session")
def x86_guest() -> Lane:
    """A guest of x86_64 with what links need: no PMU, but firmware that can tell of memory."""
    return _prepared(AMD64, "numpy", "rich").with_extension()


def _prepared(architecture: Architecture, *libraries: str) -> Lane:
    try:
        return prepare(architecture, libraries or None)
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
        try:
            outcome = lane.run_pytest(
                "tests/conformance",
                arguments=("-k", _TRIED),
                environment=_LESS,
                timeout=3600,
            )
            future.set_result(outcome)
        except BaseException as error:
            future.set_exception(error)

    # A run that ends early does not wait for it: the guest ends with this process.
    threading.Thread(target=run, name="conformance", daemon=True).start()
    return future
