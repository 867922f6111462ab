"""From the readings of a survey to indicators: one event each, with a value a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gnomon.analysis.summary import mean, relative_spread, summarise
from gnomon.analysis.survey.result import RunKey
from gnomon.recording.contents import EventInfo, Reading, RunInfo, Status, Total


@dataclass(frozen=True, slots=True)
class Indicator:
    """What an event counted in each run that counted it, in `unit`."""

    event: str
    description: str
    unit: str
    scope: str
    origin: str
    simulated: bool
    caveats: tuple[str, ...]
    status: Status
    values: dict[RunKey, float]
    intervals: dict[RunKey, tuple[float, float]] = field(default_factory=dict)
    """The 90 % interval of the value of each run in which it is an estimate."""

    @property
    def mean(self) -> float | None:
        """The mean over runs, None without any value."""
        return mean(list(self.values.values()))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The mean of the intervals of all runs, None unless there are estimates."""
        if not self.intervals:
            return None
        ends = [self.intervals.get(key, (value, value)) for key, value in self.values.items()]
        return sum(low for low, _ in ends) / len(ends), sum(high for _, high in ends) / len(ends)

    @property
    def spread(self) -> float | None:
        """The standard deviation over runs relative to the mean, None when there is none."""
        return relative_spread(list(self.values.values()))


def indicators(
    totals: Iterable[Total], events: Sequence[EventInfo], origin: str = ""
) -> tuple[Indicator, ...]:
    """Return an indicator for each event, in the order the events were declared in.

    Places are scaled by the time they were counted, then added up; an event without a
    single value keeps the status that tells why.
    """
    readings: dict[RunKey, list[Reading]] = defaultdict(list)
    for total in totals:
        readings[total.run, total.batch].append(_as_reading(total))
    values: dict[str, dict[RunKey, float]] = defaultdict(dict)
    statuses: dict[str, Status] = {}
    for key, of_run in readings.items():
        for line in summarise(of_run, events):
            if line.value is not None:
                values[line.event][key] = line.value
                statuses[line.event] = line.status
            statuses.setdefault(line.event, line.status)
    return tuple(
        Indicator(
            event=info.name,
            description=info.description,
            unit=info.unit,
            scope=info.scope,
            origin=info.source or origin,
            simulated=info.simulated,
            caveats=info.caveats,
            status=statuses.get(info.name, Status.NOT_COUNTED),
            values=dict(values[info.name]),
        )
        for info in events
        if info.name in statuses
    )


def durations(runs: Iterable[RunInfo]) -> dict[RunKey, float]:
    """Return how long each run took, in ns."""
    return {(run.run, run.batch): float(run.end - run.start) for run in runs}


def _as_reading(total: Total) -> Reading:
    amounts = (total.value, total.enabled, total.running)
    return Reading(0, total.event, total.scope, *amounts, total.status)
