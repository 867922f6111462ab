"""From a recording, a command or plain series to phases; a command is run, and recorded for it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.analysis.count import count
from gnomon.analysis.phases.result import (
    INTERVAL,
    MAX_PHASES,
    MIN_POINTS,
    Phase,
    PhaseCount,
    PhaseFit,
    PhaseSeries,
    PhasesResult,
    Shape,
)
from gnomon.errors import GnomonError, UsageError
from gnomon.measure.keep import write_run
from gnomon.measure.run import TIMED_OUT, Measurement
from gnomon.recording.contents import RunInfo
from gnomon.sources.abilities import TellsFootprint
from gnomon.sources.base import Command, Cpus, Process, Source, Target, Thread
from gnomon.sources.registry import source
from gnomon.units import format_duration, parse_duration

if TYPE_CHECKING:
    from gnomon.measure.campaign import OnProgress, Terms
    from gnomon.recording import Recording

_NANOSECONDS = 1e9


def phases(
    what: Any,
    by: str | Sequence[str] = "footprint",
    *,
    max_phases: int = MAX_PHASES,
    exactly: int | None = None,
    shape: str = "auto",
    min_points: int = MIN_POINTS,
    run: int | None = None,
    events: str | None = None,
    interval: str | int = INTERVAL,
    repeat: int = 1,
    duration: str | float | None = None,
    timeout: str | float | None = None,
    warmup: int = 0,
    resume: bool = False,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    show_output: bool = False,
    on: Source | str | None = None,
    on_progress: OnProgress | None = None,
) -> PhasesResult:
    """Split a run into phases.

    `what` is a recording or its path; a command, as a list of words, or another target, to be
    recorded for `duration`; a `PhaseSeries` or several; or a pair of times and values. `by` names
    what a recording is split by: `footprint`, or events, several separated by commas. `shape` is
    `lines`, `hinge`, `levels`, or `auto`: levels for rates, otherwise what BIC prefers.
    `exactly` asks for so many phases without asking whether noise could show them. `on`
    says where a command is counted; by default on this host, with the command's footprint.
    `timeout` stops a command, whose phases are then those of what it has done. `repeat` runs are
    made after `warmup` that are not counted, and `run` names the one to split, the first without
    it; several that were interrupted go on when the call is repeated, and `resume` makes it an
    error that there is nothing to go on with.

    >>> levels = [float(time > 100) + time % 3 / 50 for time in range(200)]
    >>> len(gn.phases((range(200), levels), shape="levels").phases)
    2
    """
    from gnomon.recording import Recording

    options = _Options(max_phases, exactly, shape, min_points)
    options.check()
    names = tuple(n.strip() for n in (by.split(",") if isinstance(by, str) else by) if n.strip())
    if not names:
        raise UsageError("nothing to split by: name the footprint or an event.")
    if isinstance(what, Recording):
        return _of_recording(what, names, run, options)
    if isinstance(what, str | os.PathLike):
        with Recording.open(what) as recording:
            return _of_recording(recording, names, run, options)
    target = _target(what)
    if target is None:
        return _of_series(_as_series(what), options)
    if isinstance(target, Cpus) and "footprint" in names:
        raise UsageError(
            "whole CPUs have no footprint: split by events, as in --by context-switches."
        )
    from gnomon.measure.campaign import Terms
    from gnomon.units import parse_seconds

    with watched(
        target,
        _to_count(events, names),
        interval=interval,
        duration=parse_seconds(duration, "duration"),
        terms=Terms(
            repeat=repeat,
            timeout=parse_seconds(timeout, "timeout"),
            warmup=warmup,
            resume=resume,
            output=output,
            overwrite=overwrite,
            show_output=show_output,
            on_progress=on_progress,
        ),
        on=on,
    ) as (recording, watch):
        try:
            result = _of_recording(recording, names, run, options)
        except GnomonError as error:
            if not watch.warnings:
                raise
            raise GnomonError(f"{watch.warnings[0]}; {error}") from None
    return replace(
        result,
        exit_status=watch.exit_status,
        interrupted=watch.interrupted,
        warnings=(*result.warnings, *watch.warnings),
    )


class _Options:
    """How to split."""

    def __init__(self, max_phases: int, exactly: int | None, shape: str, min_points: int) -> None:
        self.max_phases = max_phases
        self.exactly = exactly
        self.shape = shape
        self.min_points = min_points

    def check(self) -> None:
        """Raise what is wrong with the options, before anything is run."""
        if self.max_phases < 1 or (self.exactly is not None and self.exactly < 1):
            raise UsageError("the number of phases must be at least 1.")
        if self.min_points < 3:
            raise UsageError("a phase needs at least 3 points: any line fits fewer.")
        shapes = self.shapes(only_rates=False)
        if shapes == (Shape.HINGE,) and (self.exactly or 1) > 2:
            raise UsageError("a hinge has two phases: ask for at most 2, or use --shape lines.")

    def shapes(self, *, only_rates: bool) -> tuple[Shape, ...]:
        """Return the shapes to try for these series."""
        if self.shape == "auto":
            return (Shape.LEVELS,) if only_rates else tuple(Shape)
        if self.shape not in set(Shape):
            raise UsageError(
                f"'{self.shape}' is not a shape: choose from auto, {', '.join(Shape)}."
            )
        return (Shape(self.shape),)


def _target(what: Any) -> Target | None:
    if isinstance(what, Command | Process | Thread | Cpus):
        return what
    words = isinstance(what, Sequence) and what and all(isinstance(word, str) for word in what)
    return Command(tuple(what)) if words else None


def _to_count(events: str | None, by: tuple[str, ...]) -> str | None:
    """Return the events to count: those asked for, and those to split by."""
    asked = events.split(",") if events else []
    more = [n for n in by if n.partition(":")[0] != "footprint" and n not in asked]
    return ",".join(asked + more) or None


def _as_series(what: Any) -> tuple[PhaseSeries, ...]:
    import numpy as np

    if isinstance(what, PhaseSeries):
        return (what,)
    try:
        if len(what) and all(isinstance(one, PhaseSeries) for one in what):
            return tuple(what)
        times, values = (np.asarray(row, dtype=np.float64) for row in what)
    except (TypeError, ValueError):
        raise UsageError(
            "give a recording, a command as a list of words, or times and values: "
            "gn.phases((times, values))."
        ) from None
    return (PhaseSeries("values", times, values),)


def _of_recording(
    recording: Recording, by: tuple[str, ...], run: int | None, options: _Options
) -> PhasesResult:
    from gnomon.analysis.phases.observe import counts_between, observe, resolve, series_of

    observed = observe(recording, by, run)
    series = series_of(observed, resolve(recording, by))
    result = _split(series, options, start=0.0, end=observed.end, unit=_NANOSECONDS)
    edges = [result.phases[0].start, *(phase.end for phase in result.phases)]
    counts = counts_between(observed.slices.values(), edges)
    return replace(
        result,
        phases=tuple(
            replace(phase, counts=some, fits=_as_counted(phase.fits, some))
            for phase, some in zip(result.phases, counts, strict=True)
        ),
        time_unit="ns",
        origin=observed.origin,
        provenance=recording.provenance,
        warnings=(*observed.warnings, *result.warnings),
    )


def _as_counted(fits: tuple[PhaseFit, ...], counts: tuple[PhaseCount, ...]) -> tuple[PhaseFit, ...]:
    """Return fits whose mean of a rate is the one that was counted: a phase has one rate."""
    rates = {count.event: count.rate for count in counts}
    return tuple(
        fit if rates.get(fit.series) is None else replace(fit, mean=rates[fit.series])
        for fit in fits
    )


def _of_series(series: tuple[PhaseSeries, ...], options: _Options) -> PhasesResult:
    return _split(series, options, start=None, end=None, unit=1.0)


def _split(
    series: tuple[PhaseSeries, ...],
    options: _Options,
    *,
    start: float | None,
    end: float | None,
    unit: float,
) -> PhasesResult:
    from gnomon.analysis.phases.split import fits, split

    shapes = options.shapes(only_rates=all(one.is_rate for one in series))
    answer = split(series, shapes, options.max_phases, options.min_points, options.exactly)
    times = series[0].times
    edges = [
        float(times[0]) if start is None else start,
        *(one.time for one in answer.breaks),
        float(times[-1]) if end is None else end,
    ]
    points = [0, *answer.choice.breaks, times.size]
    made = tuple(
        Phase(edges[i], edges[i + 1], points[i + 1] - points[i], some)
        for i, some in enumerate(fits(series, answer, edges, unit))
    )
    return PhasesResult(
        series=series,
        phases=made,
        breaks=answer.breaks,
        shape=answer.choice.shape,
        choices=answer.choices,
        decision=answer.decision,
        warnings=answer.warnings,
    )


@dataclass(frozen=True, slots=True)
class Watch:
    """How the command ended, and what is to be said about that."""

    exit_status: int
    interrupted: bool
    warnings: tuple[str, ...] = ()


@contextmanager
def watched(
    target: Target,
    events: str | None,
    *,
    interval: str | int,
    duration: float | None = None,
    terms: Terms,
    on: Source | str | None = None,
) -> Iterator[tuple[Recording, Watch]]:
    """Record a target and yield the recording, which without an output is kept for the block."""
    from gnomon.recording import Recording

    chosen = source(on)
    counting = chosen
    if isinstance(chosen, TellsFootprint) and isinstance(target, Command | Process):
        counting = chosen.with_footprint()
    seconds, output = terms.timeout, terms.output
    with tempfile.TemporaryDirectory(prefix="gnomon-phases-") as folder:
        place = Path(folder) / "run.gnomon" if output is None else output
        if terms.repeat == 1 and not terms.warmup and not terms.resume:
            counted = count(
                target,
                events,
                interval=interval,
                duration=duration,
                timeout=seconds,
                output=place,
                overwrite=terms.overwrite,
                on=counting,
            )
            if not counted.runs:
                missing = "; ".join(f"{each.event}: {each.status}" for each in counted.counts)
                raise GnomonError(f"nothing to split by could be counted ({missing}); see --by.")
            last, interrupted = counted.runs[0], counted.interrupted
        else:
            tick = parse_duration(interval) if isinstance(interval, str) else interval
            terms = replace(terms, output=place) if output is not None else terms
            subject = _Subject(counting, target, tick, duration)
            last, interrupted = _several(subject, events, terms, Path(place))
        late = seconds is not None and last.end - last.start >= seconds * 1e9
        status = last.exit_status or (TIMED_OUT if late else 0)
        doubts = tuple(_doubts(status, seconds, late))
        with Recording.open(place) as recording:
            yield recording, Watch(status, interrupted, doubts)


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is recorded, how often it is read, and for how long."""

    source: Source
    target: Target
    interval: int
    duration: float | None


