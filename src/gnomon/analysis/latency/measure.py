"""Carrying out a measurement of latencies: thresholds that take turns, or samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gnomon.analysis.latency.model import Slice
from gnomon.analysis.latency.samples import LoadSample
from gnomon.analysis.latency.sweeps import SweepOrder
from gnomon.errors import GnomonError, NotSupportedError, UsageError
from gnomon.recording.contents import RunInfo, Sample
from gnomon.sources.base import Command, Cpus, OwnTime, Rotates
from gnomon.sources.data_source import UNKNOWN, decode
from gnomon.sources.latency import threshold_of
from gnomon.sources.measure import Stopper, event_infos
from gnomon.sources.pace import steady
from gnomon.sources.sampling import CanSample
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.recording import RecordingWriter
    from gnomon.recording.contents import EventInfo, Reading
    from gnomon.sources.base import Source, Target
    from gnomon.sources.latency import Facility
    from gnomon.sources.sampling import SampleBatch, Sampler, Sampling

_NAP = 0.1
_LOAD = "load"

OnSlice = Callable[[Sequence[Slice]], None]
OnSamples = Callable[[Sequence[LoadSample]], None]


@dataclass(slots=True)
class Measured:
    """What a measurement gave, before anything is made of it."""

    slices: list[Slice] = field(default_factory=list)
    samples: list[LoadSample] = field(default_factory=list)
    events: tuple[EventInfo, ...] = ()
    run: RunInfo = field(default_factory=lambda: RunInfo(0))
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False


class Limit:
    """Tells when to stop: at a moment, or when somebody pressed Ctrl-C and no command runs."""

    def __init__(self, target: Target, stopper: Stopper, clock: Callable[[], int]) -> None:
        command = target.command if isinstance(target, Cpus) else target
        self._waits = isinstance(command, Command)
        self._stopper = stopper
        self.clock = clock
        self.start = clock()
        self.deadline: int | None = None

    def over(self) -> bool:
        """Whether it is time to stop; a command that was interrupted is waited for."""
        stopped = self._stopper.requested and not self._waits
        return stopped or (self.deadline is not None and self.clock() >= self.deadline)


def slice_of(readings: Iterable[Reading], when: int) -> Slice | None:
    """Return what a threshold counted in all places, None when it was not counted everywhere."""
    edge, count, running = None, 0, 0
    for reading in readings:
        threshold = threshold_of(reading.event)
        if threshold is None:
            continue  # an auxiliary event
        if reading.value is None:
            return None
        edge = threshold
        count += reading.value
        running += reading.running
    return None if edge is None else Slice(when, edge, count, running)


def count_sweeps(
    source: Source,
    facility: Facility,
    edges: Sequence[int],
    target: Target,
    *,
    length: int,
    duration: float | None = None,
    seed: int = 1,
    writer: Callable[[tuple[EventInfo, ...]], RecordingWriter | None] = lambda _: None,
    on_slice: OnSlice | None = None,
) -> Measured:
    """Let thresholds take turns of `length` ns until the target ends or `duration` s are over."""
    if not isinstance(source, Rotates):
        raise UsageError(f"{source.name} counts whole runs only: thresholds cannot take turns.")
    order = SweepOrder(len(edges), seed)
    sets = [facility.counted(edge) for edge in edges]
    measured = Measured()
    started_at = utc_now(milliseconds=True)
    with source.open_sets((), sets, target, first=order.now) as rotation:
        if rotation.refused:
            reasons = "; ".join(dict.fromkeys(rotation.warnings)) or rotation.refused[0].status
            raise NotSupportedError(f"loads above a latency cannot be counted: {reasons}.")
        measured.events = event_infos(rotation.requests)
        output = writer(measured.events)
        own = rotation if isinstance(rotation, OwnTime) else None
        with Stopper().installed() as stopper:
            stopper.watch(rotation)
            limit = Limit(target, stopper, time.monotonic_ns if own is None else own.clock)
            if duration is not None:
                limit.deadline = limit.start + round(duration * 1e9)
            skipped = 0
            try:
                for turn in rotation.turns(steady(length), order.following, limit.over):
                    if output is not None:
                        output.append(turn.readings)
                    found = slice_of(turn.readings, turn.time)
                    if found is None:
                        skipped += 1
                        continue
                    measured.slices.append(found)
                    if on_slice is not None:
                        on_slice(measured.slices)
            except GnomonError as error:
                if not measured.slices:
                    raise
                measured.warnings.append(f"it stopped early: {error}")
            finally:
                stopper.watch(None)
            measured.interrupted = stopper.requested
            end = limit.clock()
        measured.run = RunInfo(0, 0, limit.start, end, rotation.exit_status, started_at)
        measured.warnings += list(dict.fromkeys(rotation.warnings))
    if skipped:
        measured.warnings.append(f"{skipped} slices had no counter and are left out")
    if output is not None:
        output.add_run(measured.run)
    return measured


def take_samples(
    source: Source,
    facility: Facility,
    target: Target,
    *,
    threshold: int,
    period: int,
    duration: float | None = None,
    writer: Callable[[tuple[EventInfo, ...]], RecordingWriter | None] = lambda _: None,
    on_samples: OnSamples | None = None,
) -> Measured:
    """Sample loads with their latency and what answered them until the target ends."""
    if not isinstance(source, CanSample):
        raise UsageError(f"{source.name} takes no samples: leave out --samples.")
    samplings = facility.sampled(threshold, period)
    measured = Measured(events=event_infos(each.request for each in samplings))
    started_at = utc_now(milliseconds=True)
    with source.sample(samplings, target) as sampler, Stopper().installed() as stopper:
        output = writer(measured.events)
        limit = Limit(target, stopper, time.monotonic_ns)
        if duration is not None:
            limit.deadline = limit.start + round(duration * 1e9)
        sampler.start()
        ended = False
        while not ended and not limit.over() and not stopper.requested:
            ended = sampler.wait(_NAP)
            _take(sampler, samplings, measured, output)
            if on_samples is not None:
                on_samples(measured.samples)
        sampler.stop()
        _take(sampler, samplings, measured, output)
        if sampler.lost:
            measured.warnings.append(f"{sampler.lost:,} samples were lost: raise --period")
        measured.interrupted = stopper.requested
        # The event's own time, which passes on a simulated machine as well.
        enabled, _, _ = sampler.totals(len(samplings) - 1)
        start = 0 if source.capabilities.own_time else limit.start
        end = start + enabled if source.capabilities.own_time else limit.clock()
        measured.run = RunInfo(0, 0, start, end, sampler.exit_status, started_at)
        if output is not None:
            output.add_run(measured.run)
    return measured


def _take(
    sampler: Sampler,
    samplings: Sequence[Sampling],
    measured: Measured,
    output: RecordingWriter | None,
) -> None:
    batch = sampler.drain()
    rows = list(_rows(batch, samplings))
    measured.samples += [LoadSample(row.weight or 0, row.period, row.source) for row in rows]
    if output is not None:
        output.append_samples(rows)


def _rows(batch: SampleBatch, samplings: Sequence[Sampling]) -> Iterable[Sample]:
    for i in range(len(batch)):
        how = samplings[batch.event[i]]
        answered = decode(batch.data_source[i])
        if not how.weight or answered.operation not in (_LOAD, UNKNOWN):
            continue  # an auxiliary event, or no load
        yield Sample(
            batch.time[i],
            how.request.label,
            batch.pid[i],
            batch.tid[i],
            batch.cpu[i],
            batch.ip[i],
            batch.address[i],
            batch.weight[i],
            answered.text,
            batch.period[i],
        )
