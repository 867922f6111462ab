"""One plain run that records where wall time goes: see docs/explanation/recording.md."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import GnomonError, NotPermittedError, StateError
from gnomon.recording.wall import WallFacts, WallRecord
from gnomon.sources.abilities import WallOptions
from gnomon.sources.base import Closing, Command, Cpus, Process, Target, Thread
from gnomon.sources.host import Host, Subject
from gnomon.sources.perf.opening import checked_cpus, explain, tasks
from gnomon.sources.quota import Quota, quota_of

if TYPE_CHECKING:
    from gnomon.events.event import Event
    from gnomon.sources.perf.cpu_timer import CpuTimer
    from gnomon.sources.stacks import Stacks

# Ticks of the two clocks never fall on the same multiple of a program's own period for long.
_PERIODS = (9_300_000, 10_800_000)  # ns
_STACK, _LARGE_STACK = 16 << 10, 32 << 10
_NO_CLOCKS = "perf events are refused"
_OPEN_FILES = 65_536
_NAP = 0.2  # seconds


class WallRecording(Closing):
    """Records one run: start, wait for its end or stop, and take the record."""

    def __init__(self, target: Target, options: WallOptions, host: Host, clock: Event) -> None:
        from gnomon.sources.stacks import Stacks

        if isinstance(target, Thread):
            raise GnomonError("wall time is recorded of commands, processes and whole CPUs.")
        self.warnings: list[str] = []
        self._target, self._options, self._host, self._clock = target, options, host, clock
        self._stacks: Stacks = Stacks()
        self._native: _native.WallRecorder | None = None
        self._timer: CpuTimer | None = None
        self._limits: list[str] = []
        self._rung = "switches"
        self._record: WallRecord | None = None
        self._state = "ready"
        self._open_files: tuple[int, int] | None = None  # our own limits, before
        command = target.command if isinstance(target, Cpus) else target
        self._command = command if isinstance(command, Command) else None
        self._subject = Subject(target)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    # Setting up: the best way that this host allows

    def _open(self) -> None:
        error = None
        if not self._options.without_perf:
            try:
                self._native = self._recorder(perf=True)
                return
            except OSError as refusal:
                error = refusal.errno or 0
        reason = "as asked for"
        if error is not None:
            whole = isinstance(self._target, Cpus)
            reason = explain(
                error, self._clock, self._host, has_core_pmu=True, whole_cpus=whole
            ).sentence
        if isinstance(self._target, Cpus):
            raise NotPermittedError(f"whole CPUs cannot be recorded: {reason}.")
        self._open_without_perf(reason)

    def _open_without_perf(self, reason: str) -> None:
        self._limits.append(
            f"{_NO_CLOCKS} ({reason}): threads are found and looked at by /proc about 100 times "
            "a second, so what is shorter is estimated; waits for other programs, and disk waits "
            "inside a lock, may be missed"
        )
        self._rung = "proc"
        if self._command is not None and not self._options.without_timer:
            self._open_timer(self._command)
        else:
            self._limits.append("threads that run have no stacks")
        self._native = self._recorder(perf=False)

    def _open_timer(self, command: Command) -> None:
        """Start the program again with the timer preloaded: the one that is held never ran."""
        from gnomon.sources.perf.cpu_timer import CpuTimer, why_not

        reason = why_not(command)
        if not reason:
            try:
                self._timer = CpuTimer()
            except GnomonError as error:
                reason = str(error).rstrip(".")
        if self._timer is None:
            self._limits.append(f"threads that run have no stacks: {reason}")
            return
        self._subject.close()
        self._restore_open_files()
        self._subject = Subject(
            replace(command, environment=self._timer.environment(command.environment))
        )
        self._rung = "timer"

    def _recorder(self, *, perf: bool) -> _native.WallRecorder:
        root = self._root
        options: dict[str, object] = {
            "root": root,
            "started": self._command is not None and root > 0,
            "perf": perf,
            "cpus": self._cpus,
            "tasks": self._tasks() if perf else (),
            "periods": _PERIODS,
            "stack_bytes": _LARGE_STACK if self._options.large_stacks else _STACK,
            "pages": _ring_pages(),
            "idle_cpus": self._cpus,
            "quotas": [str(path) for path in self._quota.files],
            "folders": _folders(),
            "descriptors": self._raise_open_files() // 4,
            "switches": not self._options.without_switches,
        }
        if self._options.memory is not None:
            options["memory"] = self._options.memory
        if self._timer is not None and not perf:
            options["timer_fd"] = self._timer.descriptor
        return _native.WallRecorder(self._stacks.library, self._stacks.functions, options)

    @property
    def _root(self) -> int:
        match self._target:
            case Command():
                return self._subject.pid or 0
            case Process(pid=pid):
                return pid
            case _:
                return 0

    def _tasks(self) -> tuple[int, ...]:
        match self._target:
            case Command():
                return (self._root,)
            case Process(pid=pid):
                return tasks(pid)
            case _:
                return ()

    @property
    def _cpus(self) -> tuple[int, ...]:
        if isinstance(self._target, Cpus):
            return checked_cpus(self._target.cpus, self._host)
        wanted = self._options.cpus
        allowed = os.sched_getaffinity(self._root)
        return tuple(sorted(allowed.intersection(wanted) if wanted else allowed))

    @property
    def _quota(self) -> Quota:
        return quota_of(self._root) if self._root else Quota()

    # Running

    def start(self) -> None:
        """Begin to record; a command begins to run."""
        if self._state != "ready":
            raise StateError(f"cannot start a recording of wall time that is {self._state}.")
        assert self._native is not None
        self._facts_before = _children()
        self._known_quota, self._known_cpus = self._quota, self._cpus
        self._native.start()
        self._state = "running"
        self._subject.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of what is recorded; False when the time was over first."""
        if self._native is None or self._state != "running":
            return True
        if not self._root:
            return self._subject.wait(timeout)
        until = None if timeout is None else time.monotonic() + timeout
        while not self._native.wait(round(_left(until) * 1e9)):
            if until is not None and time.monotonic() >= until:
                return False
        return self._subject.wait(None)

    def stop(self) -> None:
        """End recording; a command that still runs is not ended by this."""
        if self._state == "running":
            assert self._native is not None
            self._native.stop()
            self._state = "stopped"

    def record(self) -> WallRecord:
        """Return what was recorded; it must have been stopped."""
        from gnomon.sources.perf.wall_record import make_record

        if self._state not in ("stopped", "closed") or self._native is None:
            raise StateError(f"cannot take the record of a run that is {self._state}.")
        if self._record is None:
            self._record = make_record(self._native, self._stacks, self._facts())
        return self._record

    @property
    def exit_status(self) -> int | None:
        """How the command ended, as a shell would say it."""
        return self._subject.exit_status

    def interrupt(self, signal: int) -> None:
        """Pass a signal on to a command that this recording started."""
        self._subject.signal(signal)

    def close(self) -> None:
        """Give everything back; a command that still runs is ended."""
        if self._native is not None and self._state == "running":
            self._native.stop()
        if self._record is None and self._state == "ready":
            self._native = None
        self._subject.close()
        if self._timer is not None:
            self._timer.close()
        self._restore_open_files()
        self._state = "closed"

    def _raise_open_files(self) -> int:
        """Let us open more files, after the program was started: its limits stay as they were."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            self._open_files = (soft, hard)
        return wanted

    def _restore_open_files(self) -> None:
        if self._open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, self._open_files)
            self._open_files = None

    # What is known about it at its end

    def _facts(self) -> WallFacts:
        from gnomon.sources.perf.wall_record import limits

        native = self._native
        assert native is not None
        used = _children()
        before = self._facts_before
        own = self._command is not None
        rung, sentences = limits(native, self._rung, self._host)
        return WallFacts(
            start=native.started,
            end=native.ended,
            root=self._root,
            command=self._command.argv if self._command else (),
            cpus=self._known_cpus,
            quota=self._known_quota.cpus,
            rung=rung,
            limits=(*self._limits, *sentences),
            clock_periods=_PERIODS if self._rung in ("switches", "clocks") else (),
            stack_bytes=_LARGE_STACK if self._options.large_stacks else _STACK,
            lost=native.lost + native.dropped,
            truncated=native.truncated / native.samples if native.samples else 0.0,
            exit_status=self.exit_status,
            user_ns=used[0] - before[0] if own else 0,
            system_ns=used[1] - before[1] if own else 0,
            major_faults=used[2] - before[2] if own else 0,
            recorder_ns=native.own_ns,
            spilled_to=native.spilled_to,
        )


def _left(until: float | None) -> float:
    """Return how long to wait: in pieces, so that Ctrl-C is heard."""
    return _NAP if until is None else max(0.0, min(_NAP, until - time.monotonic()))


def _children() -> tuple[int, int, int]:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(usage.ru_utime * 1e9), round(usage.ru_stime * 1e9), usage.ru_majflt


def _ring_pages() -> int:
    """Return the pages of a ring: a power of two that any user may lock, a CPU."""
    try:
        kilobytes = int(Path("/proc/sys/kernel/perf_event_mlock_kb").read_text())
    except (OSError, ValueError):
        kilobytes = 516
    pages = max(9, kilobytes * 1024 // resource.getpagesize()) - 1
    return min(256, 1 << (pages.bit_length() - 1))


def _folders() -> list[str]:
    """Return where records go that do not fit into memory: none of it has a name there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gnomon"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ["/dev/shm"]
    return ["/dev/shm", str(cache)]
