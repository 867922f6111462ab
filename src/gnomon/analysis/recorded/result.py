"""What a recording holds: totals, their course over time, and whether it is complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gnomon.analysis.count.result import Duration, EventCount
from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.result import Result, derived


@dataclass(frozen=True, slots=True)
class Series:
    """Values per second of one event, slice by slice; None where nothing was counted.

    Of a `level`, such as a footprint, they are what was there at the end of each slice.
    """

    rates: tuple[float | None, ...]
    mean: float | None
    peak: float | None
    level: bool = False

    def times(self, factor: float) -> Series:
        """Return it in another unit."""
        if factor == 1:
            return self
        rates = tuple(None if rate is None else rate * factor for rate in self.rates)
        mean = None if self.mean is None else self.mean * factor
        peak = None if self.peak is None else self.peak * factor
        return Series(rates, mean, peak, self.level)


@dataclass(frozen=True, slots=True)
class Course:
    """The series of a run: how many slices there are and the time they cover, in ns.

    `ends` has the end of each slice, in ns since the beginning of the first.
    """

    series: Mapping[str, Series]
    ticks: int = 0
    span: int = 0
    ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordingResult(Result):
    """A recording: what was counted in it, over all runs and over time.

    The `course` is that of one run, in the units of `events` per second. `durations` are those
    of the runs that counted an event, where other runs did not.
    """

    kind: ClassVar[str] = "recording"
    provenance: Provenance = field(kw_only=True)

    recording: str
    complete: bool
    events: tuple[EventInfo, ...]
    totals: tuple[EventCount, ...]
    runs: tuple[RunInfo, ...]
    course: Course
    per_scope: bool = False
    durations: Mapping[str, Duration] = field(default_factory=dict)

    @derived
    def slices(self) -> int:
        """At how many moments the run was read."""
        return self.course.ticks

    @derived
    def duration(self) -> Duration | None:
        """How long a run took."""
        return Duration.of(self.provenance, self.runs)
