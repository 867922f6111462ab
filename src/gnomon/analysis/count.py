"""Counting events of a program, a process or whole CPUs: the whole way to a result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from gnomon.analysis.summary import CountResult, EventCount, Tally
from gnomon.errors import UsageError
from gnomon.events.event import Group, Kind
from gnomon.events.syntax import Asked, ask
from gnomon.recording.contents import Provenance, Reading, RunInfo
from gnomon.sources.base import Command, Source, Target, preset_table
from gnomon.sources.measure import Measurement, Sink, measure
from gnomon.sources.registry import source_for
from gnomon.units import parse_duration


def count(
    command: Sequence[str] | Target,
    events: str | None = None,
    *,
    repeat: int = 1,
    interval: str | int | None = None,
    duration: str | float | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    by_scope: bool = False,
    on: Source | str | None = None,
    on_readings: Sink | None = None,
    on_run: Callable[[RunInfo], None] | None = None,
) -> CountResult:
    """Count events while a command runs, or on another target.

    `events` is a list as on the command line, `a,b:u,{c,d}`; without one it is a sensible
    choice of what can be counted. `interval` is a text such as `10ms` or a number of ns,
    `duration` a text or a number of seconds. With `output` everything is recorded there.
    `on` says where to count, as `--on` does; without it that is this host, or the source that the
    events are of, as in `valgrind::Ir`.
    """
    if repeat < 1:
        raise UsageError(f"{repeat} runs make no sense: run at least once.")
    target = _as_target(command)
    tick = parse_duration(interval) if isinstance(interval, str) else interval
    if isinstance(duration, str):
        duration = parse_duration(duration, "duration") / 1e9
    source = source_for(events, on=on)
    asked = None if events is None else ask(events, source.resolve, preset_table(source, events))
    groups = source.default_events() if asked is None else asked.groups
    provenance = replace(source.provenance(target), interval=tick)
    if output is not None:
        # What cannot be measured must neither leave an empty recording nor replace one.
        source.open(groups, target).close()
    tally = Tally()
    with _recorded(output, provenance, overwrite=overwrite) as (record, record_run, finish):

        def take(readings: Iterable[Reading]) -> None:
            kept = list(readings)
            tally.add(kept)
            record(kept)
            if on_readings is not None:
                on_readings(kept)

        def end_run(info: RunInfo) -> None:
            record_run(info)
            if on_run is not None:
                on_run(info)

        measurement = measure(
            source,
            groups,
            target,
            repeat=repeat,
            interval=tick,
            duration=duration,
            sink=take,
            on_run=end_run,
        )
        finish(measurement)
    counts = tally.counts(measurement.events, by_scope=by_scope)
    return CountResult(
        provenance=provenance,
        counts=counts if asked is None else _answer(asked, counts),
        runs=tuple(measurement.runs),
        warnings=(*measurement.warnings, *_suspicious(groups, counts)),
        exit_status=measurement.exit_status,
        interrupted=measurement.interrupted,
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
