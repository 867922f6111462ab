"""Carrying out a measurement of latencies: edges, thresholds that take turns, or samples."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

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

LEAST = 3
"""Below so many cycles the facility tells nothing."""

MOST = 65_535
_MOST_EDGES = 512
DEFAULT = "3,10:500:10"


def parse_edges(text: str) -> tuple[int, ...]:
    """Return the edges in a list of numbers and ranges, as in `3,10:500:10`."""
    edges: list[int] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            numbers = [int(word) for word in part.split(":")]
        except ValueError:
            raise UsageError(
                f"'{part}' is not a latency: write cycles as in 3,10,20 or FIRST:LAST:STEP."
            ) from None
        match numbers:
            case [edge]:
                edges.append(edge)
            case [first, last, step] if step > 0 and (last - first) // step < _MOST_EDGES:
                edges.extend(range(first, last + 1, step))
            case _:
                raise UsageError(f"'{part}' is no range: write FIRST:LAST:STEP, as in 10:500:10.")
    return checked_edges(edges)


def checked_edges(edges: Sequence[int]) -> tuple[int, ...]:
    """Return edges that make bins, or complain about what is wrong with them."""
    if len(edges) < 2:
        raise UsageError("a histogram needs two edges or more, as in 3,100,300.")
    if len(edges) > _MOST_EDGES:
        raise UsageError(f"{len(edges)} edges are too many: at most {_MOST_EDGES}.")
    for before, after in pairwise(edges):
        if after <= before:
            raise UsageError(
                f"the edges do not ascend: {after} comes after {before}; write each once, in order."
            )
    if edges[0] < LEAST:
        raise UsageError(
            f"an edge of {edges[0]} cycles is too low: below {LEAST} the latency of a load "
            "cannot be told."
        )
    if edges[-1] > MOST:
        raise UsageError(f"an edge of {edges[-1]} cycles is too high: at most {MOST:,}.")
    return tuple(edges)


@dataclass(slots=True)
class SweepOrder:
    """Ascending sweeps over all edges, from an edge that chance chooses.

    Neighbouring edges are read one right after the other, so that both see the same phase of the
    program and their difference is free of it. Every edge comes again after the same time, which
    leaves no long stretch in which it is not read. Chance decides where it begins, so that nothing
    that happens at the start of a program always meets the same threshold.
    """

    edges: int
    seed: int = 1
    now: int = field(init=False)

    def __post_init__(self) -> None:
        self.now = random.Random(f"{self.seed} edges").randrange(self.edges)

    def following(self) -> int:
        """Go on to the next edge and return its number."""
        self.now = (self.now + 1) % self.edges
        return self.now


def sweep_numbers(edges: Sequence[int]) -> list[int]:
    """Return the number of the sweep that each reading belongs to, from the order of edges.

    A sweep ends where an edge comes again, so that what was lost on the way costs no more than
    the sweep in which it was lost.
    """
    numbers: list[int] = []
    seen: set[int] = set()
    sweep = 0
    for edge in edges:
        if edge in seen:
            sweep += 1
            seen.clear()
        seen.add(edge)
        numbers.append(sweep)
    return numbers


# ---- carrying out -----------------------------------------------------------------------------


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
            raise NotSupportedError(
                f"loads above a latency threshold cannot be counted: {reasons}."
            )
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
        measured.warnings.append(f"{skipped} slices had no counter and were discarded")
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
        raise UsageError(f"{source.name} takes no samples: omit --samples.")
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
