"""Running several commands in an order of our choosing, each run counted by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gnomon.events.event import Group
from gnomon.recording.contents import EventInfo, Reading, RunInfo
from gnomon.sources.base import Command, Source
from gnomon.sources.measure import measure

TIMED_OUT = 124
"""The exit status of a run that was stopped for its time, as `timeout` has it."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run to be made: of which subject, under which number, with which parameters."""

    subject: int
    run: int
    command: Command
    parameters: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """What came of a campaign; `timed_out` holds the tasks that were stopped for their time."""

    events: tuple[EventInfo, ...] = ()
    warnings: list[str] = field(default_factory=list)
    timed_out: list[Task] = field(default_factory=list)
    interrupted: bool = False
    nothing_counted: bool = False

    def stopped(self, seconds: float | None, subject: int | None = None) -> list[str]:
        """Return a warning when runs took too long, of one subject or of all."""
        count = sum(subject in (None, task.subject) for task in self.timed_out)
        if seconds is None or not count:
            return []
        runs = "a run was" if count == 1 else f"{count} runs were"
        return [
            f"{runs} stopped after {seconds:g} s (exit status {TIMED_OUT}): "
            "allow more time with --timeout"
        ]


Taker = Callable[[Task, RunInfo, Sequence[Reading]], None]


def prepare(
    source: Source, events: str | None, commands: Sequence[Command]
) -> tuple[Source, Sequence[Group]]:
    """Return the source and what to count; raises where a command cannot be measured."""
    from gnomon.events.syntax import ask

    groups = source.default_events() if events is None else ask(events, source.resolve).groups
    for command in commands:
        source.open(groups, command).close()
    return source, groups


def carry_out(
    source: Source,
    groups: Sequence[Group],
    tasks: Iterable[Task],
    take: Taker,
    *,
    timeout: float | None = None,
) -> Outcome:
    """Make the runs one after the other; `take` gets each with its readings as it ends.

    Ctrl-C ends the campaign after the current run, which is not taken, as it was cut short.
    """
    outcome = Outcome()
    for task in tasks:
        try:
            done = measure(source, groups, task.command, duration=timeout)
        except KeyboardInterrupt:  # between two runs, where nobody else handles it
            outcome.interrupted = True
            break
        outcome.events = outcome.events or done.events
        outcome.warnings += [text for text in done.warnings if text not in outcome.warnings]
        if done.nothing_counted or not done.runs:
            outcome.nothing_counted = True
            break
        if done.interrupted:
            outcome.interrupted = True
            break
        info = replace(done.runs[0], run=task.run, parameters=task.parameters)
        if timeout is not None and info.end - info.start >= timeout * 1e9:
            outcome.timed_out.append(task)
            info = replace(info, exit_status=info.exit_status or TIMED_OUT)
        take(task, info, [reading._replace(run=task.run) for reading in done.readings])
    return outcome
