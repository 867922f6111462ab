"""Hiding most of a series: in each row one event is read, and the models see no other.

Rows come in rotations, as many rows as there are events. Which event is read in which row is
up to an `Order`: in turn, in turn but shuffled in every rotation, or as a scheduler chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from gnomon.analysis.estimate.model import Estimates, Filter, Layout, Model, Readings, Tick

if TYPE_CHECKING:
    import numpy as np

    from gnomon.analysis.estimate.model import Array, Flags
    from gnomon.analysis.estimate.scoring.data import CounterSeries

SECONDS = 1.0
"""Rows are as long as each other: estimates are counts a row, not rates."""


class Order(Protocol):
    """Decides which event is read next."""

    def choose(self, filter_: Filter) -> int:
        """Return the event to read in the next tick, given what the filter knows."""


MakeOrder = Callable[[Layout, int], Order]
"""Makes an order for these events from a seed."""


class RoundRobin:
    """Every event in turn, always in the same order."""

    def __init__(self, layout: Layout, seed: int) -> None:
        del seed
        self._events = len(layout)
        self._row = -1

    def choose(self, filter_: Filter) -> int:
        """Return the next event."""
        del filter_
        self._row += 1
        return self._row % self._events


class Shuffled:
    """Every event once in a rotation, in an order drawn for each rotation."""

    def __init__(self, layout: Layout, seed: int) -> None:
        import numpy as np

        self._events = len(layout)
        self._random: np.random.Generator = np.random.default_rng(seed)
        self._left: list[int] = []

    def choose(self, filter_: Filter) -> int:
        """Return the next event of this rotation."""
        del filter_
        if not self._left:
            self._left = [int(event) for event in self._random.permutation(self._events)]
        return self._left.pop()


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


def as_chosen(model: Model, series: CounterSeries, make: MakeOrder, seed: int) -> Estimates:
    """Estimates, at the end of each rotation, when an order decides what is read."""
    import numpy as np

    layout = layout_of(series)
    filter_ = model.begin(layout)
    order = make(layout, seed)
    events = len(layout)
    parts: list[Estimates] = []
    for row in range(len(series) // events * events):
        counts: Array = np.full(events, np.nan)
        event = order.choose(filter_)
        counts[event] = series.counts[row, event]
        ends = (row + 1) % events == 0
        filter_.push(Tick(SECONDS, series.fixed[row], counts, ends))
        if ends:
            parts.append(filter_.recent(events))
    return Estimates.joined(parts)


def _ends(rows: int, events: int) -> Flags:
    import numpy as np

    ends: Flags = (np.arange(rows) + 1) % events == 0
    return ends
