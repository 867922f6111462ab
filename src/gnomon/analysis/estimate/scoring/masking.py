"""Hiding most of a series: in each row one event is read, and the models see no other.

Rows come in rotations, as many rows as there are events. The events take turns in the order of
their columns, or as an order of `gnomon.analysis.estimate.schedule` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Estimates, Layout, Model, Readings, Tick
from gnomon.analysis.estimate.schedule import find_order

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array, Flags
    from gnomon.analysis.estimate.scoring.data import CounterSeries

SECONDS = 1.0
"""Rows are as long as each other: estimates are counts a row, not rates."""


def layout_of(series: CounterSeries) -> Layout:
    """The events of a series, each a set of its own."""
    return Layout(
        series.events, series.fixed_events, tuple((e,) for e in range(len(series.events)))
    )


def in_turn(series: CounterSeries, first: int = 0) -> Readings:
    """What is read of the rows from `first` on when events take turns."""
    import numpy as np

    truth = series.counts[first:]
    rows, events = truth.shape
    row = np.arange(rows)
    counts = np.full_like(truth, np.nan)
    counts[row, row % events] = truth[row, row % events]
    return Readings(
        layout_of(series), np.full(rows, SECONDS), series.fixed[first:], counts, _ends(rows, events)
    )


def fully_read(series: CounterSeries, last: int) -> Readings:
    """The rows before `last` with all events read: a calibration."""
    import numpy as np

    return Readings(
        layout_of(series),
        np.full(last, SECONDS),
        series.fixed[:last],
        series.counts[:last],
        np.ones(last, dtype=bool),
    )


def as_chosen(model: Model, series: CounterSeries, order_name: str, seed: int) -> Estimates:
    """Estimates, at the end of each rotation, when an order decides what is read."""
    import numpy as np

    layout = layout_of(series)
    filter_ = model.begin(layout)
    order = find_order(order_name, layout, seed=seed)
    events = len(layout)
    parts: list[Estimates] = []
    for row in range(len(series) // events * events):
        counts: Array = np.full(events, np.nan)
        read = list(layout.sets[order.choose()])
        counts[read] = series.counts[row, read]
        tick = Tick(SECONDS, series.fixed[row], counts, (row + 1) % events == 0)
        filter_.push(tick)
        order.note(tick)
        if tick.ends_rotation:
            parts.append(filter_.recent(events))
    return Estimates.joined(parts)


def _ends(rows: int, events: int) -> Flags:
    import numpy as np

    ends: Flags = (np.arange(rows) + 1) % events == 0
    return ends
