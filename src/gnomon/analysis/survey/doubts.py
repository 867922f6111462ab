"""What a reader should know before trusting a survey: drift, odd runs, programs that vary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gnomon.analysis.survey.indicators import Indicator
from gnomon.recording.contents import Provenance, RunInfo
from gnomon.sources.registry import capabilities, event_prefix
from gnomon.units import format_duration

_SURE = 0.01
_WORTH_SAYING = 0.02
_EXACT = 0.01
_FEWEST_RUNS = 6
_BRIEF = 2e6  # ns: starting a program takes about as long


@dataclass(frozen=True, slots=True)
class Runs:
    """The executions of a survey in the order in which they were made."""

    infos: tuple[RunInfo, ...]
    provenance: Provenance

    def of(self, origin: str) -> list[RunInfo]:
        """Return the runs that a source counted."""
        plan = self.provenance.plan
        return sorted(
            (
                info
                for info in self.infos
                if info.batch < len(plan) and plan[info.batch].partition(" ")[0] == origin
            ),
            key=lambda info: (info.started_at, info.start),
        )


def anchors_of(plan: Sequence[str]) -> dict[str, str]:
    """Return for each source the first event that is in all of its batches."""
    lines: dict[str, list[list[str]]] = defaultdict(list)
    for line in plan:
        origin, _, events = line.partition(" ")
        lines[origin].append(events.replace("{", "").replace("}", "").split(","))
    found = {}
    for origin, batches in lines.items():
        shared = [event for event in batches[0] if all(event in other for other in batches)]
        if shared:
            found[origin] = (event_prefix(origin) if len(lines) > 1 else "") + shared[0]
    return found


def doubts(
    indicators: Sequence[Indicator], runs: Sequence[RunInfo], provenance: Provenance
) -> tuple[str, ...]:
    """Return in words what speaks against taking a survey's numbers at face value."""
    by_name = {each.event: each for each in indicators}
    made = Runs(tuple(runs), provenance)
    anchors = {
        origin: by_name[event]
        for origin, event in anchors_of(provenance.plan).items()
        if event in by_name
    }
    return (
        *_statuses(runs),
        *_uncounted(indicators, anchors, made),
        *_too_few(indicators, provenance),
        *_not_deterministic(indicators),
        *_unlike(anchors, made),
    )


def _statuses(runs: Sequence[RunInfo]) -> Iterator[str]:
    statuses = Counter(info.exit_status for info in runs if info.exit_status is not None)
    failed = sum(count for status, count in statuses.items() if status)
    if len(statuses) > 1:
        how = ", ".join(f"{n} times with status {s}" for s, n in sorted(statuses.items()))
        yield f"the exit status varies between runs: {how}; find out why before comparing anything"
    elif failed:
        yield (
            f"the command ended with status {next(iter(statuses))} in every run: "
            "see whether it did its work"
        )


def _uncounted(
    indicators: Sequence[Indicator], anchors: Mapping[str, Indicator], made: Runs
) -> Iterator[str]:
    """Yield what there is to say of runs that were over before anything was counted."""
    if made.infos and not any(each.values for each in indicators):
        yield "the command ended before anything was counted: no event has a value"
        return
    for origin, anchor in anchors.items():
        if capabilities(origin).simulated:
            continue
        keys = [(info.run, info.batch) for info in made.of(origin)]
        lost = sum(not anchor.values.get(key) for key in keys)
        if lost:
            yield (
                f"in {lost} of {len(keys)} runs the command ended before it could be counted: "
                f"{anchor.event} has no value there"
            )
        elif made.provenance.target not in ("", "command"):
            continue  # it was not started: it ran before
        elif keys and anchor.unit == "ns" and (anchor.mean or 0) < _BRIEF:
            yield (
                f"the command runs for only {format_duration(anchor.mean or 0)} on a CPU: "
                "much of what was counted is its start"
            )


def _too_few(indicators: Sequence[Indicator], provenance: Provenance) -> Iterator[str]:
    most = max((len(each.values) for each in indicators), default=0)
    if provenance.repeat == 1 or (provenance.repeat is None and most == 1):
        yield (
            "only one run per batch: the spread of an event and the significance of a change are "
            "unknown; use -r 5"
        )


def _not_deterministic(indicators: Sequence[Indicator]) -> Iterator[str]:
    """Yield a warning when counts that are exact differ between runs."""
    apart = {
        each.event: gap
        for each in indicators
        if capabilities(each.origin).exact and (gap := _gap(each)) > _EXACT
    }
    if not apart:
        return
    worst = max(apart, key=lambda event: apart[event])
    more = f" and {len(apart) - 1} more" if len(apart) > 1 else ""
    yield (
        f"the program is not deterministic: {worst}{more} differ by up to {apart[worst]:.0%} "
        "between runs, although the counts are exact"
    )


def _gap(indicator: Indicator) -> float:
    values = list(indicator.values.values())
    if len(values) < 2 or max(values) <= 0:
        return 0.0
    # A handful of occurrences is not worth a warning.
    return (max(values) - min(values)) / max(values) if max(values) >= 100 else 0.0


def _unlike(anchors: Mapping[str, Indicator], made: Runs) -> Iterator[str]:
    """Yield what the order of runs tells: a drift, or a run that is far from the others."""
    for origin, anchor in anchors.items():
        ordered = [
            (info, anchor.values[info.run, info.batch])
            for info in made.of(origin)
            if (info.run, info.batch) in anchor.values
        ]
        if len(ordered) < _FEWEST_RUNS:
            continue
        yield from _drift(anchor.event, [value for _, value in ordered])
        yield from _odd_run(anchor, ordered)


def _drift(event: str, values: Sequence[float]) -> Iterator[str]:
    import numpy as np

    from gnomon.analysis.stats.course import drift_p_values

    series = np.array(values, float)
    times = np.arange(float(series.size))
    [p] = drift_p_values([(times, series[:, None])])
    if not p <= _SURE:
        return
    slope = float(np.polyfit(times, series, 1)[0])
    change = slope * (series.size - 1) / float(series.mean())
    if abs(change) >= _WORTH_SAYING:
        word = "rises" if change > 0 else "falls"
        yield (
            f"the machine drifted: {event} {word} by {abs(change):.1%} from the first run to the "
            "last, so events of different batches are not fully comparable"
        )


def _odd_run(anchor: Indicator, ordered: Sequence[tuple[RunInfo, float]]) -> Iterator[str]:
    import numpy as np

    from gnomon.analysis.stats.course import outlier_p_values

    values = np.array([[value] for _, value in ordered])
    [where], [p] = outlier_p_values(values)
    if not p <= _SURE:
        return
    others = float(np.delete(values[:, 0], where).mean())
    info, value = ordered[int(where)]
    if others and abs(value / others - 1) >= _WORTH_SAYING:
        yield (
            f"one run is an outlier: in run {info.run} of batch {info.batch} {anchor.event} "
            f"is {value / others - 1:+.0%} off; count its events again"
        )
