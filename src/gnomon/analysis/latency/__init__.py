"""How long loads take: a histogram of latencies, from thresholds or from samples.

result = gn.latency(["workload:random"], on="ring-4")
for peak in result.peaks:
    print(peak.name, peak.cycles, peak.share)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gnomon import lazy_names
from gnomon.analysis.latency.edges import DEFAULT, checked_edges, parse_edges
from gnomon.analysis.latency.model import (
    LatencyBin,
    LatencyResult,
    Mode,
    Peak,
    Reference,
    Slice,
)
from gnomon.errors import GnomonError, UsageError
from gnomon.recording.contents import EventInfo, Provenance

if TYPE_CHECKING:
    from gnomon.analysis.latency.measure import MakeTaker, Measured
    from gnomon.analysis.latency.sweeps import SweepOrder
    from gnomon.analysis.latency.threshold import histogram
    from gnomon.measure.campaign import OnProgress
    from gnomon.recording import Recording, RecordingWriter
    from gnomon.sources.base import Source, Target

__all__ = [
    "DEFAULT",
    "LatencyBin",
    "LatencyResult",
    "Mode",
    "Peak",
    "Reference",
    "Slice",
    "SweepOrder",
    "histogram",
    "latency",
    "latency_of",
    "parse_edges",
    "result_of",
]

SLICE = "10ms"
SIMULATED_SLICE = "10us"  # simulated programs take milliseconds
_SIGNAL = "signal:"
_BEYOND = 0.05  # more of the loads than this beyond the last edge are worth a warning

OnResult = Callable[[LatencyResult], None]


def latency(
    what: Any = None,
    edges: str | Sequence[int] = DEFAULT,
    *,
    samples: bool = False,
    length: str | int | None = None,
    period: int | None = None,
    duration: str | float | None = None,
    repeat: int = 1,
    timeout: str | float | None = None,
    warmup: int = 0,
    resume: bool = False,
    seed: int = 1,
    references: Sequence[Reference] | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on: Source | str | None = None,
    token_file: str | None = None,
    on_result: OnResult | None = None,
    on_progress: OnProgress | None = None,
) -> LatencyResult:
    """Measure how long the loads of a program take.

    `what` is a command as a list of words, or a target. `edges` bound the bins, in cycles. Without
    `samples` loads above each edge are counted in turns of `length`, 10 ms by default (10 us of
    simulated time); with it, every `period`-th load is sampled. `references` name the peaks;
    without them those of a simulated machine are measured on it. `on` says where to measure, as
    `--on` does; a probe, which proves who asks by the token in `token_file`, decides itself what it
    measures. `on_result` is shown what is known so far, now and then.

    With `repeat` all runs go into one histogram, after `warmup` runs that do not; a run that takes
    longer than `timeout` is stopped. What was interrupted goes on when the call is repeated;
    `resume` makes it an error that there is nothing to go on with.
    """
    from gnomon.analysis.estimate.observe import as_target
    from gnomon.analysis.latency.measure import count_sweeps, take_samples
    from gnomon.measure.campaign import Terms
    from gnomon.measure.run import TIMED_OUT, stopped_runs
    from gnomon.sources.latency import StreamsLatency, find_facility
    from gnomon.sources.registry import source as chosen_source
    from gnomon.units import parse_duration, parse_seconds

    source = chosen_source(on, usual_seed=seed)
    bounds = parse_edges(edges) if isinstance(edges, str) else checked_edges(edges)
    seconds = parse_seconds(duration, "duration")
    if isinstance(source, StreamsLatency):
        if what is not None:
            raise UsageError(f"{source.name} decides itself what it measures: name nothing else.")
        if samples:
            raise UsageError("a probe counts above thresholds: leave out --samples.")
        from gnomon.analysis.latency.remote import watch_probe

        step = SLICE if length is None else length
        slice_ns = parse_duration(step, "slice") if isinstance(step, str) else step
        return watch_probe(
            source.stream(bounds, slice_ns, seed=seed, token_file=token_file),
            duration=seconds,
            references=references or (),
            output=output,
            overwrite=overwrite,
            on_result=on_result,
        )
    if what is None:
        raise UsageError("nothing to measure: give a command as a list of words, or a target.")
    target = as_target(what)
    facility = find_facility(source)
    step = slice_length(length, source, target)
    known = _references(source, target, references)
    origin = replace(source.provenance(target), interval=None if samples else step)
    mode = Mode.SAMPLES if samples else Mode.THRESHOLDS

    def shown(measured: Measured) -> LatencyResult:
        return result_of(measured, bounds, origin, mode, known, facility.blind)

    shows = _Watcher(shown, on_result)
    terms = Terms(
        repeat=repeat,
        seed=seed,
        timeout=parse_seconds(timeout, "timeout"),
        warmup=warmup,
        resume=resume,
        output=output,
        overwrite=overwrite,
        on_progress=on_progress,
    )
    every = facility.default_period if period is None else period

    def one_run(writer: MakeTaker, run: int, longest: float | None) -> Measured:
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
        from gnomon.analysis.latency.repeated import measure_runs

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

        measured = one_run(writer, 0, terms.timeout)
        run, limit = measured.run, terms.timeout
        if limit is not None and run.end - run.start >= limit * 1e9:
            measured.run = replace(run, exit_status=run.exit_status or TIMED_OUT)
            measured.warnings += stopped_runs(1, limit)
    return shown(measured)


class _Watcher:
    """Shows what is known so far, a few times a second of real time."""

    _EVERY = 0.25

    def __init__(
        self, shown: Callable[[Measured], LatencyResult], on_result: OnResult | None
    ) -> None:
        self._shown = shown
        self._on_result = on_result
        self._next = 0.0

    def slices(self, slices: Sequence[Slice]) -> None:
        from gnomon.analysis.latency.measure import Measured

        if self._due():
            self._show(Measured(slices=list(slices)))

    def samples(self, samples: Sequence[Any]) -> None:
        from gnomon.analysis.latency.measure import Measured

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

    return (
        isinstance(target, Command)
        and target.argv[:1] != ()
        and (target.argv[0].startswith(_SIGNAL))
    )


def _references(
    source: Source, target: Target, references: Sequence[Reference] | None
) -> tuple[Reference, ...]:
    if references is not None:
        return tuple(references)
    from gnomon.sources.simulated.simulator import Simulator

    if not isinstance(source, Simulator) or _is_signal(target):
        return ()
    from gnomon.analysis.latency.references import chased

    return chased(source.machine)


def result_of(
    measured: Measured,
    edges: Sequence[int],
    provenance: Provenance,
    mode: Mode,
    references: Sequence[Reference] = (),
    blind: Sequence[str] = (),
) -> LatencyResult:
    """Make a histogram with named peaks of what was measured."""
    from gnomon.analysis.latency.peaks import find_peaks
    from gnomon.analysis.latency.samples import sample_histogram
    from gnomon.analysis.latency.threshold import LEAST_SWEEPS, histogram

    warnings = list(measured.warnings)
    if mode is Mode.SAMPLES:
        if not measured.samples:
            raise GnomonError("no load was sampled: let it run longer, or sample more often.")
        bins = sample_histogram(measured.samples, edges)
        readings, sweeps = len(measured.samples), 0
        seconds = (measured.run.end - measured.run.start) / 1e9
    else:
        bins, sweeps, seconds = histogram(measured.slices, edges)
        readings = len(measured.slices)
        if sweeps < LEAST_SWEEPS:
            warnings.append(
                f"only {sweeps} sweeps over the edges: intervals know of chance alone, not of "
                "phases; let it run longer, or use shorter slices or fewer edges"
            )
    beyond = bins[-1].monotone / (sum(each.monotone for each in bins) or 1.0)
    if beyond > _BEYOND:
        warnings.append(
            f"{beyond:.0%} of the loads took {edges[-1]} cycles or more, beyond the last edge, and "
            f"count as {edges[-1]} in what they cost: give higher --edges, as in "
            f"3,10:{edges[-1]}:{max(edges[-1] // 10, 1)},"
            f"{2 * edges[-1]}:{10 * edges[-1]}:{edges[-1]}"
        )
    return LatencyResult(
        mode=mode,
        edges=tuple(edges),
        bins=bins,
        readings=readings,
        sweeps=sweeps,
        seconds=seconds,
        provenance=provenance,
        peaks=find_peaks(bins, references),
        references=tuple(references),
        blind=tuple(blind),
        warnings=tuple(warnings),
        exit_status=measured.run.exit_status,
        interrupted=measured.interrupted,
    )


def latency_of(
    recording: Recording | str | os.PathLike[str],
    edges: str | Sequence[int] | None = None,
    *,
    references: Sequence[Reference] | None = None,
) -> LatencyResult:
    """Return the histogram of a recording, over its own edges or some of them."""
    from gnomon.analysis.latency.recorded import measured_in
    from gnomon.recording import Recording

    if not isinstance(recording, Recording):
        with Recording.open(recording) as opened:
            return latency_of(opened, edges, references=references)
    measured, counted = measured_in(recording)
    mode = Mode.THRESHOLDS if measured.slices else Mode.SAMPLES
    bounds = counted if edges is None else None
    if bounds is None or mode is Mode.SAMPLES:
        asked = DEFAULT if edges is None else edges
        bounds = parse_edges(asked) if isinstance(asked, str) else checked_edges(asked)
    if mode is Mode.THRESHOLDS and not set(bounds) <= set(counted):
        wrong = next(edge for edge in bounds if edge not in counted)
        raise UsageError(
            f"the recording has no counts above {wrong} cycles: choose among its own edges, "
            f"{counted[0]} to {counted[-1]}."
        )
    origin = recording.provenance
    signal = bool(origin.command) and origin.command[0].startswith(_SIGNAL)
    if references is None and origin.simulated and origin.machine and not signal:
        references = _of_machine(origin.machine)
    return result_of(measured, bounds, origin, mode, references or (), _blind(measured, origin))


def _of_machine(name: str) -> tuple[Reference, ...]:
    """Return the latencies of a machine that comes with gnomon, none of others."""
    from gnomon.analysis.latency.references import chased
    from gnomon.machines.description import load_machine

    try:
        return chased(load_machine(name))
    except UsageError:
        return ()


def _blind(measured: Measured, origin: Provenance) -> tuple[str, ...]:
    from gnomon.sources.latency import blind_spots

    return blind_spots((info.name for info in measured.events), simulated=origin.simulated)


__getattr__, _ = lazy_names(__name__, {"SweepOrder": "sweeps", "histogram": "threshold"})
