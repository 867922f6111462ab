"""Carrying out one run with any source: intervals, a limited time, interruption."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from gnomon.events.event import Group, Request
from gnomon.recording.contents import EventInfo, Reading, RunInfo, Sample, Status
from gnomon.sources.base import (
    Command,
    Counting,
    Cpus,
    OwnTime,
    Snapshot,
    Source,
    Target,
)
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.recording.wall import WallRecord
    from gnomon.sources.abilities import RecordsWall

Sink = Callable[[Iterable[Reading]], None]

TIMED_OUT = 124
"""The exit status of a run that was stopped for its time, as `timeout` has it."""

_NAP = 0.1


@dataclass(slots=True)
class Measurement:
    """What a measurement gave: readings, and what is to be said about them.

    `samples`, `rows` and `wall` are for what gives no readings; rows are what JSON can hold.
    """

    events: tuple[EventInfo, ...] = ()
    readings: list[Reading] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    runs: list[RunInfo] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    exit_status: int = 0
    interrupted: bool = False
    nothing_counted: bool = False
    timed_out: bool = False
    wall: WallRecord | None = None

    def check_time(self, timeout: float | None) -> None:
        """Give a run that was stopped after `timeout` s the exit status that says so."""
        if timeout is None or not self.runs:
            return
        if self.runs[0].end - self.runs[0].start >= timeout * 1e9:
            self.timed_out = True
            self.exit_status = self.exit_status or TIMED_OUT
            self.runs = [replace(i, exit_status=i.exit_status or TIMED_OUT) for i in self.runs]


def stopped_runs(count: int, seconds: float | None) -> list[str]:
    """Return a warning when runs took too long."""
    if seconds is None or not count:
        return []
    runs = "a run was" if count == 1 else f"{count} runs were"
    return [
        f"{runs} stopped after {seconds:g} s (exit status {TIMED_OUT}): "
        "allow more time with --timeout"
    ]


class Interruptible(Protocol):
    """What a signal can be passed on to."""

    def interrupt(self, signal: int, /) -> None:
        """Pass a signal on to what is measured."""


class Stopper:
    """Turns the first Ctrl-C into an orderly end and the second into an immediate one."""

    def __init__(self) -> None:
        self.requested = False
        self._counting: Interruptible | None = None

    def watch(self, counting: Interruptible | None) -> None:
        """Tell which counting a signal is meant for."""
        self._counting = counting

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._counting is not None:
            if self.requested:
                self._counting.interrupt(signal.SIGKILL)
            elif number != signal.SIGINT or not self._reached_by_the_terminal():
                self._counting.interrupt(number)
        self.requested = True

    def _reached_by_the_terminal(self) -> bool:
        """Whether Ctrl-C goes to the command by itself; one that is simulated has no process."""
        simulated = isinstance(self._counting, OwnTime) and not self._counting.has_process
        return not simulated and _terminal_interrupts_us()

    @contextmanager
    def installed(self) -> Iterator[Stopper]:
        """Handle SIGINT and SIGTERM within the block."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        try:
            before = {n: signal.signal(n, self._on_signal) for n in numbers}
        except ValueError:  # only the main thread may handle signals
            yield self
            return
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Noticed:
    """Tells after the block whether SIGINT came in it, whoever handled it there."""

    def __init__(self) -> None:
        self.interrupted = False
        self._pipe: tuple[int, int] | None = None
        self._before = -1

    def __enter__(self) -> Noticed:
        pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._before = signal.set_wakeup_fd(pipe[1], warn_on_full_buffer=False)
        except ValueError:  # only the main thread hears of signals
            os.close(pipe[0])
            os.close(pipe[1])
        else:
            self._pipe = pipe
        return self

    def __exit__(self, *_: object) -> None:
        if self._pipe is None:
            return
        signal.set_wakeup_fd(self._before)
        with suppress(BlockingIOError):
            self.interrupted = signal.SIGINT in os.read(self._pipe[0], 4096)
        for descriptor in self._pipe:
            os.close(descriptor)
        self._pipe = None


