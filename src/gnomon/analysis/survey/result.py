"""What a survey found: every event, what matters of them, and where each came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from gnomon.analysis.time.result import TimeResult
from gnomon.recording.contents import Provenance, RunInfo, Status
from gnomon.result import Interval, Result, Simulated, derived

RunKey = tuple[int, int]
"""A run and its batch, which together name one execution of the program."""


class Fold(StrEnum):
    """Why an event is not shown among those that matter."""

    MISSING = "missing"
    ZERO = "zero"
    CONSTANT = "constant"
    SAME = "same"
    NOISY = "noisy"


@dataclass(frozen=True, slots=True)
class SurveyRow:
    """One event: its value over runs, and its place in the ranking or why it has none.

    `mean`, `interval` (90 %, where the values are estimates) and `spread` are over runs, in
    `unit`, which is empty for a count; `values` are those of single runs, `runs` tells which.
    `share` is the estimated share of the program's time, from typical costs (`basis`);
    `correlation` is with the duration of the runs, None with too few of them to tell.
    """

    event: str
    rank: int | None
    folded: Fold | None
    reason: str
    mean: float | None
    interval: Interval | None
    spread: float | None
    unit: str
    status: Status
    origin: str
    simulated: bool
    share: float | None = None
    basis: str = ""
    correlation: float | None = None
    values: tuple[float, ...] = ()
    runs: tuple[RunKey, ...] = ()
    scope: str = ""
    description: str = ""
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SurveySource:
    """Where events come from: the name in rows, the word that --on takes, and what it is.

    `own_time` is set for what does not run the program in real time: a simulated machine.
    """

    name: str
    word: str
    title: str
    own_time: bool = False


@dataclass(frozen=True, slots=True)
class SurveyResult(Result):
    """A survey: all events of a program, those that matter first."""

    kind: ClassVar[str] = "survey"
    provenance: Provenance = field(kw_only=True)

    rows: tuple[SurveyRow, ...]
    runs: tuple[RunInfo, ...]
    planned: int
    recording: str = ""  # that it comes from
    one_run: bool = False  # events took turns in it, so that their values are estimated
    elapsed: float | None = None  # of runs that nothing slowed down: their mean, in ns
    sources: tuple[SurveySource, ...] = ()
    time: TimeResult | None = None  # of the plain run; None where wall time was not recorded
    left_out: str = ""  # events that were not counted for the time that they would take

    @derived
    def headline(self) -> str:
        """The answer in one sentence; empty where wall time was not recorded."""
        return self.time.headline if self.time is not None else ""

    @property
    def ranked(self) -> tuple[SurveyRow, ...]:
        """The events that matter, the most important first."""
        return tuple(row for row in self.rows if row.folded is None)

    @property
    def folded(self) -> tuple[SurveyRow, ...]:
        """The events that were folded away, each with its reason."""
        return tuple(row for row in self.rows if row.folded is not None)

    @derived
    def complete(self) -> bool:
        """Whether all planned runs were made."""
        return len(self.runs) >= self.planned

    @derived
    def origins(self) -> dict[str, int]:
        """How many events with a value came from each source."""
        return dict(Counter(row.origin for row in self.rows if row.folded is not Fold.MISSING))

    @derived
    def simulated(self) -> Simulated:
        """Whether its numbers are simulated: all, some or none of them."""
        if self.provenance.simulated:
            return Simulated.YES
        return Simulated.PARTLY if any(row.simulated for row in self.rows) else Simulated.NO

    def origin_of(self, run: RunInfo) -> str:
        """Return the source that counted a run."""
        plan = self.provenance.plan
        return plan[run.batch].partition(" ")[0] if run.batch < len(plan) else ""

    def __getitem__(self, event: str) -> SurveyRow:
        for row in self.rows:
            if row.event == event:
                return row
        raise KeyError(event)
