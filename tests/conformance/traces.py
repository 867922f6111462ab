"""What a process holds at a moment: descriptors, children, threads and memory."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_PR_SET_THP_DISABLE = 41


class Traces(NamedTuple):
    """What a counting could leave behind in this process."""

    descriptors: frozenset[tuple[int, str]]
    children: frozenset[int]
    threads: frozenset[int]

    def added(self) -> tuple[str, ...]:
        """Return what this process holds now and did not hold then, in words."""
        now = traces()
        if now != self:
            gc.collect()  # what only waits to be collected was not left behind
            now = traces()
        return (
            *(f"descriptor {fd} of {what}" for fd, what in now.descriptors - self.descriptors),
            *(f"child {pid}" for pid in now.children - self.children),
            *(f"thread {tid}" for tid in now.threads - self.threads),
        )


def traces() -> Traces:
    """Look at what this process holds now."""
    threads = frozenset(int(path.name) for path in Path("/proc/self/task").iterdir())
    return Traces(frozenset(_descriptors()), frozenset(_children(threads)), threads)


def resident_bytes() -> int:
    """Return how much memory of this process is in use."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


@contextmanager
def small_pages() -> Iterator[None]:
    """Keep the kernel from joining pages into huge ones, so that memory in use is what was used.

    It does so in the background and fills the gaps between used pages: the memory in use
    of a process that asks for none may grow by 2 MiB at any moment.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_THP_DISABLE, 0, 0, 0, 0)


def _descriptors() -> Iterator[tuple[int, str]]:
    # Listed before any is looked at: the listing itself takes a descriptor for a while.
    for path in list(Path("/proc/self/fd").iterdir()):
        try:
            yield int(path.name), str(path.readlink())
        except FileNotFoundError:
            continue


def _children(threads: Iterable[int]) -> Iterator[int]:
    """Yield the children of this process, those that ended and were not waited for as well."""
    try:
        for thread in threads:
            yield from map(int, Path(f"/proc/self/task/{thread}/children").read_text().split())
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        yield from _children_of_all_processes()


def _children_of_all_processes() -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # The name before the last parenthesis may hold anything; state and parent follow it.
        if int(text.rpartition(")")[2].split()[1]) == os.getpid():
            yield int(path.parent.name)
