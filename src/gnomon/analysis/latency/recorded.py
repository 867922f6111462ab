"""From what was measured to a result, and from a recording, which has all that was measured."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING

from gnomon.analysis.latency.result import LatencyResult, Mode, Reference
from gnomon.analysis.latency.run import (
    DEFAULT,
    LoadSample,
    Measured,
    Slice,
    checked_edges,
    parse_edges,
    slice_of,
)
from gnomon.errors import GnomonError, UsageError
from gnomon.recording.contents import Reading, RunInfo, Sample
from gnomon.sources.latency import blind_spots, threshold_of

if TYPE_CHECKING:
    from gnomon.recording import Recording
    from gnomon.recording.contents import Provenance

SIGNAL = "signal:"
_BEYOND = 0.05  # more of the loads than this beyond the last edge are worth a warning


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


def result_of(
    measured: Measured,
    edges: Sequence[int],
    provenance: Provenance,
    mode: Mode,
    references: Sequence[Reference] = (),
    blind: Sequence[str] = (),
) -> LatencyResult:
    """Make a histogram with named peaks of what was measured."""
    from gnomon.analysis.latency.bins import LEAST_SWEEPS, histogram, sample_histogram
    from gnomon.analysis.latency.peaks import find_peaks

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
                f"only {sweeps} sweeps over the edges: intervals include sampling error only, not "
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
        latencies=tuple(references),
        not_seen=tuple(blind),
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
    """Return the histogram of a recording, over its own edges or some of them.

    >>> words = ["workload:random", "dependent=yes", "accesses=5000", "cpus=0"]
    >>> result = gn.latency(words, "3,10:100:10", on="ring-4", output="loads.gnomon")
    >>> len(gn.latency_of("loads.gnomon").bins) == len(result.bins)
    True
    """
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
    signal = bool(origin.command) and origin.command[0].startswith(SIGNAL)
    if references is None and origin.simulated and origin.machine and not signal:
        references = _of_machine(origin.machine)
    return result_of(measured, bounds, origin, mode, references or (), _blind(measured, origin))


def _of_machine(name: str) -> tuple[Reference, ...]:
    """Return the latencies of a machine that comes with gnomon, none of others."""
    from gnomon.analysis.latency.peaks import chased
    from gnomon.machines.description import load_machine

    try:
        return chased(load_machine(name))
    except UsageError:
        return ()


def _blind(measured: Measured, origin: Provenance) -> tuple[str, ...]:
    return blind_spots((info.name for info in measured.events), simulated=origin.simulated)
