"""What a comparison tells, event by event."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from gnomon import units
from gnomon.analysis.stats.methods import Correction, Test
from gnomon.recording.contents import Provenance, Status
from gnomon.result import Interval, Result, Simulated, derived


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
class Method:
    """How to compare: the test, the correction, the level of alarms and of intervals."""

    test: Test = Test.WELCH
    correction: Correction = Correction.BH
    alpha: float = 0.05
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """The values of an event in one of the two: mean, standard deviation, number of runs.

    `status` is `scaled` where it was counted for a share of the time only and extrapolated.
    """

    mean: float
    deviation: float | None
    runs: int
    status: Status = Status.COUNTED


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
class Comparison(Result):
    """A comparison of b with a: what changed, event by event, in the order of what matters.

    `resolution` is how small a change of the unchanged events could have been seen, at the
    median, relative to A.
    """

    kind: ClassVar[str] = "compare"

    a: Provenance
    b: Provenance
    runs: tuple[int, int]
    rows: tuple[EventComparison, ...]
    only_in_a: tuple[str, ...] = ()
    only_in_b: tuple[str, ...] = ()
    drifts: tuple[Drift, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    test: Test = Test.WELCH
    correction: Correction = Correction.BH
    alpha: float = 0.05
    level: float = 0.95
    interrupted: bool = False
    resolution: float | None = None

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

    @derived
    def counts(self) -> dict[Verdict, int]:
        """How many events there are of each verdict."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in Verdict}

    @derived
    def simulated(self) -> Simulated:
        """Whether the counts are of simulated machines: on both sides, on one, on neither."""
        sides = self.a.simulated + self.b.simulated
        return (Simulated.NO, Simulated.PARTLY, Simulated.YES)[sides]

    @derived
    def headline(self) -> str:
        """The time that B takes beside that of A, or how many events changed."""
        row = next((row for row in self.rows if row.event == "elapsed"), None)
        if row is None or row.ratio is None:
            return f"{len(self.changed)} of {len(self.rows)} events changed from A to B"
        before, after = (units.brief(side.mean, row.unit) for side in (row.a, row.b))
        sure = ""
        if row.verdict is Verdict.UNTESTED:
            change = "one run each: no test of significance is possible"
        else:
            maybe = "perhaps " if row.verdict is Verdict.SUSPECTED else ""
            quiet = row.verdict in (Verdict.UNCHANGED, Verdict.EQUAL)
            change = "no change seen" if quiet else maybe + _speed(row.ratio)
            if row.ratio_interval:
                level = units.number(self.level, "%")
                sure = f" ({level} interval {units.interval(*row.ratio_interval, 'x')})"
        return f"B takes {after}, A {before}: {change}{sure}"

    def provenances(self) -> tuple[tuple[str, Provenance], ...]:
        """Return where both come from, each with its letter."""
        return ("A", self.a), ("B", self.b)


def _speed(ratio: float) -> str:
    if ratio >= 1.5:
        return f"{units.number(ratio, digits=2)} times as long"
    if ratio <= 1 / 1.5:
        return f"{units.number(1 / ratio, digits=2)} times as fast"
    return f"{units.number(ratio, 'x')} of time"
