"""Fixtures of the guest lane.

The lane needs ``qemu-system-aarch64``, ``aarch64-linux-gnu-g++`` and, the first time, a network.
Where one is missing its tests are skipped, or fail if ``GNOMON_REQUIRE_GUEST`` is set.
"""

import os
from pathlib import Path

import pytest

from . import GuestUnavailable
from .lane import Lane, prepare

_HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The hook sees the tests of all folders.
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.guest)


@pytest.fixture(scope="session")
def bare_guest() -> Lane:
    """A guest with the project's Python files and without its extension module."""
    try:
        return prepare()
    except GuestUnavailable as missing:
        if os.environ.get("GNOMON_REQUIRE_GUEST"):
            raise
        pytest.skip(f"guest lane: {missing}")


@pytest.fixture(scope="session")
def guest(bare_guest: Lane) -> Lane:
    """A guest with the project as it is, its extension compiled for the guest."""
    return bare_guest.with_extension()
