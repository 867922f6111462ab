"""Waiting for what a test means, rather than for a time that a quiet machine needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 120  # seconds; it is not waited for longer than it takes


def wait_for(look: Callable[[], T]) -> T:
    """Look again and again until there is something to see, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
    return found


def all_asleep(pid: int, threads: int = 1) -> bool:
    """Whether a process has so many threads, and each waits in a sleep, a pause or a lock."""
    try:
        waits = [(task / "wchan").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return False
    asleep = [any(word in wait for word in ("nanosleep", "pause", "futex")) for wait in waits]
    return len(asleep) >= threads and all(asleep)
