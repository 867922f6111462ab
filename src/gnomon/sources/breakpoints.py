"""Four exact counters of accesses to a few bytes: the processor's breakpoint registers."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from gnomon import _native
from gnomon.errors import GnomonError, NotSupportedError, UsageError
from gnomon.events.kernel import BREAKPOINT_TYPE

MOST = 4


class Access(IntEnum):
    """What a breakpoint counts; x86 has no register for reads alone."""

    WRITE = 2
    READ_WRITE = 3


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Bytes to be watched: 1, 2, 4 or 8 of them at an address that their number divides."""

    name: str
    address: int
    length: int = 8
    access: Access = Access.READ_WRITE

    def __post_init__(self) -> None:
        if self.length not in (1, 2, 4, 8):
            raise UsageError(
                f"{self.name}: a breakpoint is 1, 2, 4 or 8 bytes long, not {self.length}."
            )
        if self.address % self.length:
            raise UsageError(
                f"{self.name}: {self.address:#x} is not a multiple of {self.length}, the length of "
                "its breakpoint."
            )


class BreakpointCounters:
    """Counters of a process, its threads and those that it will start.

    Accesses of the kernel are not counted. A pid of 0 is the thread that asks.
    """

    def __init__(self, pid: int, breakpoints: tuple[Breakpoint, ...]) -> None:
        if len(breakpoints) > MOST:
            raise UsageError(
                f"{len(breakpoints)} static counters are too many: a processor has {MOST} "
                "breakpoint registers."
            )
        self.breakpoints = breakpoints
        self._groups: list[list[_native.Group]] = []
        try:
            for each in breakpoints:
                opened: list[_native.Group] = []
                self._groups.append(opened)
                opened.extend(_opened(thread, each) for thread in _threads(pid))
        except GnomonError:
            self.close()
            raise
        for group in self._all():
            group.enable()

    def read(self) -> tuple[int, ...]:
        """Return how often each was accessed so far."""
        return tuple(sum(int(group.read()[2]) for group in each) for each in self._groups)

    def close(self) -> None:
        """Give the registers back."""
        for group in self._all():
            group.close()

    def _all(self) -> list[_native.Group]:
        return [group for each in self._groups for group in each]


def _threads(pid: int) -> list[int]:
    if pid == 0:
        return [0]
    try:
        return sorted(int(each.name) for each in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return [pid]  # it has ended: opening says so


def _opened(pid: int, wanted: Breakpoint) -> _native.Group:
    spec = _native.EventSpec()
    spec.type = BREAKPOINT_TYPE
    spec.config1 = wanted.address
    spec.config2 = wanted.length
    spec.bp_type = wanted.access
    spec.exclude_kernel = True
    spec.exclude_hv = True
    spec.inherit = True
    try:
        return _native.Group([spec], pid, -1)
    except OSError as error:
        why = (
            "all registers are in use, as by a debugger"
            if error.errno == errno.ENOSPC
            else os.strerror(error.errno or 0)
        )
        raise NotSupportedError(
            f"{wanted.name}: no breakpoint at {wanted.address:#x}: {why}."
        ) from None
