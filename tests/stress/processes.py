"""Processes that something has started, and whether they still run."""

from __future__ import annotations

import os
import time
from pathlib import Path


def children(parent: int) -> set[int]:
    """The processes that a process has started and that still run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.add(int(path.parent.name))
    return found


def running(pids: set[int]) -> set[int]:
    """Those of these processes that are neither gone nor mere zombies."""
    alive = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            alive.add(pid)
    return alive


def cpu_seconds(pid: int) -> float:
    """The time that a process has spent on CPUs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def gone(pids: set[int], seconds: float = 60.0) -> bool:
    """Whether all of these processes end within a time."""
    limit = time.monotonic() + seconds
    while running(pids) and time.monotonic() < limit:
        time.sleep(0.02)
    return not running(pids)
