"""What estimating gives: every event of a run in every tick, and processes of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.result import Result, derived

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


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

    `counts` has one value per event, NaN for those not read in this tick.
    """

    seconds: float
    fixed: Array
    counts: Array
    ends_rotation: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """The ticks of a run: arrays with a row per tick. NaN where an event was not read."""

    layout: Layout
    seconds: Array  # (tick,)
    fixed: Array  # (tick, fixed counter)
    counts: Array  # (tick, event)
    ends_rotation: Flags  # (tick,)

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


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Counts of every event in consecutive ticks, a row per tick, none negative.

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
        return cls(*np.empty((4, 0, events)))

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Consecutive estimates as one."""
        return cls(
            *(
                np.concatenate([getattr(part, field) for part in parts])
                for field in ("mean", "deviation", "low", "high")
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """The total of every event over a run, with its 90 % interval; NaN when it was never read."""

    mean: Array
    deviation: Array
    low: Array
    high: Array


def rate_unit(unit: str) -> str:
    """Return the unit of rates of an event: time on a CPU per time is a number of CPUs."""
    return "CPUs" if unit == "ns" else f"{unit}/s"


@dataclass(frozen=True, slots=True)
class EventState:
    """One event over a run, in `unit`: its total with a 90 % interval, and its mean rate, per s.

    `read` is the share of the ticks in which it was read; with 1 everything is measured and
    nothing estimated. Without a single reading there is no total.
    """

    event: str
    unit: str
    total: float | None
    low: float | None
    high: float | None
    rate: float | None
    read: float
    description: str = ""

    @derived
    def estimated(self) -> bool:
        """Whether there are ticks in which it was not read."""
        return self.read < 1

    @property
    def status(self) -> str:
        """Empty for what was read in every tick, and else why that cannot be said."""
        if self.total is None:
            return "never read"
        return "estimated" if self.estimated else ""

    @property
    def rate_unit(self) -> str:
        """The unit of its rate: time on a CPU per time is a number of CPUs."""
        return rate_unit(self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """An event over time, a value per tick, in its unit per second; where it was read."""

    rates: Array
    lows: Array
    highs: Array
    read: Flags


@dataclass(frozen=True, slots=True)
class Ahead:
    """What an event is expected to count in the ticks to come, in its unit per second."""

    event: str
    unit: str
    rates: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MetricState:
    """A metric over a run, with a 90 % interval, and its course; None where it has no value."""

    name: str
    title: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    values: tuple[float | None, ...] = ()
    lows: tuple[float | None, ...] = ()
    highs: tuple[float | None, ...] = ()


@dataclass(frozen=True, eq=False)
class State(Result):
    """A run as it was read and as it is estimated; `ends` has the end of each tick, in ns.

    `readings` are raw counts, `estimates` counts of the events of `readings.layout`, and
    `totals` their sums over the run; `ahead` is what is expected of the ticks after the last one,
    where that was asked for. What was always counted is in `readings.fixed`. `cost` is the
    share of one CPU that estimating and recording took, where it was measured.
    """

    kind: ClassVar[str] = "estimate"

    infos: tuple[EventInfo, ...]
    ends: tuple[int, ...]
    readings: Readings
    estimates: Estimates
    totals: Totals
    run: RunInfo
    metrics: tuple[MetricState, ...] = ()
    smoothed: bool = False
    interrupted: bool = False
    failed: bool = False
    recording: str = ""
    cost: float | None = None
    ahead: tuple[Ahead, ...] = ()
    provenance: Provenance = field(kw_only=True)

    @derived
    def ticks(self) -> int:
        """How many ticks there are."""
        return len(self.ends)

    @derived
    def seconds(self) -> float:
        """How long the run took, in seconds."""
        return float(self.readings.seconds.sum())

    @derived
    def events(self) -> tuple[EventState, ...]:
        """All events over the run, those that were always counted first."""
        return tuple(self._events.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all events, those that were always counted first."""
        return (*self.readings.layout.fixed, *self.readings.layout.events)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, event: str) -> EventState:
        """Return one event over the run; raises KeyError when it was not asked for."""
        return self._events[event]

    @cached_property
    def _events(self) -> dict[str, EventState]:
        """All events by name."""
        readings, totals, seconds = self.readings, self.totals, self.seconds
        infos = {info.name: info for info in self.infos}
        shares = np.isfinite(readings.counts).sum(axis=0) / max(len(self.ends), 1)
        found: dict[str, EventState] = {}
        for place, name in enumerate(readings.layout.fixed):
            info = infos.get(name, EventInfo(name))
            whole = float(readings.fixed[:, place].sum()) * info.scale
            numbers = (whole, whole, whole, whole / seconds if seconds else None, 1.0)
            found[name] = EventState(name, info.unit, *numbers, info.description)
        for place, name in enumerate(readings.layout.events):
            info = infos.get(name, EventInfo(name))
            share = float(shares[place])
            total, low, high = (
                float(each[place]) * info.scale if share else None
                for each in (totals.mean, totals.low, totals.high)
            )
            rate = total / seconds if total is not None and seconds else None
            about = (share, info.description)
            found[name] = EventState(name, info.unit, total, low, high, rate, *about)
        return found

    def course(self, event: str) -> Course:
        """Return an event over time; raises KeyError when it was not asked for."""
        layout = self.readings.layout
        if event not in self._events:
            raise KeyError(event)
        infos = (info.scale for info in self.infos if info.name == event)
        factor = next(infos, 1.0) / self.readings.seconds
        if event in layout.fixed:
            rates = self.readings.fixed[:, layout.fixed.index(event)] * factor
            return Course(rates, rates, rates, np.ones(len(rates), dtype=bool))
        place = layout.events.index(event)
        mean, low, high = (
            each[:, place] * factor
            for each in (self.estimates.mean, self.estimates.low, self.estimates.high)
        )
        return Course(mean, low, high, np.isfinite(self.readings.counts[:, place]))

    @property
    def restless(self) -> tuple[str, ...]:
        """The estimated events that vary, relative to their means, most first."""
        found = {}
        for line in self.events:
            rates = self.course(line.event).rates if line.estimated and line.total else None
            if rates is not None and np.isfinite(rates).any() and (mean := np.nanmean(rates)) > 0:
                found[line.event] = float(np.nanmean(np.abs(rates - mean)) / mean)
        moving = [name for name, share in found.items() if share > 0]
        return tuple(sorted(moving, key=lambda name: -found[name]))


