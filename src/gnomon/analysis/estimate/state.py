"""The state of a run: every event in every tick, estimated where it was not read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.notebook import Shown
from gnomon.recording.contents import EventInfo, Provenance, RunInfo

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array, Estimates, Readings
    from gnomon.analysis.estimate.totals import Totals


@dataclass(frozen=True, slots=True)
class EventState:
    """One event over a run, in `unit`: its total with a 90 % interval, and its course.

    `share` is the share of the ticks in which it was read; with 1 everything is measured
    and nothing estimated. The course is in `unit` a second, a value a tick; `read` tells
    where it was read. Without a single reading there is no total and no course.
    """

    event: str
    unit: str
    total: float | None
    low: float | None
    high: float | None
    share: float
    rates: tuple[float, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    read: tuple[bool, ...] = ()

    @property
    def measured(self) -> bool:
        """Whether it was read in every tick."""
        return self.share >= 1


@dataclass(frozen=True, slots=True)
class State(Shown):
    """A run as it was read and as it is estimated; `ends` has the end of each tick, in ns.

    `readings` are raw counts, `estimates` counts of the events of `readings.layout`, and
    `totals` their sums over the run. What was always counted is in `readings.fixed`.
    """

    provenance: Provenance
    events: tuple[EventInfo, ...]
    ends: tuple[int, ...]
    readings: Readings
    estimates: Estimates
    totals: Totals
    run: RunInfo
    warnings: tuple[str, ...] = ()
    smoothed: bool = False
    interrupted: bool = False
    failed: bool = False
    path: str = ""
    cost: float | None = None
    """The share of one CPU that estimating and recording took, where it was measured."""

    @property
    def seconds(self) -> float:
        """How long the run took, in seconds."""
        return float(self.readings.seconds.sum())

    @property
    def names(self) -> tuple[str, ...]:
        """All events, those that were always counted first."""
        return (*self.readings.layout.fixed, *self.readings.layout.events)

    @property
    def lines(self) -> tuple[EventState, ...]:
        """All events over the run."""
        return tuple(self[name] for name in self.names)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, event: str) -> EventState:
        """Return one event over the run; raises KeyError when it was not asked for."""
        layout = self.readings.layout
        if event in layout.fixed:
            return self._exact(event, self.readings.fixed[:, layout.fixed.index(event)])
        if event not in layout.events:
            raise KeyError(event)
        return self._estimated(event, layout.events.index(event))

    def _scale(self, event: str) -> tuple[float, str]:
        info = next((i for i in self.events if i.name == event), EventInfo(event))
        return info.scale, info.unit

    def _exact(self, event: str, counts: Array) -> EventState:
        scale, unit = self._scale(event)
        rates = tuple((counts * scale / self.readings.seconds).tolist())
        total = float(counts.sum()) * scale
        flags = (True,) * len(rates)
        return EventState(event, unit, total, total, total, 1.0, rates, rates, rates, flags)

    def _estimated(self, event: str, place: int) -> EventState:
        import numpy as np

        scale, unit = self._scale(event)
        read = np.isfinite(self.readings.counts[:, place])
        if not read.any():
            return EventState(event, unit, None, None, None, 0.0)
        factor = scale / self.readings.seconds
        total, low, high = (
            float(getattr(self.totals, name)[place]) * scale for name in ("mean", "low", "high")
        )
        rates, lows, highs = (
            tuple((getattr(self.estimates, name)[:, place] * factor).tolist())
            for name in ("mean", "low", "high")
        )
        share = float(read.mean())
        flags = tuple(read.tolist())
        return EventState(event, unit, total, low, high, share, rates, lows, highs, flags)
