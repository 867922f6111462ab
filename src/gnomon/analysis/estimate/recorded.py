"""The state of a run from its recording: as it was estimated then, or estimated anew."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.metrics import with_metrics
from gnomon.analysis.estimate.model import Estimates, Layout, Readings, causal
from gnomon.analysis.estimate.models import find_model, with_parameters
from gnomon.analysis.estimate.result import State
from gnomon.analysis.estimate.totals import run_totals
from gnomon.errors import UsageError
from gnomon.events.syntax import split_items
from gnomon.recording import Recording
from gnomon.recording.contents import EventInfo, Provenance, RunInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gnomon.analysis.estimate.model import Array, Model

_MISSING = "have no stored estimates: `gnomon estimate REC` makes them"


def estimated_again(
    recording: str | os.PathLike[str] | Recording,
    *,
    model: str | Model | None = None,
    smooth: bool = False,
    run: int | None = None,
    parameters: str | os.PathLike[str] | None = None,
) -> State:
    """Return a recorded run as it was estimated while it went on, or anew if anything asks for it.

    What has no stored estimates, as where the run was cut short, is estimated anew as well.
    """
    state = stored_estimates(recording, run=run)
    again = smooth or model is not None or parameters is not None
    if not again and not _without_estimates(state):
        return state
    if model is None:
        model = state.provenance.model if parameters is None else "choice"
    chosen = find_model(model) if isinstance(model, str) else model
    if parameters is not None:
        from gnomon.analysis.estimate.identify.store import find_parameters, machine_of

        chosen = with_parameters(chosen, find_parameters(parameters, machine_of(state.provenance)))
    estimates = estimated(chosen, state.readings, state.provenance.interval, smooth=smooth)
    provenance = replace(state.provenance, model=chosen.name)
    warnings = tuple(text for text in state.warnings if not text.endswith(_MISSING))
    return with_metrics(
        replace(
            state,
            provenance=provenance,
            estimates=estimates,
            smoothed=smooth,
            warnings=warnings,
        )
    )


def of_readings(readings: Readings, *, model: str | Model, smooth: bool) -> State:
    """Return the state of a run of which there are nothing but readings, as arrays."""
    import numpy as np

    readings, warnings = sound(readings)
    chosen = find_model(model) if isinstance(model, str) else model
    ends = tuple(np.round(np.cumsum(readings.seconds) * 1e9).astype(np.int64).tolist())
    layout = readings.layout
    return State(
        infos=tuple(EventInfo(name) for name in (*layout.fixed, *layout.events)),
        ends=ends,
        readings=readings,
        estimates=estimated(chosen, readings, None, smooth=smooth),
        totals=run_totals(readings),
        run=RunInfo(0, end=ends[-1] if ends else 0),
        smoothed=smooth,
        provenance=Provenance("arrays", model=chosen.name, always=layout.fixed),
        warnings=warnings,
    )


def sound(readings: Readings) -> tuple[Readings, tuple[str, ...]]:
    """Return readings without what cannot be true, and what was left out, in words.

    A count that is negative or infinite was not read; a fixed counter keeps its rate then. Ticks in
    which time did not pass, or went backwards, are none.
    """
    import numpy as np

    warnings = []
    passed = np.isfinite(readings.seconds) & (readings.seconds > 0)
    if not passed.all():
        times = int((~passed).sum())
        warnings.append(f"{times} ticks in which time did not pass or went backwards: left out")
        readings = replace(
            readings,
            seconds=readings.seconds[passed],
            fixed=readings.fixed[passed],
            counts=readings.counts[passed],
            ends_rotation=readings.ends_rotation[passed],
        )
    tables = []
    for names, table in (
        (readings.layout.fixed, readings.fixed),
        (readings.layout.events, readings.counts),
    ):
        wrong = np.isinf(table) | (table < 0)
        for place in np.flatnonzero(wrong.any(axis=0)):
            times = int(wrong[:, place].sum())
            warnings.append(
                f"{times} readings of {names[place]} were negative or infinite: left out"
            )
        tables.append(np.where(wrong, np.nan, table))
    fixed = _held(tables[0], readings.seconds)
    return replace(readings, fixed=fixed, counts=tables[1]), tuple(warnings)


def estimated(model: Model, readings: Readings, interval: int | None, *, smooth: bool) -> Estimates:
    """Estimate ticks as if all were of the usual length, which is what models compare."""
    import numpy as np

    usual = interval / 1e9 if interval else float(np.median(readings.seconds))
    factors = (usual / readings.seconds)[:, None]
    even = replace(
        readings,
        seconds=np.full(len(readings), usual),
        fixed=readings.fixed * factors,
        counts=readings.counts * factors,
    )
    found = model.smooth(even) if smooth else causal(model, even)
    read = np.isfinite(readings.counts)
    mean, low, high = (
        np.where(read, readings.counts, values / factors)
        for values in (found.mean, found.low, found.high)
    )
    return Estimates(mean, found.deviation / factors, low, high)


def has_estimates(recording: Recording) -> bool:
    """Whether a recording was made by `gnomon estimate`, so that estimates are stored in it."""
    return bool(recording.provenance.sets)


def stored_estimates(
    recording: str | os.PathLike[str] | Recording, *, run: int | None = None
) -> State:
    """Return a recorded run as it was estimated while it went on; nothing is estimated anew."""
    if not isinstance(recording, Recording):
        with Recording.open(recording) as opened:
            return stored_estimates(opened, run=run)
    provenance = recording.provenance
    if not provenance.sets:
        raise UsageError(
            f"'{recording.path.name}' has no sets that took turns: "
            "`gnomon estimate -o REC` makes recordings that have."
        )
    info = _run(recording, run)
    columns = recording.columns("readings", run=info.run)
    if not len(columns["time"]):
        raise UsageError(f"'{recording.path.name}' has no readings: nothing can be estimated.")
    layout = layout_of(provenance.always, provenance.sets)
    ends, readings = _readings(columns, layout, info.start)
    if info.end == 0:  # cut short
        info = replace(info, end=int(ends[-1]))
    warnings = list(recording.warnings)
    if not recording.complete:
        warnings.insert(0, "the recording is incomplete: it was cut short or is being written")
    state = State(
        infos=recording.events,
        ends=tuple((ends - info.start).tolist()),
        readings=readings,
        estimates=_estimates(recording, layout, ends, readings, info.run),
        totals=run_totals(readings),
        run=info,
        recording=str(recording.path),
        provenance=provenance,
        warnings=tuple(warnings),
    )
    if missing := _without_estimates(state):
        text = f"{missing} of {len(state)} ticks {_MISSING}"
        state = replace(state, warnings=(*state.warnings, text))
    return with_metrics(state)


def _without_estimates(state: State) -> int:
    """Return how many ticks lack estimates of events that were read at all."""
    import numpy as np

    read = np.isfinite(state.readings.counts).any(axis=0)
    return int(np.isnan(state.estimates.mean[:, read]).any(axis=1).sum())


def layout_of(always: tuple[str, ...], sets: tuple[str, ...]) -> Layout:
    """Return the events of a recording's header as estimators know them."""
    groups = [split_items(text) for text in sets]
    names = list(dict.fromkeys(name for group in groups for name in group))
    place = {name: number for number, name in enumerate(names)}
    return Layout(tuple(names), always, tuple(tuple(place[n] for n in g) for g in groups))


