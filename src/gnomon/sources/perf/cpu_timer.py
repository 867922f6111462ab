"""Samples of running threads where perf is refused: a timer is preloaded into the program."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from gnomon._native import TIMER_BYTES
from gnomon.launch import Command
from gnomon.sources import preloaded

_SOURCE = Path(__file__).with_suffix(".c")
_VARIABLE = "GNOMON_CPU_TIMER"
_INTERPRETER = 3  # PT_INTERP


class CpuTimer:
    """Memory that programs write their samples to; it has no file to be left."""

    def __init__(self) -> None:
        self._library = preloaded.library(_SOURCE, "cpu-timer", "stacks")
        self.descriptor = os.memfd_create("gnomon-cpu-timer")
        os.truncate(self.descriptor, TIMER_BYTES)

    def environment(self, given: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment in which a program and its children write samples here."""
        path = f"/proc/{os.getpid()}/fd/{self.descriptor}"
        return preloaded.environment(self._library, given) | {_VARIABLE: path}

    def close(self) -> None:
        """Give the memory back; programs that have it mapped keep it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def why_not(command: Command) -> str:
    """Return why a program cannot be given a timer, empty when nothing speaks against it."""
    if platform.machine() != "x86_64":
        return f"there are none on {platform.machine()}"
    program = command.argv[0]
    if "/" in program:
        path: Path | None = Path(command.directory or ".") / program
    else:
        found = shutil.which(program)
        path = Path(found) if found else None
    if path is None:
        return ""
    try:
        mode = path.stat().st_mode
        with path.open("rb") as stream:
            head = stream.read(4096)
    except OSError:
        return "its file cannot be read"
    if mode & (stat.S_ISUID | stat.S_ISGID):
        return "the program is setuid, so nothing can be preloaded into it"
    if head.startswith(b"\x7fELF") and not _is_dynamic(head):
        return "the program is linked statically, so nothing can be preloaded into it"
    return ""


def _is_dynamic(head: bytes) -> bool:
    """Whether an ELF file names a loader, by its program headers."""
    start = int.from_bytes(head[32:40], "little")
    size = int.from_bytes(head[54:56], "little")
    count = int.from_bytes(head[56:58], "little")
    kinds = (
        int.from_bytes(head[start + i * size : start + i * size + 4], "little")
        for i in range(count)
    )
    return _INTERPRETER in kinds
