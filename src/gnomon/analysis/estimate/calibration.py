"""Runs that were recorded before, for models to begin with.

Each run was read tick by tick, and need not have all the events: a survey with an interval, or
a few calls of `gnomon record`, has each of them in some run. Of every run the counters that
are counted all the time must be there, since they tell which ticks are alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gnomon.analysis.estimate.model import Layout, Readings
from gnomon.analysis.estimate.recorded import tick_readings
from gnomon.errors import UsageError
from gnomon.recording import Recording

FEWEST_TICKS = 3
"""A run of fewer ticks has no course to learn from."""


def calibration_of(
    recordings: Sequence[str | os.PathLike[str]], layout: Layout, seconds: float
) -> Readings:
    """Return the ticks of all runs of recordings, as if each had lasted so many seconds."""
    import numpy as np

    runs = [run for path in recordings for run in _runs(path, layout, seconds)]
    read = np.isfinite(np.concatenate([run.counts for run in runs])).any(0)
    if not read.any():
        raise UsageError(
            f"nothing in {_names(recordings)} is among the events to estimate: calibrate with "
            f"some of {', '.join(layout.events[:5])}."
        )
    return Readings(
        layout,
        *(
            np.concatenate([getattr(run, field) for run in runs])
            for field in ("seconds", "fixed", "counts", "ends_rotation")
        ),
    )


def _runs(path: str | os.PathLike[str], layout: Layout, seconds: float) -> Iterator[Readings]:
    with Recording.open(path) as recording:
        name = recording.path.name
        missing = [e for e in layout.fixed if e not in {i.name for i in recording.events}]
        if missing:
            raise UsageError(
                f"'{name}' cannot calibrate: it lacks {missing[0]}, which is counted all the "
                "time and tells which ticks are alike; record it as well."
            )
        found = False
        for info in recording.runs:
            columns = recording.columns("readings", run=info.run)
            if len(set(columns["time"].tolist())) >= FEWEST_TICKS:
                found = True
                yield _of_length(tick_readings(columns, layout, info.start), seconds)
        if not found:
            raise UsageError(
                f"'{name}' cannot calibrate: it has totals, but no ticks to learn from; "
                "record it over time, as `gnomon record` does."
            )


def _of_length(readings: Readings, seconds: float) -> Readings:
    import numpy as np

    kept = readings.seconds > 0
    factors = (seconds / readings.seconds[kept])[:, None]
    return replace(
        readings,
        seconds=np.full(int(kept.sum()), seconds),
        fixed=readings.fixed[kept] * factors,
        counts=readings.counts[kept] * factors,
        ends_rotation=readings.ends_rotation[kept],
    )


def _names(recordings: Sequence[str | os.PathLike[str]]) -> str:
    return " and ".join(f"'{os.fspath(path)}'" for path in recordings)