def readings_of(columns: dict[str, Array], always: tuple[str, ...], start: int) -> Readings:
    """Return the readings of a run of which only the fixed counters are known."""
    names = list(dict.fromkeys(str(name) for name in columns["event"]))
    fixed = tuple(name for name in names if name in always)
    together: dict[int, set[str]] = {}
    for time, name in zip(columns["time"].tolist(), columns["event"], strict=True):
        together.setdefault(time, set()).add(str(name))
    last = max(together)  # there all events may have a row that closes the run
    kinds = {frozenset(group) for time, group in together.items() if time != last}
    events = tuple(name for name in names if name not in always)
    sets = tuple(() for _ in kinds) or ((),)
    return tick_readings(columns, Layout(events, fixed, sets), start)


def tick_readings(columns: dict[str, Array], layout: Layout, start: int) -> Readings:
    """Return the readings of a run, of which events in the layout may be missing."""
    return _readings(columns, layout, start)[1]


def _run(recording: Recording, run: int | None) -> RunInfo:
    runs = {info.run: info for info in recording.runs}
    if run is None:
        if runs:
            return runs[min(runs)]
        first = next(iter(recording.readings()), None)  # cut short before the run was noted
        interval = recording.provenance.interval or 0
        return RunInfo(0, start=first.time - interval if first else 0)
    if run not in runs:
        known = ", ".join(map(str, sorted(runs))) or "none"
        raise UsageError(f"there is no run {run}: the recording has {known}.")
    return runs[run]


