"""Metrics over estimates: ratios and rates of every tick and of the run, with intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gnomon.analysis.estimate.result import MetricState
from gnomon.events.formula.dimensions import parse_unit
from gnomon.events.metrics import BoundMetric, load_metrics
from gnomon.sources.base import HasPresets
from gnomon.sources.registry import capabilities, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gnomon.analysis.estimate.model import Array, Estimates, Flags, Layout, Tick
    from gnomon.analysis.estimate.result import State
    from gnomon.events.presets import PresetTable
    from gnomon.recording.contents import EventInfo, Provenance

Cells = tuple[float | None, ...]

_WIDTH = 1.645
"""Standard deviations on either side that hold 90 % of a normal distribution."""


def with_metrics(state: State) -> State:
    """Return the state of a run with all metrics that its events allow."""
    return replace(state, metrics=_metrics_of(state))


def _metrics_of(state: State) -> tuple[MetricState, ...]:
    """Return all metrics that the events of a run allow."""
    import numpy as np

    readings, layout = state.readings, state.readings.layout
    seen = [place for place, total in enumerate(state.totals.mean) if np.isfinite(total)]
    counts = {name: readings.fixed[:, i] for i, name in enumerate(layout.fixed)}
    variances = {name: np.zeros(len(readings)) for name in layout.fixed}
    totals = {name: np.array([column.sum()]) for name, column in counts.items()}
    doubts = {name: np.zeros(1) for name in layout.fixed}
    for place in seen:
        name = layout.events[place]
        counts[name] = state.estimates.mean[:, place]
        variances[name] = state.estimates.deviation[:, place] ** 2
        totals[name] = state.totals.mean[place : place + 1]
        doubts[name] = state.totals.deviation[place : place + 1] ** 2
    constants = _constants(state.provenance)
    seconds = np.array([state.seconds])
    found = []
    for bound in bound_metrics(state.provenance, state.infos, counts):
        ticks = bound.formula.evaluate_rows_with_variance(
            {**counts, "time": readings.seconds, **constants}, variances
        )
        run = bound.formula.evaluate_rows_with_variance(
            {**totals, "time": seconds, **constants}, doubts
        )
        value, low, high = (cells[0] for cells in _interval(run.value, run.variance))
        course = _interval(ticks.value, ticks.variance)
        found.append(_state(bound, value, low, high, *course))
    return tuple(found)


def metrics_now(
    metrics: Sequence[BoundMetric],
    layout: Layout,
    tick: Tick,
    now: Estimates,
    seen: Flags,
    provenance: Provenance,
) -> tuple[MetricState, ...]:
    """Return metrics of one tick, which is the last of some estimates, over events seen so far."""
    counts = {name: tick.fixed[i : i + 1] for i, name in enumerate(layout.fixed)}
    variances = {name: tick.fixed[i : i + 1] * 0 for i, name in enumerate(layout.fixed)}
    for place in seen.nonzero()[0]:
        name = layout.events[place]
        counts[name] = now.mean[-1:, place]
        variances[name] = now.deviation[-1:, place] ** 2
    found = []
    for bound in metrics:
        result = bound.formula.evaluate_rows_with_variance(
            {**counts, "time": [tick.seconds], **_constants(provenance)}, variances
        )
        value, low, high = (each[0] for each in _interval(result.value, result.variance))
        found.append(_state(bound, value, low, high))
    return tuple(found)


def _state(
    bound: BoundMetric,
    value: float | None,
    low: float | None,
    high: float | None,
    values: Cells = (),
    lows: Cells = (),
    highs: Cells = (),
) -> MetricState:
    about = bound.metric
    unit = about.unit.text
    return MetricState(about.name, about.title, unit, value, low, high, values, lows, highs)


def bound_metrics(
    provenance: Provenance, events: Sequence[EventInfo], available: Iterable[str]
) -> tuple[BoundMetric, ...]:
    """Return the metrics that can be had of some events."""
    units = {info.name: parse_unit(info.unit) for info in events if info.unit}
    presets = _presets(provenance)
    return load_metrics().applicable(frozenset(available), presets=presets, units=units)


def _presets(origin: Provenance) -> PresetTable:
    from gnomon.events.presets import load_presets

    if capabilities(origin.source).presets:
        source = source_of(origin)
        if isinstance(source, HasPresets):
            return source.preset_table()
    return load_presets()


def _constants(provenance: Provenance) -> dict[str, float | None]:
    return {"cpus": float(provenance.cpus) or None}


def _interval(values: Any, variances: Any) -> tuple[Cells, Cells, Cells]:
    """Return values with both ends of their intervals; None where there is none."""
    import numpy as np

    middle: Array = np.atleast_1d(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))
    variance: Array = np.ma.filled(np.ma.asarray(variances, dtype=float), np.nan)
    variance = np.broadcast_to(np.atleast_1d(variance), middle.shape)
    half = _WIDTH * np.sqrt(np.maximum(variance, 0))
    low = np.where(middle >= 0, np.maximum(middle - half, 0), middle - half)
    return _cells(middle), _cells(low), _cells(middle + half)


def _cells(values: Array) -> Cells:
    import math

    return tuple(v if math.isfinite(v) else None for v in values.tolist())
