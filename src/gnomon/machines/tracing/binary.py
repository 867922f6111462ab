"""What a program file is: can it be traced, and does it run OpenMP tasks."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.launch import Command, check_startable

_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
_TASKS = frozenset(("GOMP_task", "GOMP_taskloop", "GOMP_taskloop_ull"))


@dataclass(frozen=True, slots=True)
class Binary:
    """An ELF file for this machine; `version` is that of its tracing runtime, if it has one."""

    path: Path
    version: int | None
    has_tasks: bool
    is_static: bool


def program_file(command: Command) -> Path:
    """Return the file that a command runs; raises CommandError when there is none."""
    check_startable(command)
    name = command.argv[0]
    found = name if "/" in name else shutil.which(name) or name
    return Path(command.directory or ".") / found


def read_binary(path: Path) -> Binary:
    """Return what an ELF file is; raises UsageError for scripts and other machines' programs."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as stream:
        try:
            elf = ELFFile(stream)
            machine = str(elf["e_machine"])
            if machine != _MACHINES.get(platform.machine(), machine):
                raise UsageError(
                    f"'{path}' is a program for another processor ({machine}): compile it for "
                    "this one."
                )
            return Binary(path, _version(elf), _has_tasks(elf), _is_static(elf))
        except (ELFError, UnicodeDecodeError, ValueError, KeyError, OverflowError):
            raise UsageError(_no_program(path, stream)) from None


def _no_program(path: Path, stream: Any) -> str:
    stream.seek(0)
    if stream.read(2) == b"#!":
        return (
            f"'{path}' is a script, whose interpreter would be traced: name the program itself, "
            "compiled by `gnomon cc`."
        )
    return f"'{path}' is no program in the ELF format: compile one with `gnomon cc`."


def is_traced_binary(path: str | os.PathLike[str]) -> bool:
    """Whether a program was linked by `gnomon cc`."""
    return read_binary(Path(path)).version is not None


def check_traced(binary: Binary) -> None:
    """Raise UsageError when a program cannot tell its references itself."""
    if binary.is_static and binary.version is None:
        raise UsageError(
            f"'{binary.path}' is linked statically, without gnomon's runtime: compile it with "
            "`gnomon cc` and without -static, or trace it with lackey."
        )
    if binary.version is None:
        raise UsageError(
            f"'{binary.path}' was not compiled for tracing: compile and link it with "
            "`gnomon cc`, or trace it with lackey, which needs valgrind."
        )
    if binary.version != _native.TRACE_VERSION:
        raise UsageError(
            f"'{binary.path}' has the tracing runtime of another gnomon (version "
            f"{binary.version}, not {_native.TRACE_VERSION}): link it anew with `gnomon cc`."
        )


def _version(elf: Any) -> int | None:
    section = elf.get_section_by_name(".note.gnomon")
    if section is None:
        return None
    data: bytes = section.data()
    return int.from_bytes(data[-4:], "little" if elf.little_endian else "big")


def _has_tasks(elf: Any) -> bool:
    section = elf.get_section_by_name(".dynsym")
    return section is not None and any(
        symbol.name in _TASKS and symbol["st_shndx"] == "SHN_UNDEF"
        for symbol in section.iter_symbols()
    )


def _is_static(elf: Any) -> bool:
    return elf.get_section_by_name(".dynamic") is None
