"""What estimators see and what they say: ticks, estimates, and the interface of all models.

A tick is one interval between two readings. In each, the fixed counters and one *set* of the
other events are counted; the rest is unread, and NaN here. A *rotation* is over when every
event has been read since the last one ended. A `Model` makes a `Filter`, which is given
tick after tick and asked, at any time, for the ticks just past (`recent`) or those to come
(`ahead`); what it says depends on nothing that it was not given. `causal` and `strict` ask
it for a whole run; `Model.smooth` looks at the whole run at once.
"""

from __future__ import annotations

from typing import Protocol

from gnomon.analysis.estimate.result import Array, Estimates, Flags, Layout, Readings, Tick

__all__ = ["COVERAGE", "Array", "Estimates", "Filter", "Flags", "Layout", "Model", "Readings"]
__all__ += ["Tick", "causal", "strict"]

COVERAGE = 0.9
"""How often the truth lies within an interval of an estimate."""


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
