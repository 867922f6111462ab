"""Identification of what was recorded: every run of every recording is a series."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.identify.autocorrelation import close, identify_series
from gnomon.analysis.estimate.identify.store import machine_of, store_parameters
from gnomon.analysis.estimate.result import Identification
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.recording.contents import Provenance


def identify(
    recordings: Sequence[str | os.PathLike[str]],
    events: Sequence[str] | None = None,
    *,
    closure: int = 0,
    seed: int = 0,
    machine: str | None = None,
    workload: str | None = None,
    store: bool = False,
) -> Identification:
    """Identify the events of recordings that were read over time, all runs together.

    With `closure` each process is simulated so many times and identified again. `store` keeps what
    was found for later runs, under the names of `machine` and `workload` if they are given.
    """
    if closure < 0:
        raise UsageError("--closure is a number of simulations, as in --closure 10.")
    found = _identified(recordings, events)
    if machine or workload:
        found = replace(
            found, machine=machine or found.machine, workload=workload or found.workload
        )
    if closure:
        again = {
            name: replace(
                each,
                closure=close(
                    each, found.interval_s, samples=each.samples, sets=1, repeats=closure, seed=seed
                ),
            )
            for name, each in found.events.items()
            if not each.doubt
        }
        found = replace(found, events={**found.events, **again})
    return replace(found, stored=str(store_parameters(found))) if store else found


def _identified(
    recordings: Sequence[str | os.PathLike[str]], events: Sequence[str] | None
) -> Identification:
    import numpy as np

    from gnomon.analysis.series import slices_over_time
    from gnomon.recording import Recording

    if not recordings:
        raise UsageError("nothing to identify: give at least one recording.")
    series: dict[str, list[object]] = {}
    intervals: list[float] = []
    places: set[tuple[str, str]] = set()
    warnings: list[str] = []
    origins: list[Provenance] = []
    for path in recordings:
        recording = Recording.open(path)
        origin = recording.provenance
        origins.append(origin)
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
    origin = next((each for each in origins if each.simulated), origins[0])
    return Identification(
        machine, workload, interval, processes, provenance=origin, warnings=tuple(warnings)
    )


def _workload(command: Sequence[str]) -> str:
    from pathlib import PurePath

    return PurePath(command[0]).name if command else "unknown"
