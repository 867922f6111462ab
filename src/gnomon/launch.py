"""Starting programs: a command is held before its first instruction until it is released."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnomon import _native
from gnomon.errors import CommandError, GnomonError


@dataclass(frozen=True, slots=True)
class Command:
    """A program to be run and counted from its first instruction, children included.

    `stdout` is a descriptor that its standard output goes to instead of ours. `input` is a file
    that its standard input is read from, instead of ours: from its beginning in every run. What
    a `quiet` one prints goes nowhere.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] | None = None
    directory: str = ""
    stdout: int | None = None
    input: str = ""
    quiet: bool = False


class Launch:
    """A command that waits for its release; it inherits the descriptors `kept`.

    Where `same_addresses` is set, the kernel places its memory at the same addresses in every
    run, as far as this process may ask for that.
    """

    def __init__(
        self, command: Command, *, kept: Sequence[int] = (), same_addresses: bool = False
    ) -> None:
        self._command = command
        self._child: _native.Child | None = None
        self._pidfd = -1
        self._released = False
        self.exit_status: int | None = None
        with _inheritable(kept), _standard_input(command.input):
            self._child = _hold(command, same_addresses)
        self.pid = self._child.pid
        self._pidfd = watch(self.pid)

    def release(self) -> None:
        """Let it run its first instruction; raises CommandError when it cannot start."""
        if self._child is None:
            return
        try:
            self._released = True
            self._child.release()
        except OSError as error:
            raise cannot_start(self._command, error) from None

    def wait(self, timeout: float | None) -> bool:
        """Wait for its end; False when the time was over first."""
        if self.exit_status is not None:
            return True
        ended = has_ended(self._pidfd, timeout)
        if ended and self._child is not None:
            self._child.wait(-1)
            status = self._child.status
            self.exit_status = 128 - status if status < 0 else status
        return ended

    def signal(self, number: int) -> None:
        """Pass a signal on while it still runs."""
        if self._child is not None and not self._child.ended:
            self._child.kill(number)

    def close(self) -> None:
        """Let go; a command that still runs is ended."""
        if self._child is not None:
            if self._released and not self._child.ended:
                self._child.kill(9)
                self._child.wait(-1)
            self._child = None
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def __del__(self) -> None:
        self.close()


def watch(pid: int) -> int:
    """Return a descriptor that becomes readable when a process has ended."""
    try:
        return os.pidfd_open(pid)
    except (ProcessLookupError, OverflowError):
        raise GnomonError(f"there is no process {pid}: it may have ended already.") from None
    except OSError as error:
        raise GnomonError(
            f"process {pid} cannot be watched: {os.strerror(error.errno or 0)}."
        ) from None


def has_ended(pidfd: int, timeout: float | None) -> bool:
    """Wait for the end of a watched process; False when the time was over first."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(None if timeout is None else timeout * 1000))


@contextmanager
def _inheritable(descriptors: Sequence[int]) -> Iterator[None]:
    """Let a child that is forked meanwhile keep descriptors over its exec."""
    for each in descriptors:
        os.set_inheritable(each, True)
    try:
        yield
    finally:
        for each in descriptors:
            os.set_inheritable(each, False)


@contextmanager
def _standard_input(path: str) -> Iterator[None]:
    """Let a child that is forked meanwhile read a file."""
    if not path:
        yield
        return
    try:
        given = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise CommandError(f"the input '{path}' cannot be read: {error.strerror}.") from None
    try:
        ours = os.dup(0)
    except OSError:  # we have none ourselves
        ours = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(given, 0)
        yield
    finally:
        os.dup2(ours, 0)
        os.close(ours)
        os.close(given)


def _hold(command: Command, same_addresses: bool) -> _native.Child:
    environment = os.environ if command.environment is None else command.environment
    check_startable(command)
    nowhere = os.open(os.devnull, os.O_WRONLY) if command.quiet else -1
    stdout = -1 if command.stdout is None else command.stdout
    try:
        return _native.Child(
            [_encoded(argument) for argument in command.argv],
            [_encoded(f"{k}={v}") for k, v in environment.items()],
            _encoded(command.directory),
            nowhere if command.quiet else stdout,
            nowhere,
            same_addresses,
        )
    except ValueError as error:
        raise CommandError(f"cannot start {command.argv[0]!r}: {error}.") from None
    except OSError as error:
        raise CommandError(f"cannot start '{command.argv[0]}': {error.strerror}.") from None
    finally:
        if nowhere >= 0:
            os.close(nowhere)


def _encoded(text: str) -> bytes:
    """Return what the kernel is given for a text; it has no way to be given a zero byte."""
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} is no text that a program can be given") from None
    if b"\0" in encoded:
        raise ValueError(f"{text!r} has a zero byte in it")
    return encoded


def check_startable(command: Command) -> None:
    """Raise the error with which exec would fail, as far as it can be foreseen.

    What is noticed here has not cost anything yet; exec has the last word all the same.
    """
    if not command.argv or not command.argv[0]:
        raise CommandError("there is no command to run: name it after --, as in -- ./program.")
    program = command.argv[0]
    if "/" in program:
        places = [Path(command.directory or ".") / program]
    else:
        places = [Path(folder) / program for folder in os.get_exec_path()]
    try:
        if any(os.access(place, os.X_OK) and place.is_file() for place in places):
            return
        there = any(os.access(place, os.F_OK) for place in places)
    except (OSError, ValueError):
        return  # a path that cannot even be looked at: exec says why
    raise cannot_start(command, OSError(errno.EACCES if there else errno.ENOENT, ""))


def cannot_start(command: Command, error: OSError) -> CommandError:
    """Return the error that says in words why a command did not start."""
    program = command.argv[0]
    folder = Path(command.directory or ".")
    why = _no_way_in(folder)
    if why:
        return CommandError(f"cannot run '{program}': {why}.")
    if "/" in program:
        exists = os.access(folder / program, os.F_OK)
    else:
        exists = any(os.access(Path(place) / program, os.F_OK) for place in os.get_exec_path())
    # A folder in PATH that may not be searched makes EACCES of what is simply not there.
    if error.errno == errno.ENOENT or (error.errno == errno.EACCES and not exists):
        why = "there is no such file; check the spelling or give its path"
        if exists:
            why = "the interpreter that its first line or its header names is missing"
        elif "/" not in program:
            why = "it is not in PATH; check the spelling or give its path, as in ./program"
        return CommandError(f"cannot run '{program}': {why}.")
    if error.errno == errno.EACCES:
        failure = CommandError(f"cannot run '{program}': it is not an executable file.")
        failure.exit_code = 126
        return failure
    return CommandError(f"cannot run '{program}': {os.strerror(error.errno or 0)}.")


def _no_way_in(folder: Path) -> str:
    """Return why a program cannot be started in a folder, empty when it can."""
    try:
        if not folder.is_dir():
            return f"there is no folder '{folder}'"
    except PermissionError:
        pass
    return "" if os.access(folder, os.X_OK) else f"the folder '{folder}' may not be entered"
