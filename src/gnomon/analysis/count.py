"""Counting events of a program, a process or whole CPUs: the whole way to a result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon.analysis.summary import CountResult, EventCount, Tally
from gnomon.errors import UsageError
from gnomon.events.event import Group, Kind
from gnomon.events.syntax import Asked, ask
from gnomon.measure.run import Measurement, Sink, measure, stopped_runs
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo
from gnomon.sources.base import Command, Source, Target, preset_table
from gnomon.sources.registry import source_for
from gnomon.units import parse_duration, parse_seconds

if TYPE_CHECKING:
    from gnomon.measure.campaign import OnProgress, Terms


def count(
    command: Sequence[str] | Target,
    events: str | None = None,
    *,
    repeat: int = 1,
    interval: str | int | None = None,
    duration: str | float | None = None,
    timeout: str | float | None = None,
    warmup: int = 0,
    resume: bool = False,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    by_scope: bool = False,
    on: Source | str | None = None,
    on_readings: Sink | None = None,
    on_progress: OnProgress | None = None,
) -> CountResult:
    """Count events while a command runs, or on another target.

    `events` is a list as on the command line, `a,b:u,{c,d}`; without one it is a sensible
    choice of what can be counted. `interval` is a text such as `10ms` or a number of ns,
    `duration` a text or a number of seconds. A run that takes longer than `timeout` is ended and
    has status 124; `warmup` runs come first that are not counted. With `output` everything is
    recorded there. Several runs that were interrupted go on when the call is repeated; `resume`
    makes it an error that there is nothing to go on with. `on` says where to count, as `--on`
    does; without it that is this host, or the source that the events are of, as in `valgrind::Ir`.
    """
    if repeat < 1:
        raise UsageError("--repeat must be at least 1.")
    target = _as_target(command)
    tick = parse_duration(interval) if isinstance(interval, str) else interval
    limit = parse_seconds(duration, "duration")
    source = source_for(events, on=on)
    asked = None if events is None else ask(events, source.resolve, preset_table(source, events))
    groups = source.default_events() if asked is None else asked.groups
    provenance = replace(source.provenance(target), interval=tick)
    if output is not None or repeat > 1:
        # What cannot be measured must neither leave an empty recording nor replace one.
        source.open(groups, target).close()
    subject = _Subject(source, groups, target, tick, limit, parse_seconds(timeout, "timeout"))
    if repeat > 1 or warmup or resume:
        from gnomon.measure.campaign import Terms

        options: dict[str, object] = {"-e": events, "--repeat": repeat, "-i": tick, "-d": limit}
        terms = Terms(
            repeat=repeat,
            timeout=subject.timeout,
            warmup=warmup,
            resume=resume,
            output=output,
            overwrite=overwrite,
            on_progress=on_progress,
        )
        counted = _several_runs(subject, terms, options, provenance, on_readings)
    else:
        counted = _single_run(subject, output, provenance, on_readings, overwrite=overwrite)
    counts = counted.tally.counts(counted.events, by_scope=by_scope)
    return CountResult(
        provenance=counted.provenance,
        counts=counts if asked is None else _answer(asked, counts),
        runs=tuple(counted.runs),
        warnings=(*counted.warnings, *_suspicious(groups, counts)),
        exit_status=counted.exit_status,
        interrupted=counted.interrupted,
    )


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is counted, and for how long."""

    source: Source
    groups: Sequence[Group]
    target: Target
    interval: int | None
    duration: float | None
    timeout: float | None


@dataclass(slots=True)
class _Counted:
    """What all runs gave together."""

    provenance: Provenance
    tally: Tally
    events: tuple[EventInfo, ...]
    runs: list[RunInfo]
    warnings: Sequence[str]
    exit_status: int
    interrupted: bool


