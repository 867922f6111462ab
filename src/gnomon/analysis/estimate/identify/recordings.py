"""Identification of what was recorded: every run of every recording is a series."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gnomon.analysis.estimate.identify.autocorrelation import Identified, identify_series
from gnomon.errors import UsageError
from gnomon.recording.contents import Provenance


@dataclass(frozen=True, slots=True)
class Identification:
    """The processes of events, and where they were seen."""

    machine: str
    workload: str
    interval: float
    processes: Mapping[str, Identified]
    simulated: bool = False
    source: str = ""
    warnings: tuple[str, ...] = field(default=())


def identify(
    recordings: Sequence[str | os.PathLike[str]], events: Sequence[str] | None = None
) -> Identification:
    """Identify the events of recordings that were read over time, all runs together."""
    import numpy as np

    from gnomon.analysis.series import slices_over_time
    from gnomon.recording import Recording

    if not recordings:
        raise UsageError("nothing to identify: give at least one recording.")
    series: dict[str, list[object]] = {}
    intervals: list[float] = []
    places: set[tuple[str, str]] = set()
    warnings: list[str] = []
    simulated, source = False, ""
    for path in recordings:
        recording = Recording.open(path)
        origin = recording.provenance
        simulated, source = simulated or origin.simulated, origin.source
        places.add((machine_of(origin), _workload(origin.command)))
        names = {event.name for event in recording.events}
        for wanted in events or ():
            if wanted not in names:
                raise UsageError(f"'{wanted}' is not in {path}: it has {', '.join(sorted(names))}.")
        for run in [each.run for each in recording.runs] or [0]:
            course = slices_over_time(recording, set(events or names), run=run)
            if course.ticks < 3:
                warnings.append(f"run {run} of {path} has no series: record it with -i.")
                continue
            intervals.append(course.span / course.ticks / 1e9)
            for name, each in course.series.items():
                rates = [np.nan if rate is None else rate for rate in each.rates]
                series.setdefault(name, []).append(np.array(rates))
    if not intervals:
        raise UsageError("no recording has readings over time: record with -i, as in -i 10ms.")
    if len({machine for machine, _ in places}) > 1:
        raise UsageError("the recordings are of different machines: identify each by itself.")
    machine, workload = min(places)
    interval = float(np.median(intervals))
    if max(intervals) > 1.5 * min(intervals):
        warnings.append("the recordings were read at different intervals; the median is used.")
    processes = {name: identify_series(sets, interval) for name, sets in series.items()}  # type: ignore[arg-type]
    return Identification(
        machine, workload, interval, processes, simulated, source, tuple(warnings)
    )


def machine_of(origin: Provenance) -> str:
    """Return under which name of a machine processes are kept."""
    return (origin.machine if origin.simulated else origin.host) or origin.cpu or "unknown"


def _workload(command: Sequence[str]) -> str:
    from pathlib import PurePath

    return PurePath(command[0]).name if command else "unknown"
