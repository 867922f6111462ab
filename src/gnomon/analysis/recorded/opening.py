"""From a file to what it shows: a result that was saved, or what a recording is a recording of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.analysis.count.result import Duration
from gnomon.analysis.recorded.result import RecordingResult
from gnomon.errors import GnomonError, UsageError
from gnomon.recording import Reading, Recording
from gnomon.result import Result
from gnomon.result_types import is_result, load_result

if TYPE_CHECKING:
    from gnomon.recording import EventInfo, Provenance, RunInfo
    from gnomon.recording.contents import Total

FOOTPRINT = "footprint:"
"""What the names of levels of memory begin with: no counts, so they have no rate."""


def results_in(path: str | os.PathLike[str]) -> list[Result]:
    """Return what a file shows, the most telling result first: JSON or a recording of any kind."""
    if is_result(path):
        return [load_result(path)]
    with Recording.open(path) as recording:
        return results_of(recording)


def version_of(path: str | os.PathLike[str]) -> str:
    """Return a text that changes when a file shows something else than before."""
    if is_result(path):
        return str(Path(path).stat().st_mtime_ns)
    with Recording.open(path) as recording:
        return f"{len(recording.runs)}:{recording.count()}:{recording.complete}"


def results_of(recording: Recording) -> list[Result]:
    """Return what a recording is a recording of, as it was found when it was made.

    This is the one place that knows which analysis has written which recording; each is imported
    for its own recordings alone. Where it cannot say anything, the readings are shown, and why.
    """
    kind = next((kind for kind in _KINDS if kind[1](recording)), None)
    if kind is None:
        return [recording_of(recording)]
    name, made_it, analyse = kind
    try:
        found = analyse(recording)
    except GnomonError as error:
        counted = recording_of(recording)
        return [replace(counted, warnings=(*counted.warnings, f"{name} not shown: {error}"))]
    if made_it is not _has_footprint:
        return [found]
    # What was counted meanwhile, beside the phases that the footprint was divided into.
    names = [info.name for info in recording.events if not info.name.startswith(FOOTPRINT)]
    return [found, recording_of(recording, names)] if names else [found]


def recording_of(
    recording: Recording,
    events: Sequence[str] | None = None,
    *,
    run: int | None = None,
    per_scope: bool = False,
) -> RecordingResult:
    """Return the totals and the course of a recording, of all events and runs or of some."""
    from gnomon.analysis.series import slices_over_time
    from gnomon.analysis.summary import summarise

    infos = _chosen(recording, events)
    names = {info.name for info in infos}
    totals = [t for t in recording.totals() if t.event in names]
    if run is not None:
        totals = [t for t in totals if t.run == run]
        if not totals:
            known = ", ".join(str(each.run) for each in recording.runs) or "none"
            raise UsageError(f"there is no run {run}: the recording has {known}.")
    readings = [
        Reading(0, t.event, t.scope, t.value, t.enabled, t.running, t.status, t.run, t.batch)
        for t in totals
    ]
    course = slices_over_time(recording, names, run=run)
    series = {
        info.name: course.series[info.name].times(info.scale)
        for info in infos
        if info.name in course.series
    }
    warnings = list(recording.warnings)
    if not recording.complete:
        warnings.insert(0, "the recording is incomplete: it was cut short or is being written")
    runs = tuple(each for each in recording.runs if run is None or each.run == run)
    return RecordingResult(
        str(recording.path),
        recording.complete,
        infos,
        summarise(readings, infos, by_scope=per_scope),
        runs,
        replace(course, series=series),
        per_scope,
        _durations(recording.provenance, runs, totals),
        provenance=recording.provenance,
        warnings=tuple(warnings),
    )


def _durations(
    origin: Provenance, runs: Sequence[RunInfo], totals: Iterable[Total]
) -> dict[str, Duration]:
    """Return how long the runs of an event took, where not all runs counted it.

    A program takes as long again, or fifty times as long, where another source counts it.
    """
    counted: dict[str, set[tuple[int, int]]] = {}
    for total in totals:
        if total.value is not None:
            counted.setdefault(total.event, set()).add((total.run, total.batch))
    found = {}
    for event, keys in counted.items():
        own = [each for each in runs if (each.run, each.batch) in keys]
        duration = Duration.of(origin, own)
        if duration is not None and len(own) < len(runs):
            found[event] = duration
    return found


def _chosen(recording: Recording, names: Sequence[str] | None) -> tuple[EventInfo, ...]:
    known = {info.name: info for info in recording.events}
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        raise UsageError(f"'{unknown[0]}' is not in the recording: it has {', '.join(known)}.")
    return tuple(info for name, info in known.items() if names is None or name in names)


# ---- what is a recording of what --------------------------------------------------------------


def _is_survey(recording: Recording) -> bool:
    return bool(recording.provenance.plan)


def _survey(recording: Recording) -> Any:
    from gnomon.analysis.survey import survey_of

    return survey_of(recording)


def _is_locality(recording: Recording) -> bool:
    return any("locality" in run.parameters for run in recording.runs)


def _locality(recording: Recording) -> Any:
    from gnomon.analysis.locality import locality

    return locality(recording.path)


def _is_bench(recording: Recording) -> bool:
    return any("mechanism" in run.parameters for run in recording.runs)


def _bench(recording: Recording) -> Any:
    from gnomon.analysis.messages.recorded import bench_of

    return bench_of(recording)


def _has_parameters(recording: Recording) -> bool:
    return any(run.parameters for run in recording.runs)


def _scale(recording: Recording) -> Any:
    from gnomon.analysis.scaling import scale

    return scale(recording)


def _has_sets(recording: Recording) -> bool:
    return bool(recording.provenance.sets)


def _estimates(recording: Recording) -> Any:
    from gnomon.analysis.estimate import stored_estimates

    return stored_estimates(recording)


def _has_footprint(recording: Recording) -> bool:
    return any(info.name.startswith(FOOTPRINT) for info in recording.events)


def _phases(recording: Recording) -> Any:
    from gnomon.analysis.phases import phases

    return phases(recording)


def _has_latencies(recording: Recording) -> bool:
    from gnomon.analysis.latency.recorded import has_latencies

    return has_latencies(recording)


def _latency(recording: Recording) -> Any:
    from gnomon.analysis.latency import latency_of

    return latency_of(recording)


_KINDS: tuple[tuple[str, Callable[[Recording], bool], Callable[[Recording], Any]], ...] = (
    ("the survey is", _is_survey, _survey),
    ("locality is", _is_locality, _locality),
    ("costs of messages are", _is_bench, _bench),
    ("growth is", _has_parameters, _scale),  # after those whose runs have parameters of their own
    ("estimates are", _has_sets, _estimates),
    ("phases are", _has_footprint, _phases),
    ("latencies are", _has_latencies, _latency),
)
"""What a recording may be of, how that is told, and what makes the result of it again."""
