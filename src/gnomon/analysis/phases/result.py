"""What a search for phases gives: series, breaks, phases, and how they were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon import units
from gnomon.recording.contents import Status
from gnomon.result import Result, derived

INTERVAL = "10ms"
SIMULATED_INTERVAL = "10us"  # simulated programs take milliseconds
MAX_PHASES = 9
MIN_POINTS = 5
_MOST_TOLD = 4  # phases that a headline describes one by one


class Shape(StrEnum):
    """What each phase of a series is taken to be.

    LEVELS: a constant. LINES: a line of its own. HINGE: two lines that meet at the break.
    """

    LEVELS = "levels"
    LINES = "lines"
    HINGE = "hinge"


@dataclass(frozen=True, slots=True, eq=False)
class PhaseSeries:
    """A quantity over time: `values` in `unit` at ascending `times`.

    A level is what was there at that time; a rate is a mean over the slice that ends then.
    """

    name: str
    times: NDArray[np.float64]  # (point,)
    values: NDArray[np.float64]  # (point,)
    unit: str = ""
    is_rate: bool = False

    @derived
    def points(self) -> int:
        """How many points there are."""
        return int(self.times.size)


@dataclass(frozen=True, slots=True)
class Break:
    """Where one phase ends and the next begins, with a 95 % interval.

    `index` is the number of points before the break. `p_value` tells how often a series
    without any break would show one as clear; None where it was not asked.
    """

    time: float
    low: float
    high: float
    index: int
    p_value: float | None = None


@dataclass(frozen=True, slots=True)
class PhaseFit:
    """How a series runs through a phase: fitted values at both ends, and the slope per second.

    Where times have no unit the slope is per unit of time. `mean`, `peak` and `final` (the last
    value) are those read, or None in results of earlier versions.
    """

    series: str
    first: float
    last: float
    slope: float
    unit: str = ""
    mean: float | None = None
    peak: float | None = None
    final: float | None = None

    @derived
    def level(self) -> float:
        """The mean of the values read, or of the fitted ones where those are not known."""
        return (self.first + self.last) / 2 if self.mean is None else self.mean

    @derived
    def growth(self) -> float:
        """How much the fitted value changes over the phase."""
        return self.last - self.first


@dataclass(frozen=True, slots=True)
class PhaseCount:
    """What an event counted during a phase, in `unit`, and for each second that was counted.

    `covered` is the share of the phase that readings with a value cover; `value` is what
    they counted, not extrapolated to the rest. Without any it is None, and `status` says why.
    """

    event: str
    unit: str
    value: float | None
    rate: float | None
    covered: float
    status: Status = Status.COUNTED


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time in which the series keep their shape."""

    start: float
    end: float
    points: int
    fits: tuple[PhaseFit, ...]
    counts: tuple[PhaseCount, ...] = ()

    @derived
    def duration(self) -> float:
        """How long the phase lasts."""
        return self.end - self.start

    def count(self, event: str) -> PhaseCount:
        """Return what an event counted; modifiers may be left out when it is clear."""
        found = [c for c in self.counts if c.event == event]
        found = found or [c for c in self.counts if c.event.rpartition(":")[0] == event]
        if len(found) != 1:
            raise KeyError(event)
        return found[0]


@dataclass(frozen=True, slots=True)
class Choice:
    """A number of phases that was considered: its cost, its criterion, and whether it stands.

    `p_value` is that of the weakest break; None where nobody asked because a better choice
    stood already, or where there is no break.
    """

    phases: int
    shape: Shape
    cost: float
    parameters: int
    bic: float
    breaks: tuple[int, ...]
    p_value: float | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PhasesResult(Result):
    """The phases of a run, what they were found in, and why there are not more or fewer.

    Times are in `time_unit` since `origin`: ns since the start of the run for a recording,
    and as they were given for a plain series.
    """

    kind: ClassVar[str] = "phases"

    series: tuple[PhaseSeries, ...]
    phases: tuple[Phase, ...]
    breaks: tuple[Break, ...]
    shape: Shape
    choices: tuple[Choice, ...]
    decision: str
    time_unit: str = ""
    origin: int = 0
    exit_status: int = 0
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.phases)

    @derived
    def headline(self) -> str:
        """What the first series does, phase by phase."""
        if not self.phases or not self.series:
            return "no phases"
        name, count = self.series[0].name, len(self.phases)
        *before, last = self.phases
        until = units.brief(last.end, self.time_unit)
        if not before:
            return f"one phase of {until}: {name} {self._told(last)}"
        if count > _MOST_TOLD:
            begins = ", ".join(units.brief(phase.start, self.time_unit) for phase in self.phases)
            most = max(self.phases, key=lambda phase: phase.fits[0].level)
            place = self.phases.index(most) + 1
            return f"{count} phases until {until}, from {begins}: {name} is highest in {place}"
        ends = (units.brief(phase.end, self.time_unit) for phase in before)
        told = (f"{self._told(each)} until {end}" for each, end in zip(before, ends, strict=True))
        return f"{count} phases: {name} {', '.join(told)}, then {self._told(last)}"

    def _told(self, phase: Phase) -> str:
        """Return what the first series does in a phase."""
        fit, rate = phase.fits[0], self.series[0].is_rate
        unit = unit_of(fit.unit)
        if rate or fit.slope == 0:
            return f"at {units.brief(fit.level, unit)}"
        last = fit.last if fit.final is None else fit.final
        return f"{'grows' if fit.slope > 0 else 'falls'} to {units.brief(last, unit)}"


def unit_of(unit: str) -> str:
    """Return the unit of a rate; time per time is CPUs."""
    return "CPUs" if unit == "ns/s" else unit
