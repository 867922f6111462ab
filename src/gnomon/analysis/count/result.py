"""What was counted: a line for each event, or for each event and place; and metrics of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gnomon.recording.contents import SIMULATED_CLOCK, Provenance, RunInfo, Status
from gnomon.result import Result, derived

COUNT = "count"
"""The unit of what is simply counted."""


@dataclass(frozen=True, slots=True)
class EventCount:
    """What an event counted: the mean over runs, in `unit`.

    `value` is None when there is none; `running` is the share of the time in which the
    event was on a counter; `spread` is the standard deviation over runs, relative to the
    mean, and None for a single run. `values` are those of single runs.
    """

    event: str
    value: float | None
    unit: str
    status: Status
    running: float | None
    scope: str
    spread: float | None
    values: tuple[float | None, ...] = ()

    @property
    def is_level(self) -> bool:
        """Whether it is what was there at the end, as of a footprint, rather than a count."""
        return self.event.startswith("footprint:")


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A metric's value in its unit, or the reason why there is none."""

    name: str
    title: str
    value: float | None
    unit: str
    reason: str = ""
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CountResult(Result):
    """What was counted: events, how long it took, and metrics computed from them."""

    kind: ClassVar[str] = "count"
    provenance: Provenance = field(kw_only=True)

    counts: tuple[EventCount, ...]
    runs: tuple[RunInfo, ...] = ()
    metrics: tuple[MetricValue, ...] = ()
    per_scope: bool = False
    recording: str = ""  # that keeps it
    exit_status: int = 0
    interrupted: bool = False

    def __getitem__(self, event: str) -> EventCount:
        """Return the line of an event, which may be named without its modifiers.

        A user without rights gets `page-faults:u` where `page-faults` was asked for.
        """
        for line in self.counts:
            if line.event == event:
                return line
        bare = [line for line in self.counts if line.event.rpartition(":")[0] == event]
        if len(bare) != 1:
            raise KeyError(event)
        return bare[0]

    @property
    def nothing_counted(self) -> bool:
        """Whether not a single event could be counted."""
        return all(line.value is None for line in self.counts)

    @property
    def elapsed(self) -> tuple[float, ...]:
        """The duration of each run in ns."""
        return tuple(float(run.end - run.start) for run in self.runs)

    @derived
    def duration(self) -> Duration | None:
        """How long a run took."""
        return Duration.of(self.provenance, self.runs)


@dataclass(frozen=True, slots=True)
class Duration:
    """How long runs took, in ns: the mean, the shortest and the longest of them.

    `simulated` says that it is time of a simulated machine.
    """

    mean: float
    shortest: float
    longest: float
    simulated: bool = False

    @classmethod
    def of(cls, origin: Provenance, runs: Sequence[RunInfo]) -> Duration | None:
        """Return the duration of runs, None where nobody measured it."""
        times = [float(run.end - run.start) for run in runs]
        mean = sum(times) / len(times) if times else 0.0
        if mean <= 0:
            return None
        return cls(mean, min(times), max(times), origin.clock == SIMULATED_CLOCK)

    def rate(self, value: float | None) -> float | None:
        """Return what there was of something per second."""
        return None if value is None else value / self.mean * 1e9