def _readings(columns: dict[str, Array], layout: Layout, start: int) -> tuple[Array, Readings]:
    import numpy as np

    ends = np.unique(columns["time"])
    rows = np.searchsorted(ends, columns["time"])
    names = {name: place for place, name in enumerate((*layout.fixed, *layout.events))}
    places = np.array([names.get(str(name), -1) for name in columns["event"]])
    values = np.ma.filled(columns["value"].astype(np.float64), np.nan)
    # A reading without time that it could have counted in closes a run: it is none.
    tail = np.isnan(values) & (columns["running"] == 0) & (columns["enabled"] > 0)
    kept = (places >= 0) & ~tail
    table = np.full((len(ends), len(names)), np.nan)
    sums = np.zeros_like(table)
    np.add.at(sums, (rows[kept], places[kept]), values[kept])
    seen = np.zeros(table.shape, dtype=bool)
    seen[rows[kept], places[kept]] = True
    table[seen] = sums[seen]
    seconds = np.diff(ends, prepend=start) / 1e9
    fixed = _held(table[:, : len(layout.fixed)], seconds)
    whole = np.arange(1, len(ends) + 1) % len(layout.sets) == 0
    return ends, Readings(layout, seconds, fixed, table[:, len(layout.fixed) :], whole)


def _held(fixed: Array, seconds: Array) -> Array:
    """Return the fixed counters with the rate before in the place of failed readings."""
    import numpy as np

    for column in fixed.T:
        rate = 0.0
        for row in np.flatnonzero(np.isnan(column)):
            if row:
                rate = column[row - 1] / seconds[row - 1]
            column[row] = rate * seconds[row]
    return fixed


def _estimates(
    recording: Recording, layout: Layout, ends: Array, readings: Readings, run: int
) -> Estimates:
    """Return the estimates that were recorded; NaN where a run was cut short."""
    import numpy as np

    columns = recording.columns("estimates", run=run)
    rows = np.searchsorted(ends, columns["time"])
    place = {name: number for number, name in enumerate(layout.events)}
    where = np.array([place.get(str(name), -1) for name in columns["event"]], dtype=int)
    arrays = []
    for name in ("mean", "deviation", "low", "high"):
        values = np.full_like(readings.counts, np.nan)
        values[rows[where >= 0], where[where >= 0]] = columns[name][where >= 0]
        arrays.append(values)
    return Estimates(*arrays)


# ---- runs that were recorded before, for models to begin with ----------------------------------

FEWEST_TICKS = 3
"""A run of fewer ticks has no course to learn from."""


def calibration_of(
    recordings: Sequence[str | os.PathLike[str]], layout: Layout, seconds: float
) -> Readings:
    """Return the ticks of all runs of recordings, as if each had lasted so many seconds."""
    import numpy as np

    runs = [run for path in recordings for run in _calibrating(path, layout, seconds)]
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


def _calibrating(
    path: str | os.PathLike[str], layout: Layout, seconds: float
) -> Iterator[Readings]:
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
                "record it over time, as `gnomon count -i` does."
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
