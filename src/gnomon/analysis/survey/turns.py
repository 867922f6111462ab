"""All events of a source in one run: sets take turns, and totals are estimated from their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.estimating import countable_sets, follow, open_rotation, tick_length
from gnomon.analysis.estimate.gather import Keeper
from gnomon.analysis.estimate.recorded import readings_of
from gnomon.analysis.estimate.schedule import Shuffled
from gnomon.analysis.estimate.sets import plan_sets
from gnomon.analysis.estimate.totals import run_totals
from gnomon.analysis.survey.indicators import Indicator
from gnomon.analysis.survey.result import RunKey
from gnomon.measure.run import Measurement, event_infos, measure
from gnomon.measure.turns import Growing
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Rotates, Source, Target

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array, Tick
    from gnomon.analysis.estimate.result import Totals
    from gnomon.analysis.survey.batches import Batch
    from gnomon.recording import Recording
    from gnomon.sources.base import Turn


@dataclass(frozen=True, slots=True)
class Turns:
    """How sets take turns in one run of a program."""

    interval: str | int | None = None
    seed: int = 1


def measure_in_turns(
    source: Source, batch: Batch, target: Target, limit: float | None, turns: Turns
) -> Measurement:
    """Count a batch in one run; whatever fits on the counters at once takes no turns."""
    requests = [request for group in batch.groups for request in group]
    if not isinstance(source, Rotates):
        return measure(source, batch.groups, target, duration=limit)
    sets = countable_sets(source, plan_sets(source, requests), target)
    if len(sets.sets) < 2:
        return measure(source, batch.groups, target, duration=limit)
    layout = sets.layout
    order = Shuffled(layout, turns.seed)
    kept: list[Reading] = []
    with open_rotation(source, sets, target, order.choose()) as rotation:
        keeper = Keeper(layout, kept.extend)
        step = tick_length(turns.interval, source)
        pace = Growing(step, len(layout.sets), simulated=source.capabilities.own_time)

        def heed(_: Turn, tick: Tick) -> None:
            pace.note(tick.seconds, tick.fixed.tolist())

        outcome = follow(rotation, keeper, order, target, pace, limit, heed)
        infos = event_infos(rotation.requests)
        return Measurement(
            events=infos,
            readings=kept,
            runs=[outcome.run],
            warnings=[*sets.warnings, *outcome.warnings],
            exit_status=outcome.run.exit_status or 0,
            interrupted=outcome.interrupted,
        )


def always_counted(source: Source, batch: Batch, target: Target) -> tuple[str, ...]:
    """Return the events that tell the state while the others of a batch take turns."""
    requests = [request for group in batch.groups for request in group]
    if not isinstance(source, Rotates):
        return ()
    sets = countable_sets(source, plan_sets(source, requests), target)
    return sets.layout.fixed if len(sets.sets) > 1 else ()


@dataclass(frozen=True, slots=True)
class Estimated:
    """A total of one run in the unit of its event, with its 90 % interval."""

    total: float
    low: float
    high: float


def estimated_totals(recording: Recording) -> dict[RunKey, dict[str, Estimated]]:
    """Return the totals of the events that took turns, run by run."""
    scales = {info.name: info.scale for info in recording.events}
    found: dict[RunKey, dict[str, Estimated]] = {}
    for run in recording.runs:
        columns = recording.columns("readings", run=run.run, batch=run.batch)
        if not len(columns["time"]):
            continue
        readings = readings_of(columns, recording.provenance.always, run.start)
        totals = run_totals(readings)
        read = readings.counts == readings.counts
        found[run.run, run.batch] = {
            name: Estimated(*(float(v[place]) * scales.get(name, 1.0) for v in _ends(totals)))
            for place, name in enumerate(readings.layout.events)
            if read[:, place].any() and not read[:, place].all()
        }
    return found


def _ends(totals: Totals) -> tuple[Array, Array, Array]:
    return totals.mean, totals.low, totals.high


def with_estimates(
    indicators: Sequence[Indicator], totals: dict[RunKey, dict[str, Estimated]]
) -> tuple[Indicator, ...]:
    """Return indicators with estimates in the place of scaled counts."""
    return tuple(_with_estimates(each, totals) for each in indicators)


def _with_estimates(indicator: Indicator, totals: dict[RunKey, dict[str, Estimated]]) -> Indicator:
    own = {
        key: totals[key][indicator.event]
        for key in indicator.values
        if indicator.event in totals.get(key, {})
    }
    if not own:
        return indicator
    return replace(
        indicator,
        status=Status.ESTIMATED,
        values=indicator.values | {key: each.total for key, each in own.items()},
        intervals={key: (each.low, each.high) for key, each in own.items()},
    )
