"""What can be told of a program before valgrind is asked to run it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gnomon.errors import CommandError
from gnomon.launch import cannot_start, check_startable
from gnomon.sources.base import Command

_ELF = b"\x7fELF"
_MACHINE = slice(18, 20)  # where an ELF header names the processor
_X86, _X86_64 = b"\x03\x00", b"\x3e\x00"


def check_runnable(command: Command) -> None:
    """Raise the reason why valgrind could not run a command, as far as it can be foreseen."""
    check_startable(command)
    try:
        path = _find(command)
        head = _head(path)
        privileged = path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
    except (OSError, ValueError):
        return  # a file that may not be looked at: valgrind has the last word
    if privileged:
        raise _refusal(command, "it is a setuid program; count a copy without that bit")
    if head.startswith(b"#!"):
        interpreter = os.fsdecode(head[2:].split(b"\n")[0].strip().split(b" ")[0])
        if not (Path(command.directory or ".") / interpreter).exists():
            raise cannot_start(command, OSError(errno.ENOENT, ""))
    elif head.startswith(_ELF) and head[_MACHINE] not in _own_machines():
        raise _refusal(command, "it was built for another processor")


def _find(command: Command) -> Path:
    program = command.argv[0]
    if "/" in program:
        return Path(command.directory or ".") / program
    places = (Path(folder) / program for folder in os.get_exec_path())
    return next(place for place in places if os.access(place, os.X_OK) and place.is_file())


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(256)


def _own_machines() -> tuple[bytes, ...]:
    own = _head(Path("/proc/self/exe"))[_MACHINE]
    return (own, _X86) if own == _X86_64 else (own,)


def _refusal(command: Command, why: str) -> CommandError:
    error = CommandError(f"valgrind cannot run '{command.argv[0]}': {why}.")
    error.exit_code = 126
    return error