@dataclass(frozen=True, slots=True)
class ValueNow:
    """An event, in its unit per second, or a metric, in one tick; estimates have an interval.

    `status` is empty for what was read, and else says why it was not.
    """

    value: float | None
    low: float | None
    high: float | None
    unit: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """Why a set was read: the rule, and the event in it that had most to tell.

    Of that event: how wrong guesses of it usually are, relative to its mean, for how many ticks it
    had not been read, how far the state was from those in which it was read, and its weight.
    """

    rule: str
    event: str = ""
    error: float | None = None
    waited: int | None = None
    distance: float | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Now:
    """A tick that was just over: `time` since the start in ns, and its events and metrics."""

    time: int
    seconds: float
    tick: int
    set: int
    why: Why
    simulated: bool
    events: Mapping[str, ValueNow]
    metrics: Mapping[str, ValueNow]


@dataclass(frozen=True, slots=True)
class Closure:
    """What identification made of series of a known process: means and standard deviations."""

    sigma: float
    sigma_error: float
    beta: float
    beta_error: float
    repeats: int


@dataclass(frozen=True, slots=True)
class Identified:
    """The process of an event: counts per second, and 1/s; `doubt` says what is wrong with it.

    `noise` is the part of the standard deviation that neighbouring readings do not share.
    `closure` is what became of the process in simulations, if there were any.
    """

    mean: float
    sigma: float
    beta: float
    noise: float
    lags: int
    samples: int
    doubt: str = ""
    closure: Closure | None = None


@dataclass(frozen=True, slots=True)
class Identification(Result):
    """The processes of events, and where they were seen; `stored` is the file that has them."""

    kind: ClassVar[str] = "identification"

    machine: str
    workload: str
    interval_s: float
    events: Mapping[str, Identified]
    stored: str = ""
