"""Readings of a run as series to split by and as slices to give to phases."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.phases.result import PhaseCount, PhaseSeries
from gnomon.errors import GnomonError, UsageError
from gnomon.recording.contents import EventInfo, RunInfo, Status
from gnomon.sources.abilities import GAUGES, RSS

if TYPE_CHECKING:
    from gnomon.recording import Recording

Floats = NDArray[np.float64]

FOOTPRINT = "footprint"
_BRIEF = 0.1  # of the usual length: a slice that short has no rate worth the name

# The places of an event are added up; a slice in which it was counted for part of the time
# stands for all of it, unless another tool has extrapolated it already.
_SLICES = """
SELECT time, event,
       sum(CASE WHEN status = 'counted' AND running > 0 AND running < enabled
                THEN value * (enabled::DOUBLE / running) ELSE value END),
       bool_or(status = 'scaled' OR (status = 'counted' AND running > 0 AND running < enabled)),
       max(status) FILTER (value IS NULL)
FROM readings WHERE run = {run} AND batch = {batch} GROUP BY time, event ORDER BY time
"""


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """What an event counted from one time to the next, in ns since the start of the run.

    A value is not a number where nothing was counted.
    """

    info: EventInfo
    starts: Floats
    ends: Floats
    values: Floats
    status: Status

    @property
    def is_gauge(self) -> bool:
        """Whether the running sum, rather than the rate, is what the event tells."""
        return self.info.name in GAUGES


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """One run of a recording: slices by event, the run's bounds, and what to know about it."""

    slices: dict[str, Slices]
    origin: int
    end: float
    warnings: tuple[str, ...]


def observe(recording: Recording, by: tuple[str, ...], run: int | None) -> Observed:
    """Return the run that has the series to split by: the first, unless one is named."""
    names = resolve(recording, by)
    listed = ", ".join(f"'{name.replace(chr(39), chr(39) * 2)}'" for name in names)
    pairs = recording.sql(
        f"SELECT DISTINCT run, batch FROM readings WHERE event IN ({listed}) ORDER BY run, batch"
    ).fetchall()
    if run is not None:
        known = sorted({number for number, _ in pairs})
        pairs = [pair for pair in pairs if pair[0] == run]
        if not pairs:
            has = ", ".join(map(str, known)) or "none"
            raise UsageError(f"there is no run {run} to split: the recording has {has}.")
    if not pairs:
        raise GnomonError(
            f"the recording has no readings of {' or '.join(names)}: the program may have ended "
            "before the first one; read more often, as in -i 1ms."
        )
    number, batch = pairs[0]
    warnings = list(recording.warnings)
    if not recording.complete:
        warnings.insert(0, "the recording is incomplete: it was cut short or is being written")
    if len(pairs) > 1:
        warnings.append(f"these are the phases of run {number} of {len(pairs)}")
    rows = recording.sql(_SLICES.format(run=int(number), batch=int(batch))).fetchall()
    bounds = next((r for r in recording.runs if (r.run, r.batch) == (number, batch)), None)
    origin, end = _bounds(rows, bounds)
    found = _by_event(rows)
    slices = {
        info.name: _slices(info, found[info.name], origin)
        for info in recording.events
        if info.name in found
    }
    return Observed(slices, origin, end - origin, tuple(warnings))


def series_of(observed: Observed, names: tuple[str, ...]) -> tuple[PhaseSeries, ...]:
    """Return the named events as series over the times that all of them have."""
    made = [_series(observed.slices[name]) for name in names]
    common = made[0].times
    for one in made[1:]:
        common = np.intersect1d(common, one.times)
    if common.size == 0 and all(one.times.size for one in made):
        raise GnomonError(
            f"{' and '.join(names)} were not read at the same times: split by one of them."
        )
    return tuple(
        PhaseSeries(one.name, common, one.values[np.isin(one.times, common)], one.unit, one.is_rate)
        for one in made
    )


