"""The outcome of a survey: every event, what matters of them, and where each came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.notebook import Shown
from gnomon.analysis.survey.costs import shares
from gnomon.analysis.survey.doubts import anchors_of, doubts
from gnomon.analysis.survey.indicators import durations, indicators
from gnomon.analysis.survey.selection import Fold, Judged, judge
from gnomon.recording.contents import ONE_RUN, Provenance, RunInfo, Status
from gnomon.sources.registry import capabilities

if TYPE_CHECKING:
    from gnomon.recording import Recording


@dataclass(frozen=True, slots=True)
class SurveyResult(Shown):
    """All events of a survey, ranked; `path` is the recording that they come from."""

    provenance: Provenance
    events: tuple[Judged, ...]
    runs: tuple[RunInfo, ...]
    planned: int
    warnings: tuple[str, ...] = ()
    path: str = ""

    @property
    def ranked(self) -> tuple[Judged, ...]:
        """The events that matter, the most important first."""
        return tuple(each for each in self.events if each.fold is None)

    @property
    def folded(self) -> tuple[Judged, ...]:
        """The events that were folded away, each with its reason."""
        return tuple(each for each in self.events if each.fold is not None)

    @property
    def complete(self) -> bool:
        """Whether all planned runs were made."""
        return len(self.runs) >= self.planned

    @property
    def one_run(self) -> bool:
        """Whether all events shared one run, so that they are estimated from parts of it."""
        return self.provenance.target.endswith(ONE_RUN)

    @property
    def elapsed(self) -> float:
        """The mean duration of a run that was not slowed down, in ns; 0 without any."""
        quick = [
            run.end - run.start
            for run in self.runs
            if not capabilities(self.origin_of(run)).slowdown
        ]
        return sum(quick) / len(quick) if quick else 0.0

    def origins(self) -> dict[str, int]:
        """Return how many events with a value came from each source."""
        counted = (e.indicator.origin for e in self.events if e.fold is not Fold.MISSING)
        return dict(Counter(counted))

    def origin_of(self, run: RunInfo) -> str:
        """Return the source that counted a run."""
        plan = self.provenance.plan
        return plan[run.batch].partition(" ")[0] if run.batch < len(plan) else ""

    def __getitem__(self, event: str) -> Judged:
        for each in self.events:
            if each.event == event:
                return each
        raise KeyError(event)


def survey_of(recording: Recording) -> SurveyResult:
    """Return the survey that a recording holds; any recording of whole runs will do."""
    provenance = recording.provenance
    found = indicators(recording.totals(), recording.events, provenance.source)
    if provenance.target.endswith(ONE_RUN):
        from gnomon.analysis.survey.turns import estimated_totals, with_estimates

        found = with_estimates(found, estimated_totals(recording))
    times = durations(recording.runs)
    plain = SurveyResult(provenance, (), recording.runs, 0)
    anchors = anchors_of(provenance.plan).values()
    judged = judge(found, times, shares(found, plain.elapsed), anchors)
    scaled = [each.event for each in judged if each.indicator.status is Status.SCALED]
    warnings = [*recording.warnings, *doubts(found, recording.runs, provenance)]
    if scaled:
        warnings.append(
            f"{len(scaled)} events were on a counter for part of the time only: "
            "their values are scaled"
        )
    estimated = [each.event for each in judged if each.indicator.status is Status.ESTIMATED]
    if estimated:
        warnings.append(
            f"{len(estimated)} events took turns on the counters: their values are estimated"
        )
    return SurveyResult(
        provenance=provenance,
        events=judged,
        runs=recording.runs,
        planned=_planned(recording),
        warnings=tuple(warnings),
        path=str(recording.path),
    )


def _planned(recording: Recording) -> int:
    provenance = recording.provenance
    if not provenance.plan:
        return len(recording.runs)
    return len(provenance.plan) * (provenance.repeat or 1)
