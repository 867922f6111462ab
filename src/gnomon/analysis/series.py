"""A recording's readings as series over time."""

from __future__ import annotations

from itertools import accumulate, pairwise

from gnomon.analysis.recorded.result import Course, Series
from gnomon.recording import Recording
from gnomon.sources.abilities import GAUGES

# A slice in which the event was counted for part of the time stands for all of it, unless
# another tool has extrapolated it already.
_SLICES = """
SELECT time, event,
       sum(CASE WHEN status = 'counted' AND running > 0 AND running < enabled
                THEN value * (enabled::DOUBLE / running) ELSE value END)
FROM readings WHERE run = {run} GROUP BY time, event ORDER BY time
"""

_OWN_SLICES = """
SELECT time, event, sum(value) FROM readings WHERE run = {run} GROUP BY time, event ORDER BY time
"""


def slices_over_time(recording: Recording, events: set[str], *, run: int | None = None) -> Course:
    """Return the course of the events over one run, its places added up.

    Without a run it is the first. Values are divided by the time since the previous
    slice, so that a late tick does not look like a burst.
    """
    chosen = run if run is not None else min((r.run for r in recording.runs), default=0)
    # Where sets took turns, a reading is of its own slice and stands for those before it.
    query = _OWN_SLICES if recording.provenance.sets else _SLICES
    rows = recording.sql(query.format(run=int(chosen))).fetchall()
    times = sorted({time for time, _, _ in rows})
    if len(times) < 2:
        return Course({}, len(times))
    start = next((r.start for r in recording.runs if r.run == chosen), 0)
    first = start if 0 < start < times[0] else times[0] - (times[1] - times[0])
    widths = [b - a for a, b in pairwise((first, *times))]
    values: dict[str, dict[int, float | None]] = {}
    for time, event, value in rows:
        values.setdefault(event, {})[time] = value
    series = {
        event: (_level if event in GAUGES else _series)([found.get(t) for t in times], widths)
        for event, found in values.items()
        if event in events
    }
    ends = tuple(time - first for time in times)
    return Course(series, len(times), ends[-1], ends)


def _series(values: list[float | None], widths: list[int]) -> Series:
    rates = tuple(
        None if value is None or width <= 0 else float(value) / (width / 1e9)
        for value, width in zip(values, widths, strict=True)
    )
    known = [(rate, width) for rate, width in zip(rates, widths, strict=True) if rate is not None]
    if not known:
        return Series(rates, None, None)
    mean = sum(rate * width for rate, width in known) / sum(width for _, width in known)
    return Series(rates, mean, max(rate for rate, _ in known))


def _level(changes: list[float | None], widths: list[int]) -> Series:
    """Return what was there at each time, from its changes: a level has no rate."""
    known = [(place, change) for place, change in enumerate(changes) if change is not None]
    levels: list[float | None] = [None] * len(changes)
    for (place, _), level in zip(known, accumulate(change for _, change in known), strict=True):
        levels[place] = float(level)
    held = [
        (level, width) for level, width in zip(levels, widths, strict=True) if level is not None
    ]
    if not held:
        return Series(tuple(levels), None, None, level=True)
    mean = sum(level * width for level, width in held) / sum(width for _, width in held)
    return Series(tuple(levels), mean, max(level for level, _ in held), level=True)