def _several(
    subject: _Subject, events: str | None, terms: Terms, place: Path
) -> tuple[RunInfo, bool]:
    """Make the runs, and have all of them in a recording; returns the last and whether it is cut.

    Without an output the recording is there for the moment only, and the runs are in the cache
    until all of them are made.
    """
    from gnomon.measure.campaign import Campaign, Plan, Task, one_run, prepare, warmups
    from gnomon.measure.identity import identify
    from gnomon.recording import RecordingWriter

    source, target = subject.source, subject.target
    interval, duration = subject.interval, subject.duration
    groups = prepare(source, events, [target])
    origin = replace(source.provenance(target), interval=interval)
    options = {"-e": events, "--repeat": terms.repeat, "-i": interval, "-d": duration}
    tasks = [Task(0, run) for run in range(terms.repeat)]
    plan = Plan(
        "phases",
        tasks,
        identify([target], [(source, origin)], options),
        [(path, origin) for path in terms.outputs],
        warmups(tasks, terms.warmup),
        simulated=source.capabilities.simulated,
    )
    runs: list[RunInfo] = []
    with ExitStack() as stack:
        writer = None if terms.outputs else stack.enter_context(RecordingWriter(place, origin))

        def make(task: Task) -> Measurement:
            return one_run(
                source, groups, target, task,
                interval=interval, duration=duration, timeout=terms.timeout,
            )  # fmt: skip

        def take(_: Task, made: Measurement) -> None:
            runs.extend(made.runs)
            if writer is not None:
                write_run(writer, made)

        with Campaign(plan, terms) as campaign:
            outcome = campaign.carry_out(make, take)
        outcome.check_counted()
        if writer is not None:
            for text in outcome.warnings:
                writer.warn(text)
    if not runs:
        raise GnomonError("interrupted before the first run ended: nothing to split.")
    return runs[-1], outcome.interrupted


def _doubts(status: int, seconds: float | None, late: bool) -> Iterator[str]:
    if late and seconds is not None:
        yield (
            f"the command was stopped after {format_duration(round(seconds * 1e9))}: "
            "these are the phases up to then; allow more time with --timeout"
        )
    elif status:
        yield f"the command ended with status {status}: check that it did its work"
