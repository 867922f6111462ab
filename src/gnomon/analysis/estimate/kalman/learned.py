"""What all Kalman models do: learn from a calibration, filter, and smooth what is over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from gnomon.analysis.estimate.model import Estimates, Filter, Layout, Readings, Tick

MEMORY = 60.0
"""Readings of an event over which parameters are learned."""

FOREVER = 1e12
"""A memory that forgets nothing: for runs that are over."""


class SmoothingFilter(Filter, Protocol):
    """A filter that can go back over the ticks it was given."""

    def smoothed(self, readings: Readings) -> Estimates:
        """Every tick of a run that was pushed, from all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedKalman(ABC):
    """A model whose parameters are learned while it filters, with so long a memory."""

    memory: float = MEMORY

    @abstractmethod
    def blank(self, layout: Layout) -> SmoothingFilter:
        """Return a filter that has seen nothing yet."""

    def begin(self, layout: Layout, calibration: Readings | None = None) -> SmoothingFilter:
        """A filter; a calibration teaches it parameters."""
        filter_ = self.blank(layout)
        for tick in in_turns(calibration) if calibration is not None else ():
            filter_.push(tick)
        return filter_

    def smooth(self, readings: Readings, calibration: Readings | None = None) -> Estimates:
        """Every tick from the whole run, with the parameters of the whole run."""
        if not len(readings):
            return Estimates.nothing(len(readings.layout))
        filter_ = replace(self, memory=FOREVER).begin(readings.layout, calibration)
        for row in range(len(readings)):
            filter_.push(readings.tick(row))
        return filter_.smoothed(readings)


def in_turns(calibration: Readings) -> Iterator[Tick]:
    """Yield a calibration as if events had taken turns: so far apart are readings to learn from."""
    import numpy as np

    layout = calibration.layout
    sets = layout.sets or (tuple(range(len(layout))),)
    for row in range(len(calibration)):
        tick = calibration.tick(row)
        shown = np.full(len(layout), np.nan)
        places = list(sets[row % len(sets)])
        shown[places] = tick.counts[places]
        yield replace(tick, counts=shown)
