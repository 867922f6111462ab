"""From the readings of a survey to indicators: one event each, what it costs, and which matter.

Nothing is thrown out: what says nothing is folded away, stays in the recording and in the result
with the reason (Sterz 1.4 names the filters: always zero, not varying, redundant), and the rest is
ranked by cost, where that is known, or by how it goes with time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from gnomon.analysis.summary import mean, relative_spread, summarise
from gnomon.analysis.survey.result import Fold, RunKey
from gnomon.events.tomlfile import Section, parse_definitions
from gnomon.recording.contents import EventInfo, Reading, RunInfo, Status, Total
from gnomon.sources.registry import event_prefix, kind_of


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


ESTIMATE = "estimate"
"""Costs whose total is their own sum, where a source measures no time."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one occurrence takes: ns of the run, or cycles of a total named by `of`."""

    ns: float | None
    cycles: float | None
    of: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """An estimated share of a program's time, and what it was estimated from."""

    of_time: float
    basis: str


@cache
def known_costs() -> Mapping[str, Mapping[str, Cost]]:
    """Return the cost of an occurrence of each event that has a known one, by source."""
    file = resources.files("gnomon.analysis.survey") / "costs.toml"
    top = parse_definitions(file.read_text("utf-8"), "costs.toml")
    return {
        origin: {event: _cost(top.section(origin).section(event)) for event in top.data[origin]}
        for origin in top.data
    }


def _cost(section: Section) -> Cost:
    data = section.data
    return Cost(data.get("ns"), data.get("cycles"), data.get("of", ""))


def shares(indicators: Sequence[Indicator], mean_duration: float) -> dict[str, Share]:
    """Return the estimated share of time of each event whose cost is known.

    `mean_duration` is that of a run in ns.
    """
    by_origin: dict[str, dict[str, Indicator]] = defaultdict(dict)
    for each in indicators:
        prefix = event_prefix(each.origin)
        by_origin[each.origin][each.event.removeprefix(prefix)] = each
    found: dict[str, Share] = {}
    for origin, by_name in by_origin.items():
        costs = known_costs().get(kind_of(origin), {})
        counted = {event: (by_name[event].mean or 0.0) for event in costs if event in by_name}
        estimate = sum(
            counted[event] * (costs[event].cycles or 0.0)
            for event in counted
            if costs[event].of == ESTIMATE
        )
        for event, count in counted.items():
            share = _share(costs[event], count, by_name, estimate, mean_duration)
            if share is not None:
                found[by_name[event].event] = share
    return found


def _share(
    cost: Cost,
    count: float,
    by_name: Mapping[str, Indicator],
    estimate: float,
    duration: float,
) -> Share | None:
    if cost.ns is not None:
        if duration <= 0:
            return None
        return Share(min(count * cost.ns / duration, 1.0), f"{cost.ns:g} ns each")
    cycles = cost.cycles or 0.0
    total = estimate
    if cost.of != ESTIMATE:
        reference = by_name.get(cost.of)
        total = (reference.mean or 0.0) if reference is not None else 0.0
    if total <= 0:
        return None
    return Share(min(count * cycles / total, 1.0), f"{cycles:g} cycles each")


_NOISY_SPREAD = 0.5
_FEW = 10
_SAME = 1e-3
_COLLINEAR = 0.99
_ENOUGH_TO_CORRELATE = 8


@dataclass(frozen=True, slots=True)
class Judged:
    """An indicator with its place in the ranking, or with the reason why it has none.

    `share` is what it costs of the program's time where that is known, `correlation` how
    it goes with the duration of the runs, None with too few runs to tell.
    """

    indicator: Indicator
    fold: Fold | None
    reason: str
    share: Share | None = None
    correlation: float | None = None

    @property
    def event(self) -> str:
        """The name of the event."""
        return self.indicator.event


def judge(
    indicators: Sequence[Indicator],
    durations: Mapping[RunKey, float],
    shares: Mapping[str, Share],
    anchors: Iterable[str] = (),
) -> tuple[Judged, ...]:
    """Return all indicators: those that matter first, in order, then what was folded away."""
    kept: list[Indicator] = []
    folded: list[Judged] = []
    varying = {each.origin for each in indicators if each.spread}
    protected = set(anchors)
    for indicator in indicators:
        found = _fold(indicator, varying)
        if found is None and indicator.event not in protected:
            found = _same(indicator, kept)
        kept_anyway = indicator.event in protected and indicator.mean
        if found is not None and not kept_anyway:
            folded.append(Judged(indicator, *found))
        else:
            kept.append(indicator)
    ranked = [
        Judged(each, None, "", shares.get(each.event), correlation(each.values, durations))
        for each in kept
    ]
    return (*sorted(ranked, key=_rank), *folded)


def _fold(indicator: Indicator, varying: set[str]) -> tuple[Fold, str] | None:
    values = list(indicator.values.values())
    if not values:
        return Fold.MISSING, str(indicator.status)
    if not any(values):
        return Fold.ZERO, "counted nothing in any run"
    if len(values) > 1 and indicator.origin in varying and len(set(values)) == 1:
        return Fold.CONSTANT, f"{values[0]:,.15g} in every run while others vary"
    mean, spread = indicator.mean, indicator.spread
    if len(values) > 2 and spread is not None and mean is not None:
        if spread > _NOISY_SPREAD:
            return Fold.NOISY, f"varies by {spread:.0%} from run to run"
        # Below ten occurrences chance alone moves a count by a third.
        if spread and not indicator.unit and mean < _FEW:
            return Fold.NOISY, f"occurs only {mean:.2g} times a run"
    return None


def _same(indicator: Indicator, kept: Sequence[Indicator]) -> tuple[Fold, str] | None:
    """Return the first indicator kept before that tells the same, if there is one."""
    for other in kept:
        if other.origin != indicator.origin or other.unit != indicator.unit:
            continue
        # Only values of the same run can be compared: batches are different executions.
        common = [
            (value, other.values[key])
            for key, value in indicator.values.items()
            if key in other.values
        ]
        if not common:
            continue
        if all(math.isclose(a, b, rel_tol=_SAME) for a, b in common):
            return Fold.SAME, f"equals {other.event}"
        if len(common) >= _ENOUGH_TO_CORRELATE:
            r = _pearson(common)
            if r is not None and abs(r) > _COLLINEAR:
                return Fold.SAME, f"goes with {other.event} (r = {r:.3f})"
    return None


def correlation(values: Mapping[RunKey, float], durations: Mapping[RunKey, float]) -> float | None:
    """Return how values go with the duration of their runs, None with too few of them."""
    pairs = [(value, durations[key]) for key, value in values.items() if key in durations]
    return _pearson(pairs) if len(pairs) >= _ENOUGH_TO_CORRELATE else None


def _pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    n = len(pairs)
    mean_x = math.fsum(x for x, _ in pairs) / n
    mean_y = math.fsum(y for _, y in pairs) / n
    xx = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    yy = math.fsum((y - mean_y) ** 2 for _, y in pairs)
    if xx == 0 or yy == 0:
        return None
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs) / math.sqrt(xx * yy)


def _rank(judged: Judged) -> tuple[float, float, float]:
    """Put known costs first, then what goes with time, then what varies."""
    share = judged.share.of_time if judged.share is not None else 0.0
    return -share, -abs(judged.correlation or 0.0), -(judged.indicator.spread or 0.0)
