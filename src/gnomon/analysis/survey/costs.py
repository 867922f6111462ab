"""What events cost, as far as it is known: the share of a program's time they stand for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from gnomon.analysis.survey.indicators import Indicator
from gnomon.events.tomlfile import Section, parse_definitions
from gnomon.sources.registry import event_prefix, kind_of

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
