"""Sessions in a process of their own, which can be killed, and who is left of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LONG_SESSION = """
import os
from gnomon.errors import GnomonError
from gnomon.messaging.sessions import Phase, What, run_session
cpu = min(os.sched_getaffinity(0))
print("ready", flush=True)
try:
    run_session({mechanism!r}, cpu, max(os.sched_getaffinity(0)),
                [Phase(What.ROUND_TRIP, 0, 300_000_000_000)], awake=True)
except GnomonError as error:
    print(error)
"""


@contextmanager
def long_session(mechanism: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, int]]]:
    """Start a session that would last; yield its process and those of its team by name."""
    code = LONG_SESSION.format(mechanism=mechanism)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            eventually(lambda: {"notify-left", "notify-right"} <= set(children(process.pid)))
            yield process, children(process.pid)
        finally:
            process.kill()


def children(pid: int) -> dict[str, int]:
    """Return the children of a process by their names."""
    found = {}
    for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            found[Path(f"/proc/{each}/comm").read_text().strip()] = int(each)
        except OSError:
            continue
    return found


def alive(pid: int) -> bool:
    """Return whether a process runs still; one that nobody has asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until something holds, or fail."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)
