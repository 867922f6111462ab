"""Carrying out a measurement of latencies: thresholds that take turns, or samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gnomon.analysis.latency.edges import SweepOrder
from gnomon.errors import NotSupportedError, UsageError
from gnomon.measure.run import Stopper, event_infos
from gnomon.measure.turns import steady, take_turns
from gnomon.recording.contents import RunInfo, Sample
from gnomon.sources.base import Rotates
from gnomon.sources.latency import UNKNOWN, decode, threshold_of
from gnomon.sources.sampling import CanSample
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.recording.contents import EventInfo, Reading
    from gnomon.sources.base import Source, Target, Turn
    from gnomon.sources.latency import Facility
    from gnomon.sources.sampling import SampleBatch, Sampler, Sampling

_NAP = 0.1
_LOAD = "load"


class Slice(NamedTuple):
    """Loads of at least `edge` cycles in a short while, over all places.

    `running` is how long they were counted, in ns, and `time` when that was over.
    """

    time: int
    edge: int
    loads: int
    running: int


class LoadSample(NamedTuple):
    """A load that was caught: its latency in cycles, how many it stands for, what answered it."""

    cycles: int
    loads: int
    source: str


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


class Taker(Protocol):
    """What takes readings, samples and runs as they come, as a recording's writer does."""

    def append(self, readings: Iterable[Reading], /) -> None:
        """Take readings."""

    def append_samples(self, samples: Iterable[Sample], /) -> None:
        """Take samples."""

    def add_run(self, run: RunInfo, /) -> None:
        """Take a run that is over."""


MakeTaker = Callable[[tuple["EventInfo", ...]], Taker | None]


def count_sweeps(
    source: Source,
    facility: Facility,
    edges: Sequence[int],
    target: Target,
    *,
    length: int,
    duration: float | None = None,
    seed: int = 1,
    writer: MakeTaker = lambda _: None,
    on_slice: OnSlice | None = None,
) -> Measured:
    """Let thresholds take turns of `length` ns until the target ends or `duration` s are over."""
    if not isinstance(source, Rotates):
        raise UsageError(f"{source.name} counts whole runs only: thresholds cannot take turns.")
    order = SweepOrder(len(edges), seed)
    sets = [facility.counted(edge) for edge in edges]
    measured = Measured()
    skipped = 0
    with source.open_sets((), sets, target, first=order.now) as rotation:
        if rotation.refused:
            reasons = "; ".join(dict.fromkeys(rotation.warnings)) or rotation.refused[0].status
            raise NotSupportedError(f"loads above a latency cannot be counted: {reasons}.")
        measured.events = event_infos(rotation.requests)
        output = writer(measured.events)

        def take(turn: Turn) -> bool:
            nonlocal skipped
            if output is not None:
                output.append(turn.readings)
            found = slice_of(turn.readings, turn.time)
            if found is None:
                skipped += 1
                return False
            measured.slices.append(found)
            if on_slice is not None:
                on_slice(measured.slices)
            return True

        turned = take_turns(
            rotation, target, steady(length), order.following, take, duration=duration
        )
        measured.run, measured.interrupted = turned.run, turned.interrupted
        if turned.failure:
            measured.warnings.append(f"it stopped early: {turned.failure}")
        measured.warnings += turned.warnings
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
    writer: MakeTaker = lambda _: None,
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
        began = time.monotonic_ns()
        deadline = None if duration is None else began + round(duration * 1e9)
        sampler.start()
        ended = False
        while not ended and not stopper.requested:
            if deadline is not None and time.monotonic_ns() >= deadline:
                break
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
        start = 0 if source.capabilities.own_time else began
        end = start + enabled if source.capabilities.own_time else time.monotonic_ns()
        measured.run = RunInfo(0, 0, start, end, sampler.exit_status, started_at)
        if output is not None:
            output.add_run(measured.run)
    return measured


def _take(
    sampler: Sampler,
    samplings: Sequence[Sampling],
    measured: Measured,
    output: Taker | None,
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
