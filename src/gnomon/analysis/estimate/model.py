"""What estimators see and what they say: ticks, estimates, and the interface of all models.

A tick is one interval between two readings. In each, the fixed counters and one *set* of the
other events are counted; the rest is unread, and NaN here. A *rotation* is over when every
event has been read since the last one ended. A `Model` makes a `Filter`, which is given
tick after tick and asked, at any time, for the ticks just past (`recent`) or those to come
(`ahead`); what it says depends on nothing that it was not given. `causal` and `strict` ask
it for a whole run; `Model.smooth` looks at the whole run at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

COVERAGE = 0.9
"""How often the truth lies within an interval of an estimate."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which events there are, in which order, and which of them are read together."""

    events: tuple[str, ...]
    fixed: tuple[str, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True, slots=True)
class Tick:
    """One interval: its length, what the fixed counters counted, and the events that were read.

    `counts` has one value an event, NaN for those not read in this tick.
    """

    seconds: float
    fixed: Array
    counts: Array
    ends_rotation: bool = False


@dataclass(frozen=True, slots=True)
class Readings:
    """The ticks of a run: arrays with a row a tick. NaN where an event was not read."""

    layout: Layout
    seconds: Array
    fixed: Array
    counts: Array
    ends_rotation: Flags

    def __len__(self) -> int:
        return len(self.seconds)

    def tick(self, row: int) -> Tick:
        """The tick in a row."""
        return Tick(
            float(self.seconds[row]),
            self.fixed[row],
            self.counts[row],
            bool(self.ends_rotation[row]),
        )


@dataclass(frozen=True, slots=True)
class Estimates:
    """Counts of every event in consecutive ticks, a row a tick, none negative.

    `mean` is the value to show, `low` to `high` its 90 % interval, `deviation` its standard
    deviation. Where an event was read, all of them are what was read, and the deviation is 0.
    Of an event that was never read nothing is known: all of them are NaN.
    """

    mean: Array
    deviation: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.mean)

    @classmethod
    def nothing(cls, events: int) -> Self:
        """The estimates of a run without ticks."""
        import numpy as np

        return cls(*np.empty((4, 0, events)))

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Consecutive estimates as one."""
        import numpy as np

        return cls(
            *(
                np.concatenate([getattr(part, field) for part in parts])
                for field in ("mean", "deviation", "low", "high")
            )
        )


class Filter(Protocol):
    """An estimator at work: it is given ticks and knows no others."""

    def push(self, tick: Tick) -> None:
        """Take in the next tick."""

    def expected(self, tick: Tick) -> Array:
        """What was to be expected of the readings of a tick, before it is pushed.

        That is what would be said of them had they not been made, though the fixed counters
        are known. NaN for events that are not read in the tick, or never were before.
        """

    def recent(self, ticks: int) -> Estimates:
        """The last ticks, the newest last, from all that was given so far."""

    def ahead(self, ticks: int) -> Estimates:
        """The next ticks, each as long as the last one, with intervals that grow."""


class Model(Protocol):
    """A way to estimate, before it has seen anything."""

    @property
    def name(self) -> str:
        """What the model is called in tables and options."""

    def begin(self, layout: Layout, calibration: Readings | None = None) -> Filter:
        """A filter for events in this order, prepared with ticks in which all were read."""

    def smooth(self, readings: Readings, calibration: Readings | None = None) -> Estimates:
        """Every tick of a run that is over, from all of its readings."""


def causal(model: Model, readings: Readings, calibration: Readings | None = None) -> Estimates:
    """Every tick of a run, each estimated when its rotation ends."""
    return _asked(model, readings, calibration, readings.ends_rotation)


def strict(model: Model, readings: Readings, calibration: Readings | None = None) -> Estimates:
    """Every tick of a run, each estimated at once."""
    import numpy as np

    return _asked(model, readings, calibration, np.ones(len(readings), dtype=bool))


def _asked(
    model: Model,
    readings: Readings,
    calibration: Readings | None,
    when: Flags,
) -> Estimates:
    filter_ = model.begin(readings.layout, calibration)
    parts: list[Estimates] = []
    waiting = 0
    for row in range(len(readings)):
        filter_.push(readings.tick(row))
        waiting += 1
        if when[row] or row == len(readings) - 1:
            parts.append(filter_.recent(waiting))
            waiting = 0
    if not parts:
        return Estimates.nothing(len(readings.layout))
    return Estimates.joined(parts)
