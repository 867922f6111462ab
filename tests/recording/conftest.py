"""What all tests of recordings share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gnomon.recording import files


@pytest.fixture(scope="session", autouse=True)
def without_waiting_for_the_disk() -> Iterator[None]:
    """Leave out the waiting that only a power cut could prove useful; child processes keep it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "sync", lambda _: None)
        yield