def _single_run(
    subject: _Subject,
    output: str | os.PathLike[str] | None,
    provenance: Provenance,
    on_readings: Sink | None,
    *,
    overwrite: bool,
) -> _Counted:
    """Count one run; what is read over time is recorded as it comes."""
    tally = Tally()
    limits = [limit for limit in (subject.duration, subject.timeout) if limit is not None]
    with _recorded(output, provenance, overwrite=overwrite) as (record, record_run, finish):

        def take(readings: Iterable[Reading]) -> None:
            kept = list(readings)
            tally.add(kept)
            record(kept)
            if on_readings is not None:
                on_readings(kept)

        made = measure(
            subject.source,
            subject.groups,
            subject.target,
            interval=subject.interval,
            duration=min(limits, default=None),
            sink=take,
        )
        made.check_time(subject.timeout)
        for info in made.runs:
            record_run(info)
        finish(made)
    warnings = [*made.warnings, *stopped_runs(int(made.timed_out), subject.timeout)]
    return _Counted(
        provenance, tally, made.events, made.runs, warnings, made.exit_status, made.interrupted
    )


def _several_runs(
    subject: _Subject,
    terms: Terms,
    options: Mapping[str, object],
    provenance: Provenance,
    on_readings: Sink | None,
) -> _Counted:
    """Count a campaign of runs, which goes on where it was interrupted."""
    from gnomon.measure.campaign import Campaign, Plan, Task, one_run, warmups
    from gnomon.measure.identity import identify

    tally, runs = Tally(), list[RunInfo]()
    source = subject.source
    tasks = [Task(0, run) for run in range(terms.repeat)]
    identity = identify([subject.target], [(source, provenance)], options)
    provenance = replace(provenance, campaign=identity)
    plan = Plan(
        "count",
        tasks,
        identity,
        [(path, provenance) for path in terms.outputs],
        warmups(tasks, terms.warmup),
        simulated=source.capabilities.simulated,
    )

    def make(task: Task) -> Measurement:
        return one_run(
            source,
            subject.groups,
            subject.target,
            task,
            interval=subject.interval,
            duration=subject.duration,
            timeout=subject.timeout,
            on_readings=on_readings,
        )

    def take(_: Task, made: Measurement) -> None:
        tally.add(made.readings)
        runs.extend(made.runs)

    with Campaign(plan, terms) as campaign:
        outcome = campaign.carry_out(make, take)
    tally.add(outcome.refused)
    if outcome.cut_short is not None and not runs:  # part of a run tells more than nothing
        take(tasks[0], outcome.cut_short)
        outcome.events, outcome.exit_status = (
            outcome.cut_short.events,
            outcome.cut_short.exit_status,
        )
    warnings = [*outcome.warnings, *outcome.stopped(subject.timeout)]
    return _Counted(
        provenance, tally, outcome.events, runs, warnings, outcome.exit_status, outcome.interrupted
    )


def _suspicious(groups: Sequence[Group], counts: Iterable[EventCount]) -> Iterator[str]:
    """Yield a warning for each raw code that read zero, which may mean nothing on this CPU."""
    raw = {r.label for group in groups for r in group if r.event.kind is Kind.RAW}
    for count in counts:
        if count.event in raw and count.value == 0:
            yield f"{count.event} stayed at zero: the code may mean nothing on this CPU"


def _answer(asked: Asked, counts: tuple[EventCount, ...]) -> tuple[EventCount, ...]:
    if not asked.presets:
        return counts
    from gnomon.analysis.portable import answer

    return answer(asked, counts)


def _as_target(command: Sequence[str] | Target) -> Target:
    if isinstance(command, str):
        raise UsageError("give the command as a list of words, as in ['./program', 'arg'].")
    return Command(tuple(command)) if isinstance(command, Sequence) else command


Recorder = tuple[Sink, Callable[[RunInfo], None], Callable[[Measurement], None]]


@contextmanager
def _recorded(
    output: str | os.PathLike[str] | None, provenance: Provenance, *, overwrite: bool
) -> Iterator[Recorder]:
    """Yield what takes readings, runs and the end; without an output they do nothing."""
    if output is None:
        yield _ignore, _ignore, _ignore
        return
    from gnomon.recording import RecordingWriter

    with RecordingWriter(output, provenance, overwrite=overwrite) as writer:

        def finish(measurement: Measurement) -> None:
            for info in measurement.events:
                writer.add_event(info)
            for text in measurement.warnings:
                writer.warn(text)

        yield writer.append, writer.add_run, finish


def _ignore(_: object) -> None:
    """Let it go: the tally has it."""
