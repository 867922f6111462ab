"""Starting a program so that its memory references can be simulated.

`Binary` says of a program file whether it can be traced, and whether it runs OpenMP tasks.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gnomon import _native
from gnomon.errors import GnomonError, NotSupportedError, UsageError
from gnomon.launch import Command, Launch, check_startable
from gnomon.machines.program import Observed, Program

if TYPE_CHECKING:
    from gnomon.machines.operations import Code

_VARIABLE = "GNOMON_TRACE_FD"


class Method(StrEnum):
    """How references are found out: by the program itself, by valgrind, or whichever works."""

    AUTO = "auto"
    COMPILED = "compiled"
    LACKEY = "lackey"


class TracedProgram:
    """A program that is held until its release, and the operations that it will execute.

    Pull the feeds of `program` while it runs: it waits when nobody does. Children that it
    forks, and programs that it executes, are not traced.
    """

    def __init__(self, launch: Launch, program: Program, method: Method, tracer: _Tracer) -> None:
        self.program = program
        self.method = method
        self._launch = launch
        self._tracer = tracer

    @property
    def pid(self) -> int:
        """The process number."""
        return self._launch.pid

    @property
    def exit_status(self) -> int | None:
        """How the program ended, as a shell says it; None while it runs."""
        self._launch.wait(0)
        return self._launch.exit_status

    @property
    def load_base(self) -> int:
        """What was added to the addresses in the program's file, 0 when unknown."""
        return self._tracer.load_base

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was not traced, so far."""
        return self._tracer.warnings(self._launch.exit_status is not None)

    def release(self) -> None:
        """Let the program run; raises CommandError when it cannot start."""
        self._launch.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for its end; False when the time was over first."""
        return self._launch.wait(timeout)

    def signal(self, number: int) -> None:
        """Pass a signal on while it still runs."""
        self._launch.signal(number)

    def tally(self) -> list[Counter[Code]]:
        """Take all that a released program does and return how often each thread did what."""
        from gnomon.machines.operations import Code

        rows = _native.tally(self.program.feeds)
        counted = [Counter({Code(c): n for c, n in enumerate(row) if n}) for row in rows]
        while len(counted) > 1 and not counted[-1]:
            counted.pop()
        return counted

    def detach(self) -> None:
        """Trace no more: the program runs on without waiting for anybody."""
        self._tracer.detach()

    def close(self) -> None:
        """End the program if it still runs, and give everything back."""
        self._launch.close()
        self._tracer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Compiled:
    """The shared memory of a program that tells its references itself."""

    def __init__(self, has_tasks: bool) -> None:
        self.channel = _native.TraceChannel(has_tasks)

    @property
    def load_base(self) -> int:
        return self.channel.load_base

    def warnings(self, ended: bool) -> tuple[str, ...]:
        channel, texts = self.channel, []
        if ended and not channel.attached:
            texts.append("the program ended before it could be traced.")
        if channel.untraced_threads:
            texts.append(
                f"{channel.untraced_threads} threads beyond the first {_native.TRACE_SLOTS} "
                "were not traced."
            )
        if channel.forks:
            texts.append(f"{channel.forks} forked children were not traced.")
        return tuple(texts)

    def detach(self) -> None:
        self.channel.detach()

    def close(self) -> None:
        self.channel.detach()
        self.channel.close_fd()


class _Lackey:
    """The pipe into which lackey writes."""

    load_base = 0

    def __init__(self) -> None:
        reading, self.writing = os.pipe2(os.O_CLOEXEC)
        self.feed = _native.LackeyFeed(reading)

    def warnings(self, ended: bool) -> tuple[str, ...]:
        if ended and self.feed.instructions == 0:
            return ("valgrind told of no instruction: see what it printed.",)
        return ()

    def detach(self) -> None:
        self.feed.detach()

    def close(self) -> None:
        self.close_writing()

    def close_writing(self) -> None:
        """Leave the only writing end to valgrind, so that its end can be noticed."""
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1


_Tracer = _Compiled | _Lackey


