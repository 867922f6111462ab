"""Latencies from a recording: it has the readings as they were, so all can be computed anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING

from gnomon.analysis.latency.measure import Measured, slice_of
from gnomon.analysis.latency.model import Slice
from gnomon.analysis.latency.samples import LoadSample
from gnomon.errors import UsageError
from gnomon.recording.contents import Reading, RunInfo, Sample
from gnomon.sources.latency import threshold_of

if TYPE_CHECKING:
    from gnomon.recording import Recording


def has_latencies(recording: Recording) -> bool:
    """Whether a recording has loads above a latency, or samples of them."""
    if any(threshold_of(info.name) is not None for info in recording.events):
        return True
    return any(each.weight is not None for each in islice(recording.samples(), 1))


def measured_in(recording: Recording) -> tuple[Measured, tuple[int, ...]]:
    """Return what a recording has, and the edges that were counted; none if it was sampled."""
    if not has_latencies(recording):
        raise UsageError(
            f"'{recording.path.name}' has no latencies of loads: "
            "`gnomon latency -o REC` makes a recording that has."
        )
    measured = Measured(events=recording.events, warnings=list(recording.warnings))
    if recording.runs:
        measured.run = joined(recording.runs)
    measured.slices = slices_in(recording.readings())
    measured.samples = samples_in(recording.samples())
    edges = {threshold_of(info.name) for info in recording.events} - {None}
    return measured, tuple(sorted(edge for edge in edges if edge is not None))


def slices_in(readings: Iterable[Reading]) -> list[Slice]:
    """Return what thresholds counted, in the order in which they took turns."""
    by_time = groupby(readings, key=lambda reading: (reading.run, reading.time))
    found = (slice_of(some, time) for (_, time), some in by_time)
    return [each for each in found if each is not None]


def samples_in(samples: Iterable[Sample]) -> list[LoadSample]:
    """Return samples of loads as they are counted."""
    return [LoadSample(each.weight or 0, each.period, each.source) for each in samples]


def joined(runs: Sequence[RunInfo]) -> RunInfo:
    """Return several runs as one that is as long as all of them together."""
    if len(runs) == 1:
        return runs[0]
    status = next((run.exit_status for run in runs if run.exit_status), runs[-1].exit_status)
    return RunInfo(0, 0, 0, sum(run.end - run.start for run in runs), status, runs[0].started_at)
