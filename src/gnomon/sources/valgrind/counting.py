"""One run of a command under valgrind, whose counts are known when it has ended."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gnomon.errors import CommandError, GnomonError, NotSupportedError, StateError, UsageError
from gnomon.events.event import Group, Request
from gnomon.launch import cannot_start, check_startable
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Closing, Command, Snapshot
from gnomon.sources.host import Subject
from gnomon.sources.valgrind.cachegrind import (
    BRANCH_EVENTS,
    CACHE_EVENTS,
    Installation,
    ProcessCounts,
    Simulation,
    command_line,
    own_name,
    processes,
    why_refused,
)

_GRACE = 0.5  # seconds for children that are just writing their counts
_NAP = 0.02
_ROUNDS = 100
_TOO_EARLY = "valgrind tells counts when a program has ended: what is read before has no value"
_GAVE_UP = frozenset({1, 126, 127})  # how valgrind ends when it cannot begin


class ValgrindCounting(Closing):
    """A command under valgrind; see `gnomon.sources.base.Counting` for the contract.

    Counts have no value until the command has ended. A command that was one process has
    readings of the scope `process`, and one that was several has them of `process/PID`.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        command: Command,
        installation: Installation,
        simulation: Simulation,
        *,
        exact: bool = False,
    ) -> None:
        self.warnings: list[str] = []
        self._state = "ready"
        self._folder: Path | None = None
        self._subject: Subject | None = None
        self._command = command
        self._started_at = 0
        self._final: Snapshot | None = None
        self._requests = tuple(request for group in groups for request in group)
        self._refused: list[str] = []
        for request in self._requests:
            self._refuse_if_needed(request, installation)
        if exact and self._refused:
            raise NotSupportedError(f"{'; '.join(self.warnings)}.")
        self._counted = [r for r in self._requests if r.label not in self._refused]
        if self._counted:
            check_runnable(command)
            self._hold(installation.launcher, simulation)
        else:
            self._subject = Subject(command)

    def _refuse_if_needed(self, request: Request, installation: Installation) -> None:
        refusal = why_refused(request, installation)
        if refusal is not None:
            self._refused.append(request.label)
            why = "; ".join(filter(None, refusal))
            self.warnings.append(f"{request.label} is {Status.NOT_SUPPORTED}: {why}")

    def _hold(self, valgrind: tuple[str, ...], simulation: Simulation) -> None:
        """Set up valgrind with no more simulation than the events need."""
        names = {own_name(request.event) for request in self._counted}
        simulation = replace(
            simulation,
            caches=bool(names & CACHE_EVENTS),
            branches=bool(names & BRANCH_EVENTS),
        )
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="gnomon-valgrind-"))
        except OSError as error:
            raise GnomonError(
                f"valgrind needs a folder for its files: {error.strerror}; set TMPDIR to one."
            ) from None
        words = command_line(valgrind, self._folder, simulation, self._command.argv)
        try:
            self._subject = Subject(replace(self._command, argv=words))
        except BaseException:
            self.close()
            raise

    # Measuring

    @property
    def requests(self) -> tuple[Request, ...]:
        """What is counted or was refused."""
        return self._requests

    @property
    def refused(self) -> tuple[Reading, ...]:
        """A reading without value for each event that cannot be counted, saying why."""
        return self._refusals(time.monotonic_ns())

    def _refusals(self, now: int) -> tuple[Reading, ...]:
        return tuple(
            Reading(now, label, "process", None, 0, 0, Status.NOT_SUPPORTED)
            for label in self._refused
        )

    @property
    def exit_status(self) -> int | None:
        """How the command ended, as a shell would say it."""
        return self._subject.exit_status if self._subject is not None else None

    def start(self) -> None:
        """Let the command run."""
        self._require("start", "ready", "stopped")
        if self._state == "stopped":
            raise StateError("a command cannot be started twice: open a new counting.")
        self._state = "running"
        self._started_at = time.monotonic_ns()
        try:
            self._open_subject().release()
        except CommandError:
            self.close()
            raise

    def read(self) -> Snapshot:
        """Return what was counted since the start, without values before the end."""
        self._require("read", "running", "stopped")
        if self._final is not None:
            return self._final
        if not self._open_subject().wait(0):
            return self._without_values()
        self._final = self._with_values()
        return self._final

    def stop(self) -> Snapshot:
        """Return the final values; there are none when the command has not ended."""
        self._require("stop", "running")
        self._final = self.read()
        self._state = "stopped"
        return self._final

    def _without_values(self) -> Snapshot:
        self._warn(_TOO_EARLY)
        now = time.monotonic_ns()
        open_ones = (
            Reading(now, request.label, "process", None, 0, 0, Status.NOT_COUNTED)
            for request in self._counted
        )
        return Snapshot(now, (*self._refusals(now), *open_ones))

    def _with_values(self) -> Snapshot:
        """Return what the processes left; one that left nothing has readings without values."""
        found = self._left_behind()
        now = time.monotonic_ns()
        elapsed = now - self._started_at
        readings = list(self._refusals(now))
        for request in self._counted:
            name = own_name(request.event)
            for process in found:
                scope = "process" if len(found) == 1 else f"process/{process.pid}"
                value = None if process.counts is None else process.counts.get(name)
                times, status = (elapsed, elapsed), Status.COUNTED
                if value is None:
                    times, status = (0, 0), Status.NOT_COUNTED
                readings.append(Reading(now, request.label, scope, value, *times, status))
        return Snapshot(now, tuple(readings))

    def _left_behind(self) -> list[ProcessCounts]:
        if self._folder is None:  # there was nothing to count
            return []
        found = self._settled(self._folder)
        main = self._open_subject().pid
        if not any(process.pid == main for process in found):
            if self.exit_status in _GAVE_UP:
                raise CommandError(
                    f"valgrind could not run '{self._command.argv[0]}': its message says why."
                )
            found.insert(0, ProcessCounts(main or 0, None, forked=False, unknown_instruction=""))
        for process in found:
            self._warn_about(process)
        return [replace(process, counts=None) if process.forked else process for process in found]

    def _settled(self, folder: Path) -> list[ProcessCounts]:
        """Return what the processes left, after a moment for those that are about to end."""
        deadline = time.monotonic() + _GRACE
        while True:
            found = list(processes(folder))
            unfinished = {process.pid for process in found if process.counts is None}
            late = unfinished and unfinished & set(_under_way(folder))
            if not late or time.monotonic() >= deadline:
                return found
            time.sleep(_NAP)

    def _warn_about(self, process: ProcessCounts) -> None:
        if process.unknown_instruction:
            self._warn(
                f"valgrind does not know the instruction at {process.unknown_instruction} in "
                f"process {process.pid} and ended it: compile for an older processor"
            )
        if process.counts is None:
            self._warn(
                f"process {process.pid} left no counts: it was killed, or still runs in the "
                "background"
            )
        elif process.forked:
            self._warn(
                f"process {process.pid} was forked and started no program: valgrind cannot tell "
                "its counts from its parent's, and totals lack them"
            )

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    # Waiting

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the command; False when the time was over first."""
        self._require("wait for", "running", "stopped")
        return self._open_subject().wait(timeout)

    def ticks(self, interval: int, until: Callable[[], bool]) -> Iterator[Snapshot]:
        """Start, then yield a snapshot each interval; only the last one can have values."""
        self._require("start", "ready")
        if interval <= 0:
            raise UsageError(f"the interval must be at least 1 ns, not {interval} ns.")
        self.start()
        try:
            due = self._started_at + interval
            while self._state == "running" and not until():
                rest = max(due - time.monotonic_ns(), 0)
                if self.wait(rest / 1e9):
                    break
                yield self._without_values()
                due = max(due + interval, time.monotonic_ns())
            yield self.stop() if self._state == "running" else self.read()
        finally:
            if self._state == "running":
                self.stop()

    def interrupt(self, signal: int) -> None:
        """Pass a signal on to the command."""
        if self._subject is not None:
            self._subject.signal(signal)

    # Clearing away

    def close(self) -> None:
        """End a command that still runs, with its descendants, and remove all files."""
        cut_short = self._started_at and self.exit_status is None
        if self._subject is not None:
            self._subject.close()
        if self._folder is not None:
            if cut_short:
                _end_all(self._folder)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._state = "closed"

    def __del__(self) -> None:
        self.close()

    def _open_subject(self) -> Subject:
        assert self._subject is not None
        return self._subject

    def _require(self, verb: str, *states: str) -> None:
        if self._state not in states:
            raise StateError(f"cannot {verb} a counting that is {self._state}.")


def _under_way(folder: Path) -> Iterator[int]:
    """Yield the processes that write their files into a folder, by their command lines."""
    mark = os.fsencode(f"{folder}/")
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in path.read_bytes():
                yield int(path.parent.name)
        except OSError:
            continue


def _end_all(folder: Path) -> None:
    """Kill what runs for a folder, until nothing is left that could start more."""
    for _ in range(_ROUNDS):
        running = list(_under_way(folder))
        for pid in running:
            with contextlib.suppress(OSError):  # it ended by itself, or became another user's
                os.kill(pid, signal.SIGKILL)
        if not running:
            return
        time.sleep(_NAP / 10)


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
        raise _refusal(command, "it was built for another architecture")


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