def trace(
    command: Sequence[str] | Command,
    environment: Mapping[str, str] | None = None,
    directory: str = "",
    stdout: int | None = None,
    *,
    method: Method | str = Method.AUTO,
) -> TracedProgram:
    """Hold a program before its first instruction, with its references to come as a Program."""
    if not isinstance(command, Command):
        command = Command(tuple(command), environment, directory, stdout)
    variables = os.environ if command.environment is None else command.environment
    given = replace(command, environment=dict(variables))
    path = program_file(given)
    if _uses_lackey(path, _method(method)):
        return _lackey(given)
    return _compiled(given, read_binary(path))


def _method(given: Method | str) -> Method:
    try:
        return Method(given)
    except ValueError:
        names = ", ".join(Method)
        raise UsageError(f"there is no tracer '{given}': choose from {names}.") from None


def _uses_lackey(path: Path, method: Method) -> bool:
    if method is Method.LACKEY:
        return True
    binary = read_binary(path)
    if method is Method.AUTO and binary.version is None and shutil.which("valgrind"):
        return True
    check_traced(binary)
    return False


def _compiled(command: Command, binary: Binary) -> TracedProgram:
    try:
        tracer = _Compiled(binary.has_tasks)
    except OSError as error:
        raise GnomonError(f"a trace does not fit in memory: {error.strerror}.") from None
    channel = tracer.channel
    variables = {**(command.environment or {}), _VARIABLE: str(channel.fd)}
    launch = Launch(
        replace(command, environment=variables),
        kept=(channel.fd,),
        same_addresses=True,
    )
    channel.close_fd()
    channel.watch(launch.pid)
    program = Program(
        name=command.argv[0],
        feeds=tuple(channel.feed(number) for number in range(_native.TRACE_SLOTS)),
        observed=frozenset((Observed.REFERENCES,)),
        dynamic=True,
    )
    return TracedProgram(launch, program, Method.COMPILED, tracer)


def _lackey(command: Command) -> TracedProgram:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise NotSupportedError(
            f"'{command.argv[0]}' can only be traced by valgrind, which is not installed: "
            "install valgrind, or compile the program with `gnomon sim compile`."
        )
    tracer = _Lackey()
    options = (
        "--tool=lackey",
        # Neither VALGRIND_OPTS nor a .valgrindrc may change what is traced.
        "--command-line-only=yes",
        "--vgdb=no",  # it would leave pipes in the folder for temporary files
        "--trace-mem=yes",
        "--basic-counts=no",
        "--trace-children=no",
        "--child-silent-after-fork=yes",
        f"--log-fd={tracer.writing}",
    )
    argv = (valgrind, *options, "--", *command.argv)
    try:
        launch = Launch(
            replace(command, argv=argv),
            kept=(tracer.writing,),
            same_addresses=True,
        )
    finally:
        tracer.close_writing()
    program = Program(
        name=command.argv[0],
        feeds=(tracer.feed,),
        observed=frozenset((Observed.REFERENCES, Observed.INSTRUCTIONS, Observed.FETCHES)),
    )
    return TracedProgram(launch, program, Method.LACKEY, tracer)


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
                    f"'{path}' is a program for another architecture ({machine}): compile it for "
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
            "compiled by `gnomon sim compile`."
        )
    return f"'{path}' is not a program in the ELF format: compile one with `gnomon sim compile`."


def is_traced_binary(path: str | os.PathLike[str]) -> bool:
    """Whether a program was linked by `gnomon sim compile`."""
    return read_binary(Path(path)).version is not None


def check_traced(binary: Binary) -> None:
    """Raise UsageError when a program cannot tell its references itself."""
    if binary.is_static and binary.version is None:
        raise UsageError(
            f"'{binary.path}' is linked statically, without gnomon's runtime: compile it with "
            "`gnomon sim compile` and without -static, or trace it with lackey."
        )
    if binary.version is None:
        raise UsageError(
            f"'{binary.path}' was not compiled for tracing: compile and link it with "
            "`gnomon sim compile`, or trace it with lackey, which needs valgrind."
        )
    if binary.version != _native.TRACE_VERSION:
        raise UsageError(
            f"'{binary.path}' has the tracing runtime of another gnomon (version "
            f"{binary.version}, not {_native.TRACE_VERSION}): "
            "link it anew with `gnomon sim compile`."
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