def resolve(recording: Recording, by: tuple[str, ...]) -> tuple[str, ...]:
    """Return the recording's own names of the events to split by."""
    known = [info.name for info in recording.events]
    found: dict[str, None] = {}
    for name in by:
        wanted = RSS if name == FOOTPRINT else name
        bare = [k for k in known if k == wanted] or [
            k for k in known if k.rpartition(":")[0] == wanted
        ]
        if len(bare) == 1:
            found[bare[0]] = None
        elif wanted == RSS:
            others = [k for k in known if k not in GAUGES]
            instead = f", or split by an event of it, as in --by {others[0]}" if others else ""
            raise UsageError(
                "the recording has no footprint: record one with "
                f"`gnomon phases -o REC -- CMD`{instead}."
            )
        else:
            raise UsageError(f"'{name}' is not in the recording: it has {', '.join(known)}.")
    return tuple(found)


def _by_event(rows: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(row[1], []).append(row)
    return found


def _bounds(rows: list[tuple[Any, ...]], run: RunInfo | None) -> tuple[int, int]:
    """Return when the run began and ended, as far as it is known."""
    times = sorted({row[0] for row in rows})
    before = times[0] - (times[1] - times[0] if len(times) > 1 else 0)
    start = run.start if run is not None and 0 < run.start <= times[0] else before
    return start, max(times[-1], run.end if run is not None else 0)


def _slices(info: EventInfo, rows: list[tuple[Any, ...]], origin: int) -> Slices:
    ends = np.array([row[0] - origin for row in rows], dtype=np.float64)
    scale = info.scale
    values = np.array(
        [np.nan if row[2] is None else float(row[2]) * scale for row in rows], dtype=np.float64
    )
    status = Status.SCALED if any(row[3] for row in rows) else Status.COUNTED
    if np.isnan(values).all():
        status = next((Status(row[4]) for row in rows if row[4]), Status.NOT_COUNTED)
    return Slices(info, np.concatenate(([0.0], ends[:-1])), ends, values, status)


def _series(slices: Slices) -> PhaseSeries:
    info = slices.info
    known = ~np.isnan(slices.values)
    if slices.is_gauge:
        levels = np.cumsum(slices.values[known])
        return PhaseSeries(info.name, slices.ends[known], levels, info.unit)
    widths = slices.ends - slices.starts
    usual = float(np.median(widths)) if widths.size else 0.0
    known &= widths > _BRIEF * usual
    rates = slices.values[known] / (widths[known] / 1e9)
    return PhaseSeries(info.name, slices.ends[known], rates, f"{info.unit}/s", is_rate=True)


def counts_between(
    slices: Iterable[Slices], edges: Sequence[float]
) -> list[tuple[PhaseCount, ...]]:
    """Return for each stretch between two edges what every event counted in it.

    A slice that an edge divides is split in proportion to time. Levels are left out: they
    are not counts.
    """
    columns = [_counts(one, edges) for one in slices if not one.is_gauge]
    if not columns:
        return [() for _ in edges[1:]]
    return list(zip(*columns, strict=True))


def _counts(slices: Slices, edges: Sequence[float]) -> list[PhaseCount]:
    known = ~np.isnan(slices.values)
    starts, ends, values = slices.starts[known], slices.ends[known], slices.values[known]
    widths = np.maximum(ends - starts, 1.0)
    info = slices.info
    found = []
    for low, high in itertools.pairwise(edges):
        inside = np.clip(np.minimum(ends, high) - np.maximum(starts, low), 0.0, None)
        covered = float(inside.sum())
        if covered <= 0:
            status = Status.NOT_COUNTED if slices.status.has_value else slices.status
            found.append(PhaseCount(info.name, info.unit, None, None, 0.0, status))
            continue
        value = float((values * (inside / widths)).sum())
        share = min(1.0, covered / (high - low))
        rate = value / (covered / 1e9)
        found.append(PhaseCount(info.name, info.unit, value, rate, share, slices.status))
    return found