def _terminal_interrupts_us() -> bool:
    """Whether Ctrl-C at the terminal reaches the command by itself, being in our group."""
    try:
        with Path("/dev/tty").open("rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def event_infos(requests: Iterable[Request]) -> tuple[EventInfo, ...]:
    """Return what a recording keeps about the events asked for."""
    return tuple(
        EventInfo(
            request.label,
            request.event.description,
            request.event.unit,
            request.event.scale,
            str(request.event.scope),
            request.event.caveats,
        )
        for request in requests
    )


def measure(
    source: Source,
    groups: Sequence[Group],
    target: Target,
    *,
    interval: int | None = None,
    duration: float | None = None,
    sink: Sink | None = None,
) -> Measurement:
    """Count events over one run of a target.

    With an interval it gives a reading every so many ns, otherwise one at its end.
    Readings go to `sink` as they come when there is one, and into the result otherwise.
    When no event at all can be counted the command is not run: it would only cost time.
    """
    result = Measurement()
    emit: Sink = result.readings.extend if sink is None else sink
    with Stopper().installed() as stopper, source.open(groups, target) as counting:
        stopper.watch(counting)
        result.events = event_infos(counting.requests)
        result.nothing_counted = len(counting.refused) == len(counting.requests)
        try:
            if result.nothing_counted:
                emit(counting.refused)
            else:
                info = _one_run(counting, target, interval, duration, stopper, emit)
                result.runs.append(info)
                result.exit_status = info.exit_status or 0
        finally:
            stopper.watch(None)
            result.warnings = list(dict.fromkeys(counting.warnings))
        result.interrupted = stopper.requested
    return result


def measure_wall(
    source: RecordsWall, target: Target, *, duration: float | None = None
) -> Measurement:
    """Record where the wall time of one run goes; a target is watched for `duration` s at most."""
    result = Measurement()
    with Stopper().installed() as stopper, source.record_wall(target) as recording:
        stopper.watch(recording)
        started_at = utc_now(milliseconds=True)
        deadline = None if duration is None else time.monotonic() + duration
        waits = runs_command(target)
        recording.start()
        try:
            while not recording.wait(_nap(deadline)):
                # A command that was interrupted is waited for, as it may have something to say.
                if (stopper.requested and not waits) or _nap(deadline) <= 0:
                    break
        finally:
            recording.stop()
            stopper.watch(None)
        record = recording.record()
        facts = record.facts
        result.wall = record
        result.exit_status = recording.exit_status or 0
        result.runs.append(RunInfo(0, 0, facts.start, facts.end, recording.exit_status, started_at))
        result.warnings = list(dict.fromkeys(recording.warnings))
        result.interrupted = stopper.requested
    return result


def _nap(deadline: float | None) -> float:
    return _NAP if deadline is None else max(0.0, min(_NAP, deadline - time.monotonic()))


def runs_command(target: Target) -> bool:
    """Whether a command is run, whose end is waited for."""
    command = target.command if isinstance(target, Cpus) else target
    return isinstance(command, Command)


def _one_run(
    counting: Counting,
    target: Target,
    interval: int | None,
    duration: float | None,
    stopper: Stopper,
    emit: Sink,
) -> RunInfo:
    started_at = utc_now(milliseconds=True)
    own = counting if isinstance(counting, OwnTime) else None
    clock = time.monotonic_ns if own is None else own.clock
    start = clock()
    deadline = None if duration is None else start + round(duration * 1e9)
    waits = runs_command(target)

    def over() -> bool:
        # A command that was interrupted is waited for, so that its last counts are not lost.
        interrupted = stopper.requested and not waits
        return interrupted or (deadline is not None and clock() >= deadline)

    def go_on() -> bool:
        if own is not None and deadline is not None:
            return own.wait_until(deadline, _NAP)
        return counting.wait(_NAP)

    if interval is None:
        counting.start()
        while not over():
            if go_on():
                break
        emit(counting.stop().readings)
    else:
        previous: Snapshot | None = None
        for snapshot in counting.ticks(interval, over):
            emit(differences(previous, snapshot))
            previous = snapshot
    return RunInfo(0, 0, start, clock(), counting.exit_status, started_at)


def differences(before: Snapshot | None, after: Snapshot, run: int = 0) -> list[Reading]:
    """Return what was counted between two snapshots, each reading with its own times."""
    earlier = {} if before is None else {(r.event, r.scope): r for r in before.readings}
    slices = []
    for now in after.readings:
        was = earlier.get((now.event, now.scope))
        enabled = now.enabled - (was.enabled if was else 0)
        running = now.running - (was.running if was else 0)
        value, status = now.value, now.status
        if value is not None:
            value -= (was.value or 0) if was else 0
            if enabled > 0 and running == 0:  # its turn did not come in this slice
                value, status = None, Status.NOT_COUNTED
        slices.append(Reading(now.time, now.event, now.scope, value, enabled, running, status, run))
    return slices
