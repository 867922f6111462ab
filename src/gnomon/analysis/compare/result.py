"""What a comparison tells, event by event."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gnomon.analysis.notebook import Shown
from gnomon.analysis.stats.multiplicity import Correction
from gnomon.analysis.stats.two_samples import Test
from gnomon.recording.contents import Provenance


class Verdict(StrEnum):
    """What can be said about an event.

    CHANGED: beyond what chance does among so many events. SUSPECTED: it would be taken
    for changed were it the only event; more runs would tell. UNCHANGED: no change was
    seen, as far as its interval goes. EQUAL: the same value in every run of both.
    UNTESTED: too few runs to know how much it varies.
    """

    CHANGED = "changed"
    SUSPECTED = "suspected"
    UNCHANGED = "unchanged"
    EQUAL = "equal"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a quantity lies with the confidence of the comparison; infinite means unbounded."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The values of an event in one of the two: mean, standard deviation, number of runs."""

    mean: float
    deviation: float | None
    runs: int


@dataclass(frozen=True, slots=True)
class EventComparison:
    """One event in both: b / a and b - a with intervals, the test, and the verdict.

    `ratio` is None where a mean is not above zero. `p` is the chosen test's and None
    without variation; `q` is corrected for all events tested and decides. `runs_needed`
    is how many runs a side would show a difference of the size seen.
    """

    event: str
    unit: str
    verdict: Verdict
    a: Sample
    b: Sample
    ratio: float | None
    ratio_interval: Interval | None
    difference: float
    difference_interval: Interval | None
    statistic: float | None = None
    df: float | None = None
    p: float | None = None
    q: float | None = None
    runs_needed: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """An event that rises or falls from run to run; `slope` is its relative change a run."""

    event: str
    slope: float | None
    q: float


@dataclass(frozen=True, slots=True)
class Outlier:
    """A run in which an event is far from its other runs."""

    event: str
    side: str
    run: int
    value: float
    mean_of_others: float
    q: float


@dataclass(frozen=True, slots=True)
class Comparison(Shown):
    """The outcome of comparing b with a; rows are in the order of what matters."""

    a: Provenance
    b: Provenance
    runs: tuple[int, int]
    rows: tuple[EventComparison, ...]
    only_in_a: tuple[str, ...] = ()
    only_in_b: tuple[str, ...] = ()
    drifts: tuple[Drift, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    warnings: tuple[str, ...] = ()
    test: Test = Test.WELCH
    correction: Correction = Correction.BH
    alpha: float = 0.05
    level: float = 0.95
    interrupted: bool = False

    def __getitem__(self, event: str) -> EventComparison:
        """Return the row of an event."""
        for row in self.rows:
            if row.event == event:
                return row
        raise KeyError(event)

    @property
    def changed(self) -> tuple[EventComparison, ...]:
        """The events that changed."""
        return tuple(row for row in self.rows if row.verdict is Verdict.CHANGED)

    @property
    def simulated(self) -> bool:
        """Whether any of the counts are of a simulated machine."""
        return self.a.simulated or self.b.simulated
