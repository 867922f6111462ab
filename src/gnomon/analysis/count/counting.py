"""Counting events of a program, a process or whole CPUs: the whole way to a result."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.analysis.summary import Tally, mean, relative_spread
from gnomon.errors import UsageError
from gnomon.events.event import Group, Kind
from gnomon.events.syntax import Asked, ask
from gnomon.measure.run import Measurement, Sink, measure, stopped_runs
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status
from gnomon.sources.base import Command, Cpus, Process, Source, Target, preset_table
from gnomon.sources.registry import source_for
from gnomon.units import parse_duration, parse_seconds

if TYPE_CHECKING:
    from gnomon.analysis.count.result import CountResult, EventCount
    from gnomon.events.presets import Available
    from gnomon.measure.campaign import OnProgress, Terms

Output = str | os.PathLike[str] | bool | None


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
    output: Output = None,
    overwrite: bool = False,
    show_output: bool = False,
    metrics: str | None = None,
    per_scope: bool = False,
    on: Source | str | None = None,
    on_readings: Sink | None = None,
    on_progress: OnProgress | None = None,
) -> CountResult:
    """Count events while a command runs, or on another target.

    `events` is a list as on the command line, `a,b:u,{c,d}`; without one it is a sensible
    choice of what can be counted. `interval` is a text such as `10ms` or a number of ns,
    `duration` a text or a number of seconds. A run that takes longer than `timeout` is ended and
    has status 124; `warmup` runs come first that are not counted. With `output` everything is
    recorded there; True names the recording after the program. Several runs that were interrupted
    go on when the call is repeated; `resume` makes it an error that there is nothing to go on with.
    `metrics` are names as in `ipc,cpu_utilisation`, or `all`; with `per_scope` there is a line for
    each CPU, thread or process. `on` says where to count, as `--on` does; without it that is this
    host, or the source that the events are of, as in `valgrind::Ir`.

    >>> result = gn.count(["true"], "task-clock,page-faults", repeat=2)
    >>> result["page-faults"].value > 0
    True
    """
    if metrics is not None:
        from gnomon.analysis.count.metrics import parse_names

        parse_names(metrics)  # a wrong name is better found before the run
    if repeat < 1:
        raise UsageError("--repeat must be at least 1.")
    target = _as_target(command)
    tick = parse_duration(interval) if isinstance(interval, str) else interval
    limit = parse_seconds(duration, "duration")
    source = source_for(events, on=on)
    place = _place(output, target, resume=resume)
    asked = None if events is None else ask(events, source.resolve, preset_table(source, events))
    groups = source.default_events() if asked is None else asked.groups
    provenance = replace(source.provenance(target), interval=tick)
    if place is not None or repeat > 1:
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
            output=place,
            overwrite=overwrite,
            show_output=show_output,
            on_progress=on_progress,
        )
        counted = _several_runs(subject, terms, options, provenance, on_readings)
    else:
        counted = _single_run(subject, place, provenance, on_readings, overwrite=overwrite)
    counts = counted.tally.counts(counted.events, by_scope=per_scope)
    from gnomon.analysis.count.result import CountResult  # not before the program has run

    result = CountResult(
        counts if asked is None else answer(asked, counts),
        tuple(counted.runs),
        per_scope=per_scope,
        recording=place or "",
        exit_status=counted.exit_status,
        interrupted=counted.interrupted,
        provenance=counted.provenance,
        warnings=(*counted.warnings, *_suspicious(groups, counts)),
    )
    if metrics is None and not any(each.event.startswith("instructions") for each in counts):
        return result  # metrics would say nothing that the rates do not say already
    from gnomon.analysis.count.metrics import metrics_of

    return replace(result, metrics=metrics_of(result, metrics, source))


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
            yield f"{count.event} stayed at zero: the code may not exist on this CPU"


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


def _place(output: Output, target: Target, *, resume: bool) -> str | None:
    """Return where to record, as it will be on disk."""
    if output is None or output is False:
        return None
    if output is True and resume:
        raise UsageError("--resume needs the name of the recording to go on with: write -o REC.")
    name = free_recording(target) if output is True else str(Path(output))
    return f"{name.removesuffix('.gnomon')}.gnomon"


def free_recording(target: Target) -> str:
    """Return a name after what is recorded that no recording has yet."""
    match target:
        case Command(argv=argv) | Cpus(command=Command(argv=argv)):
            # A workload of a simulated machine is written workload:NAME.
            stem = Path(argv[0]).name.rpartition(":")[2] or "run"
        case Process(pid=pid):
            stem = f"process-{pid}"
        case _:
            stem = "cpus"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(name for each in names if not Path(name := f"{each}.gnomon").exists())


# ---- counts in terms of the portable names that were asked for ------------------------------


def answer(asked: Asked, counts: Sequence[EventCount]) -> tuple[EventCount, ...]:
    """Return the counts in the order of what was asked for, portable names computed."""
    if not asked.presets:
        return tuple(counts)
    scopes: dict[str, dict[str, EventCount]] = {}
    for count in counts:
        scopes.setdefault(count.scope, {})[_bare(count.event)] = count
    # What cannot be counted at all is refused in one place, and counted in none of the others.
    refused = {_bare(count.event): count for count in counts if count.value is None}
    lines = [
        _computed(asked.presets[name], scope, found, refused)
        if name in asked.presets
        else found.get(_bare(name))
        for scope, found in scopes.items()
        for name in asked.order
    ]
    known = [line for line in lines if line is not None]
    if len({line.scope for line in known if line.value is not None}) <= 1:
        place = {_bare(name): number for number, name in enumerate(asked.order)}
        known.sort(key=lambda line: place[_bare(line.event)])
    return tuple(known)


def _bare(label: str) -> str:
    """Return a label without the `:u` that a lack of rights may have added."""
    return label.removesuffix(":u")


def _computed(
    preset: Available, scope: str, counts: dict[str, EventCount], refused: dict[str, EventCount]
) -> EventCount | None:
    both = refused | counts
    operands = [both[event.name] for event in preset.operands if event.name in both]
    if len(operands) < len(preset.operands) or not any(o.scope == scope for o in operands):
        return None
    missing = next((operand for operand in operands if operand.value is None), None)
    names = preset.definition.events
    # A refusal has one reading however many runs there were.
    runs = zip(*(operand.values for operand in operands), strict=missing is None)
    values = [
        preset.definition.evaluate(_whole(dict(zip(names, run, strict=True)))) for run in runs
    ]
    known = [value for value in values if value is not None]
    from gnomon.analysis.count.result import EventCount

    scaled = any(operand.status is Status.SCALED for operand in operands)
    return EventCount(
        event=preset.name,
        value=mean(known),
        unit=operands[0].unit,
        status=missing.status if missing else Status.SCALED if scaled else Status.COUNTED,
        running=min((o.running for o in operands if o.running is not None), default=None),
        scope=scope,
        spread=relative_spread(known) if len(values) > 1 else None,
        values=tuple(values),
    )


def _whole(inputs: dict[str, float | None]) -> dict[str, int | None]:
    return {name: None if value is None else round(value) for name, value in inputs.items()}
