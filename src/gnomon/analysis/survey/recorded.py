"""From a recording to a survey: its indicators are judged, ranked and doubted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.analysis.survey.budget import left_out_of, plain_run, planned_runs
from gnomon.analysis.survey.doubts import anchors_of, doubts
from gnomon.analysis.survey.indicators import Judged, durations, indicators, judge, shares
from gnomon.analysis.survey.result import SurveyResult, SurveyRow, SurveySource
from gnomon.recording.contents import ONE_RUN, Provenance, RunInfo, Status
from gnomon.result import Interval
from gnomon.sources.registry import capabilities, current_word, title

if TYPE_CHECKING:
    from gnomon.analysis.time.result import TimeResult
    from gnomon.recording import Recording


def survey_of(recording: Recording) -> SurveyResult:
    """Return the survey that a recording holds; any recording of whole runs will do."""
    provenance = recording.provenance
    found = indicators(recording.totals(), recording.events, provenance.source)
    if provenance.target.endswith(ONE_RUN):
        from gnomon.analysis.survey.turns import estimated_totals, with_estimates

        found = with_estimates(found, estimated_totals(recording))
    times = durations(recording.runs)
    elapsed = _elapsed(recording.runs, provenance)
    plain = plain_run(provenance, recording.runs)
    time = None if plain is None else _time(recording, plain)
    anchors = anchors_of(provenance.plan).values()
    judged = judge(
        found, times, shares(found, elapsed or 0.0 if time is None else time.cpu), anchors
    )
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
        tuple(_row(rank, each) for rank, each in enumerate(judged, 1)),
        recording.runs,
        planned_runs(provenance, recording.runs),
        str(recording.path),
        provenance.target.endswith(ONE_RUN),
        elapsed,
        tuple(map(_source, dict.fromkeys(each.indicator.origin for each in judged))),
        time,
        "" if plain is None else left_out_of(plain),
        provenance=provenance,
        warnings=tuple(warnings),
    )


def _row(rank: int, judged: Judged) -> SurveyRow:
    indicator, share = judged.indicator, judged.share
    return SurveyRow(
        event=judged.event,
        rank=rank if judged.fold is None else None,
        folded=judged.fold,
        reason=judged.reason,
        mean=indicator.mean,
        interval=None if indicator.interval is None else Interval(*indicator.interval),
        spread=indicator.spread,
        unit=indicator.unit,
        status=indicator.status,
        origin=indicator.origin,
        simulated=indicator.simulated,
        share=None if share is None else share.of_time,
        basis="" if share is None else share.basis,
        correlation=judged.correlation,
        values=tuple(indicator.values.values()),
        runs=tuple(indicator.values),
        scope=indicator.scope,
        description=indicator.description,
        caveats=tuple(indicator.caveats),
    )


def _source(origin: str) -> SurveySource:
    return SurveySource(
        origin, current_word(origin), title(origin), own_time=capabilities(origin).own_time
    )


def _elapsed(runs: Sequence[RunInfo], provenance: Provenance) -> float | None:
    """Return the mean duration of a run that was not slowed down, in ns; None without any."""
    plan = provenance.plan
    quick = [
        run.end - run.start
        for run in runs
        if run.batch >= len(plan) or not capabilities(plan[run.batch].partition(" ")[0]).slowdown
    ]
    return sum(quick) / len(quick) if quick else None


def _time(recording: Recording, plain: RunInfo) -> TimeResult:
    """Return where the wall time of the plain run went."""
    from gnomon.analysis.time import account_of
    from gnomon.recording.wall_store import read_wall

    record = read_wall(recording, run=plain.run, batch=plain.batch)
    return account_of(record, provenance=recording.provenance)
