"""Latencies from a recording: it has the readings as they were, so all can be computed anew."""

from __future__ import annotations

from itertools import groupby, islice
from typing import TYPE_CHECKING

from gnomon.analysis.latency.measure import Measured, slice_of
from gnomon.analysis.latency.samples import LoadSample
from gnomon.errors import UsageError
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
        measured.run = recording.runs[-1]
    for time, readings in groupby(recording.readings(), key=lambda reading: reading.time):
        found = slice_of(readings, time)
        if found is not None:
            measured.slices.append(found)
    measured.samples = [
        LoadSample(each.weight or 0, each.period, each.source) for each in recording.samples()
    ]
    edges = {threshold_of(info.name) for info in recording.events} - {None}
    return measured, tuple(sorted(edge for edge in edges if edge is not None))
