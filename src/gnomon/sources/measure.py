"""Carrying out a measurement with any source: runs, intervals, interruption."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol

from gnomon.events.event import Group, Request
from gnomon.recording.contents import EventInfo, Reading, RunInfo, Status
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

Sink = Callable[[Iterable[Reading]], None]
_NAP = 0.1


@dataclass(slots=True)
class Measurement:
    """What a measurement gave: readings run by run, and what is to be said about them."""

    events: tuple[EventInfo, ...] = ()
    readings: list[Reading] = field(default_factory=list)
    runs: list[RunInfo] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    exit_status: int = 0
    interrupted: bool = False
    nothing_counted: bool = False


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
    repeat: int = 1,
    interval: int | None = None,
    duration: float | None = None,
    sink: Sink | None = None,
    on_run: Callable[[RunInfo], None] | None = None,
) -> Measurement:
    """Count events over one or more runs of a target.

    With an interval each run gives a reading every so many ns, otherwise one at its end.
    Readings go to `sink` as they come when there is one, and into the result otherwise.
    When no event at all can be counted the command is not run: it would only cost time.
    """
    result = Measurement()
    emit: Sink = result.readings.extend if sink is None else sink
    with Stopper().installed() as stopper:
        for run in range(repeat):
            with source.open(groups, target) as counting:
                stopper.watch(counting)
                result.events = event_infos(counting.requests)
                result.nothing_counted = len(counting.refused) == len(counting.requests)
                try:
                    if result.nothing_counted:
                        emit(counting.refused)
                        break
                    info = _one_run(counting, target, run, interval, duration, stopper, emit)
                finally:
                    stopper.watch(None)
                    result.warnings += [w for w in counting.warnings if w not in result.warnings]
            result.runs.append(info)
            result.exit_status = info.exit_status or result.exit_status
            if on_run is not None:
                on_run(info)
            if stopper.requested:
                break
        result.interrupted = stopper.requested
    return result


def _one_run(
    counting: Counting,
    target: Target,
    run: int,
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
    runs_command = isinstance(target, Command) or (
        isinstance(target, Cpus) and target.command is not None
    )

    def over() -> bool:
        # A command that was interrupted is waited for, so that its last counts are not lost.
        interrupted = stopper.requested and not runs_command
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
        emit(reading._replace(run=run) for reading in counting.stop().readings)
    else:
        previous: Snapshot | None = None
        for snapshot in counting.ticks(interval, over):
            emit(differences(previous, snapshot, run))
            previous = snapshot
    return RunInfo(run, 0, start, clock(), counting.exit_status, started_at)


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
