"""One campaign at a time on a host: programs that run beside each other disturb each other."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gnomon.measure.cache import cache_folder


@contextmanager
def exclusive(what: str, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold this host for a campaign; while another one holds it, say so and wait.

    A campaign inside a campaign, as in a study or where the measured program is gnomon, does
    not wait for the one around it. Where no lock can be had, nothing is exclusive.
    """
    descriptor = _open()
    if descriptor is None:
        yield
        return
    try:
        if not _taken(descriptor):
            holder, described = _holder(descriptor)
            if holder in _ancestors():
                yield
                return
            on_wait(f"waiting until another campaign has ended: {described}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        began = time.strftime("%H:%M")
        os.ftruncate(descriptor, 0)
        text = f"{os.getpid()} {what}, process {os.getpid()}, since {began}"
        os.pwrite(descriptor, text.encode(errors="backslashreplace"), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def lock_path() -> Path:
    """Return the file that is locked; a home that several hosts share has one for each."""
    return cache_folder() / f"campaign-{os.uname().nodename}.lock"


def _open() -> int | None:
    path = lock_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


def _taken(descriptor: int) -> bool:
    """Take the lock if it is free; some network file systems have none, which counts as free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _holder(descriptor: int) -> tuple[int, str]:
    text = os.pread(descriptor, 4096, 0).decode(errors="replace")
    pid, _, what = text.partition(" ")
    return (int(pid), what) if pid.isdecimal() and what else (0, "one that has just begun")


def _ancestors() -> set[int]:
    """Return this process and those that it descends from."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            break
        pid = int(stat.rpartition(")")[2].split()[1])
    return found
