"""Measuring how long the loads of a program take, from thresholds or from samples."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gnomon.analysis.latency.recorded import (
    SIGNAL,
    joined,
    latency_of,
    result_of,
    samples_in,
    slices_in,
)
from gnomon.analysis.latency.result import LatencyResult, Mode, Reference
from gnomon.analysis.latency.run import (
    DEFAULT,
    MakeTaker,
    Measured,
    Slice,
    checked_edges,
    count_sweeps,
    parse_edges,
    take_samples,
)
from gnomon.errors import GnomonError, UsageError
from gnomon.measure.campaign import (
    Campaign,
    Plan,
    Task,
    Terms,
    as_repeated,
    lost_input,
    warmups,
)
from gnomon.measure.identity import identify
from gnomon.measure.run import TIMED_OUT, Measurement, Stopper, stopped_runs
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Sample, Status
from gnomon.sources.base import Target
from gnomon.sources.latency import blind_spots
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.measure.campaign import OnProgress
    from gnomon.recording import RecordingWriter
    from gnomon.sources.base import Source
    from gnomon.sources.latency import LatencyStream, StreamedSlice

SLICE = "10ms"
SIMULATED_SLICE = "10us"  # simulated programs take milliseconds

OnResult = Callable[[LatencyResult], None]


def latency(
    what: Any = None,
    edges: str | Sequence[int] | None = None,
    *,
    samples: bool = False,
    slice: str | int | None = None,  # noqa: A002
    period: int | None = None,
    duration: str | float | None = None,
    repeat: int = 1,
    timeout: str | float | None = None,
    warmup: int = 0,
    resume: bool = False,
    seed: int = 1,
    latencies: str | os.PathLike[str] | Sequence[Reference] | None = None,
    cost: bool = False,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    show_output: bool = False,
    on: Source | str | None = None,
    token_file: str | None = None,
    on_result: OnResult | None = None,
    on_progress: OnProgress | None = None,
) -> LatencyResult:
    """Measure how long the loads of a program take.

    `what` is a command as a list of words, a target, or the path of a recording. `edges` bound the
    bins, in cycles. Without `samples` loads above each edge are counted in turns of `slice`, 10 ms
    by default (10 us of simulated time); with it, every `period`-th load is sampled. `latencies`,
    or a file of them, name the peaks; without them those of a simulated machine are measured on it.
    With `cost` the result is shown by cycles spent. `on` says where to measure, as
    `--on` does; a probe, which proves who asks by the token in `token_file`, decides itself what it
    measures. `on_result` is shown what is known so far, now and then.

    With `repeat` all runs go into one histogram, after `warmup` runs that do not; a run that takes
    longer than `timeout` is stopped. What was interrupted goes on when the call is repeated;
    `resume` makes it an error that there is nothing to go on with.

    >>> words = ["workload:random", "dependent=yes", "accesses=5000", "cpus=0"]
    >>> result = gn.latency(words, "3,10:100:10", on="ring-4", output="loads.gnomon")
    >>> result.bins[0].low
    3
    """
    from gnomon.sources.base import as_target
    from gnomon.sources.latency import StreamsLatency, find_facility
    from gnomon.sources.registry import source as chosen_source
    from gnomon.units import parse_duration, parse_seconds

    if period is not None and period < 1:
        raise UsageError(f"--period must be at least 1, not {period}.")
    references: Sequence[Reference] | None
    if isinstance(latencies, str | os.PathLike):
        from gnomon.analysis.latency.peaks import read_references

        references = read_references(latencies)
    else:
        references = latencies
    if isinstance(what, str | os.PathLike):
        return replace(latency_of(what, edges, references=references), by_cost=cost)
    source = chosen_source(on, usual_seed=seed)
    edges = DEFAULT if edges is None else edges
    bounds = parse_edges(edges) if isinstance(edges, str) else checked_edges(edges)
    seconds = parse_seconds(duration, "duration")
    if isinstance(source, StreamsLatency):
        if what is not None:
            raise UsageError(f"{source.name} decides itself what it measures: name nothing else.")
        if samples:
            raise UsageError(
                "a probe counts above thresholds and takes no samples: omit --samples."
            )
        step = SLICE if slice is None else slice
        slice_ns = parse_duration(step, "slice") if isinstance(step, str) else step
        found = watch_probe(
            source.stream(bounds, slice_ns, seed=seed, token_file=token_file),
            duration=seconds,
            references=references or (),
            output=output,
            overwrite=overwrite,
            on_result=on_result,
        )
        return replace(found, by_cost=cost)
    if what is None:
        raise UsageError("nothing to measure: give a command as a list of words, or a target.")
    target = as_target(what)
    facility = find_facility(source)
    step = slice_length(slice, source, target)
    known = _references(source, target, references)
    origin = replace(source.provenance(target), interval=None if samples else step)
    mode = Mode.SAMPLES if samples else Mode.THRESHOLDS

    def shown(measured: Measured) -> LatencyResult:
        result = result_of(measured, bounds, origin, mode, known, facility.blind)
        return replace(result, by_cost=cost)

    shows = Watcher(shown, on_result)
    terms = Terms(
        repeat=repeat,
        seed=seed,
        timeout=parse_seconds(timeout, "timeout"),
        warmup=warmup,
        resume=resume,
        output=output,
        overwrite=overwrite,
        show_output=show_output,
        on_progress=on_progress,
    )
    every = facility.default_period if period is None else period

    def one_run(writer: MakeTaker, run: int, longest: float | None, target: Target) -> Measured:
        limits = [limit for limit in (seconds, longest) if limit is not None]
        limit = min(limits, default=None)
        if samples:
            return take_samples(
                source,
                facility,
                target,
                threshold=bounds[0],
                period=every,
                duration=limit,
                writer=writer,
                on_samples=shows.samples,
            )
        return count_sweeps(
            source,
            facility,
            bounds,
            target,
            length=step,
            duration=limit,
            seed=seed + run,  # sweeps begin elsewhere in each run
            writer=writer,
            on_slice=shows.slices,
        )

    if repeat > 1 or warmup or resume:
        options = {
            "--edges": ",".join(map(str, bounds)),
            "--samples": samples,
            "--slice": step,
            "--period": every if samples else None,
            "-d": seconds,
            "--repeat": repeat,
            "--seed": seed,
        }
        return shown(measure_runs(one_run, terms, (source, target, origin), options))
    with ExitStack() as stack:

        def writer(infos: tuple[EventInfo, ...]) -> RecordingWriter | None:
            if output is None:
                return None
            from gnomon.recording import RecordingWriter

            return stack.enter_context(RecordingWriter(output, origin, infos, overwrite=overwrite))

        measured = one_run(writer, 0, terms.timeout, target)
        run, limit = measured.run, terms.timeout
        if limit is not None and run.end - run.start >= limit * 1e9:
            measured.run = replace(run, exit_status=run.exit_status or TIMED_OUT)
            measured.warnings += stopped_runs(1, limit)
    return shown(measured)


class Watcher:
    """Shows what is known so far, a few times a second of real time."""

    _EVERY = 0.25

    def __init__(
        self, shown: Callable[[Measured], LatencyResult], on_result: OnResult | None
    ) -> None:
        self._shown = shown
        self._on_result = on_result
        self._next = 0.0

    def slices(self, slices: Sequence[Slice]) -> None:
        if self._due():
            self._show(Measured(slices=list(slices)))

    def samples(self, samples: Sequence[Any]) -> None:
        if self._due():
            self._show(Measured(samples=list(samples)))

    def _due(self) -> bool:
        import time

        if self._on_result is None or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + self._EVERY
        return True

    def _show(self, measured: Measured) -> None:
        try:
            result = self._shown(measured)
        except GnomonError:
            return  # the first sweep is not over yet
        assert self._on_result is not None
        self._on_result(result)


def slice_length(length: str | int | None, source: Source, target: Target) -> int:
    """Return how long a threshold is counted at a time, in ns."""
    from gnomon.units import parse_duration

    if length is None:
        length = (
            SIMULATED_SLICE if source.capabilities.own_time and not _is_signal(target) else SLICE
        )
    return parse_duration(length, "slice") if isinstance(length, str) else length


def _is_signal(target: Target) -> bool:
    """Whether what is measured is made up, with latencies of its own and real time."""
    from gnomon.sources.base import Command

    return isinstance(target, Command) and "".join(target.argv[:1]).startswith(SIGNAL)


def _references(
    source: Source, target: Target, references: Sequence[Reference] | None
) -> tuple[Reference, ...]:
    if references is not None:
        return tuple(references)
    from gnomon.sources.simulated.simulator import Simulator

    if not isinstance(source, Simulator) or _is_signal(target):
        return ()
    from gnomon.analysis.latency.peaks import chased

    return chased(source.machine)


# ---- several runs, as a campaign --------------------------------------------------------

MakeRun = Callable[[MakeTaker, int, float | None, Target], Measured]
"""Measures one run: what takes its readings, its number, its longest time in s, and of what."""


@dataclass(slots=True)
class _Held:
    """Takes what a run gives, to be kept when it is over."""

    readings: list[Reading] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def append(self, readings: Iterable[Reading]) -> None:
        self.readings += readings

    def append_samples(self, samples: Iterable[Sample]) -> None:
        self.samples += samples

    def add_run(self, run: RunInfo) -> None:
        """Leave it: a run of a campaign is kept with its own number."""


def measure_runs(
    make_run: MakeRun,
    terms: Terms,
    subject: tuple[Source, Target, Provenance],
    options: Mapping[str, object],
) -> Measured:
    """Make the runs, and return what all of them gave together."""
    source, target, origin = subject
    tasks = [Task(0, run) for run in range(terms.repeat)]
    plan = Plan(
        "latency",
        tasks,
        identify([target], [(source, origin)], options),
        [(path, origin) for path in terms.outputs],
        warmups(tasks, terms.warmup),
        simulated=source.capabilities.simulated,
    )
    together = Measured()
    runs: list[RunInfo] = []

    def make(task: Task) -> Measurement:
        held = _Held()
        ours = as_repeated(target, task)
        measured = make_run(lambda _: held, task.run, terms.timeout, ours)
        made = Measurement(
            events=measured.events,
            readings=[reading._replace(run=task.run) for reading in held.readings],
            samples=[sample._replace(run=task.run) for sample in held.samples],
            runs=[replace(measured.run, run=task.run)],
            warnings=[*measured.warnings, *lost_input(target)],
            exit_status=measured.run.exit_status or 0,
            interrupted=measured.interrupted,
        )
        made.check_time(terms.timeout)
        return made

    def take(_: Task, made: Measurement) -> None:
        together.events = made.events
        together.slices += slices_in(made.readings)
        together.samples += samples_in(made.samples)
        runs.extend(made.runs)

    with Campaign(plan, terms) as campaign:
        outcome = campaign.carry_out(make, take)
    if not runs:
        raise GnomonError("interrupted before the first run ended: nothing to show.")
    together.run = joined(runs)
    together.warnings = [*outcome.warnings, *outcome.stopped(terms.timeout)]
    together.interrupted = outcome.interrupted
    return together


# ---- of another host, as a probe there streams them -------------------------------------------


EVENT = "mem-loads"


def watch_probe(
    viewer: LatencyStream,
    *,
    duration: float | None = None,
    references: Sequence[Reference] = (),
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_result: OnResult | None = None,
) -> LatencyResult:
    """Listen to a probe until it ends, `duration` seconds are over, or somebody presses Ctrl-C.

    The time begins when the probe first sends something.
    """
    measured = Measured()
    start = time.monotonic_ns()
    started_at = utc_now(milliseconds=True)
    length = float("inf") if duration is None else duration
    deadline = time.monotonic() + viewer.patience + length

    def shown(so_far: Measured) -> LatencyResult:
        if viewer.lost:
            so_far.warnings.append("the connection to the probe was lost: reconnecting")
        return _result(viewer, so_far, references)

    watcher = Watcher(shown, on_result)
    with ExitStack() as stack, Stopper().installed() as stopper:

        def over() -> bool:
            return stopper.requested or time.monotonic() >= deadline

        writer: RecordingWriter | None = None
        for batch in viewer.slices(over):
            if batch and not measured.slices:
                deadline = time.monotonic() + length
            if writer is None and output is not None:
                writer = stack.enter_context(_writer(viewer, output, overwrite=overwrite))
            for each in batch:
                measured.slices.append(Slice(each.time, each.edge, each.loads, each.running))
            if writer is not None:
                writer.append(_reading(row) for row in batch)
            watcher.slices(measured.slices)
        measured.interrupted = stopper.requested
        measured.run = RunInfo(0, 0, start, time.monotonic_ns(), None, started_at)
        measured.warnings += _remarks(viewer)
        if writer is not None:
            writer.add_run(measured.run)
            for text in measured.warnings:
                writer.warn(text)
    if not measured.slices:
        why = f": {viewer.ended}" if viewer.ended else ": let it run longer."
        raise GnomonError(f"the probe sent nothing{why}")
    return _result(viewer, measured, references)


def _remarks(viewer: LatencyStream) -> list[str]:
    remarks = list(viewer.warnings)
    if viewer.reconnections:
        times = "once" if viewer.reconnections == 1 else f"{viewer.reconnections} times"
        remarks.append(f"the probe was lost and found again {times}; no slice counts twice")
    if viewer.missed:
        remarks.append(f"{viewer.missed} slices were dropped by the probe while nobody listened")
    return remarks


def _result(
    viewer: LatencyStream, measured: Measured, references: Sequence[Reference]
) -> LatencyResult:
    origin = _provenance(viewer)
    blind = blind_spots((EVENT,), simulated=origin.simulated)
    return result_of(measured, viewer.edges, origin, Mode.THRESHOLDS, references, blind)


def _provenance(viewer: LatencyStream) -> Provenance:
    from gnomon import __version__

    told = viewer.welcome
    return Provenance(
        source="probe",
        simulated=bool(told.get("simulated")),
        target=f"{told.get('target', '')} of {told.get('host', '')}",
        host=str(told.get("host", "")),
        cpus=int(told.get("cpus") or 0),
        kernel=str(told.get("kernel", "")),
        gnomon=__version__,
        python=sys.version.split(maxsplit=1)[0],
        created=utc_now(),
        interval=viewer.slice_ns,
        seed=viewer.seed,
    )


def _writer(
    viewer: LatencyStream, output: str | os.PathLike[str], *, overwrite: bool
) -> RecordingWriter:
    from gnomon.recording import RecordingWriter

    infos = [
        EventInfo(f"{EVENT}:ldlat={edge}", f"loads slower than {edge} cycles")
        for edge in viewer.edges
    ]
    return RecordingWriter(output, _provenance(viewer), infos, overwrite=overwrite)


def _reading(row: StreamedSlice) -> Reading:
    event = f"{EVENT}:ldlat={row.edge}"
    return Reading(row.time, event, "system", row.loads, row.running, row.running, Status.COUNTED)
