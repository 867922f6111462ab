"""How a survey looks in a terminal and as JSON: what matters first, the rest folded."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TextIO

from gnomon.analysis.survey.indicators import Indicator
from gnomon.analysis.survey.result import SurveyResult
from gnomon.analysis.survey.selection import Fold, Judged
from gnomon.recording.contents import Status
from gnomon.sources.registry import title as title_of
from gnomon.units import format_duration
from gnomon.views.compare import runs_text
from gnomon.views.counts import format_spread, format_value
from gnomon.views.state import interval_text
from gnomon.views.table import Column, Table

_FOLDS = {
    Fold.ZERO: "counted nothing",
    Fold.CONSTANT: "never varied",
    Fold.SAME: "say the same as another",
    Fold.NOISY: "too noisy to tell",
    Fold.MISSING: "could not be counted",
}
_SHOWN = 24


def print_survey(result: SurveyResult, stream: TextIO, *, everything: bool = False) -> None:
    """Write the events that matter and, in a line each, what was folded away."""
    stream.writelines(line + "\n" for line in _headline(result))
    stream.write("\n")
    ranked = result.ranked
    shown = ranked if everything else ranked[:_SHOWN]
    _table(shown).print(stream)
    if len(ranked) > len(shown):
        stream.write(f"  … and {len(ranked) - len(shown)} more: --all shows them\n")
    stream.write("\n")
    _print_folded(result, stream, everything=everything)
    if any(each.share for each in shown):
        stream.write("  share: estimated from usual costs, to rank by; not measured\n")


def _headline(result: SurveyResult) -> list[str]:
    origin = result.provenance
    label = "SIMULATED " if origin.simulated else ""
    counted = sum(result.origins().values())
    batches = len(origin.plan)
    lines = [
        f"{label}{' '.join(origin.command)}: {counted} events in {runs_text(len(result.runs))}"
        + (f" ({batches} batches x {origin.repeat})" if batches > 1 and origin.repeat else "")
    ]
    if result.one_run:
        lines[0] += ", taking turns in one run: values are estimated"
    for name, count in result.origins().items():
        lines.append(f"  {count:>4} from {origin_text(name)}")
    if result.elapsed:
        lines.append(f"  {format_duration(result.elapsed)} elapsed on average, unslowed runs only")
    if not result.complete:
        lines.append(f"  {len(result.runs)} of {result.planned} runs made: --resume makes the rest")
    return lines


def origin_text(origin: str) -> str:
    """Return in words where counts come from."""
    return title_of(origin)


def fold_title(fold: Fold) -> str:
    """Return in words why events were folded away."""
    return _FOLDS[fold]


def _table(events: tuple[Judged, ...]) -> Table:
    table = Table(
        (
            Column("event"),
            Column("mean", right=True),
            Column("90 % interval"),
            Column("spread", right=True),
            Column("share", right=True),
            Column("with time", right=True),
            Column("what it counts"),
        )
    )
    for each in events:
        indicator = each.indicator
        mark = "~ " if indicator.status in (Status.SCALED, Status.ESTIMATED) else ""
        table.add(
            each.event,
            mark + format_value(indicator.mean, indicator.unit),
            _interval(indicator),
            format_spread(indicator.spread),
            f"{each.share.of_time:.1%}" if each.share is not None else "",
            f"{each.correlation:+.2f}" if each.correlation is not None else "",
            _short(indicator.description),
        )
    return table


def _interval(indicator: Indicator) -> str:
    if indicator.interval is None:
        return ""
    low, high = indicator.interval
    return interval_text(low, high, indicator.unit)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59].rstrip() + "…"


def _print_folded(result: SurveyResult, stream: TextIO, *, everything: bool) -> None:
    groups: dict[Fold, list[Judged]] = defaultdict(list)
    for each in result.folded:
        if each.fold is not None:
            groups[each.fold].append(each)
    for fold, title in _FOLDS.items():
        members = groups.get(fold, [])
        if not members:
            continue
        if everything:
            stream.write(f"  {len(members)} {title}:\n")
            stream.writelines(f"    {each.event}: {each.reason}\n" for each in members)
        else:
            names = ", ".join(each.event for each in members[:4])
            more = f" and {len(members) - 4} more" if len(members) > 4 else ""
            stream.write(f"  {len(members)} {title}: {names}{more}\n")


def survey_as_json(result: SurveyResult) -> dict[str, Any]:
    """Return the survey in the form that scripts read."""
    return {
        "recording": result.path,
        "complete": result.complete,
        "runs": len(result.runs),
        "planned": result.planned,
        "one_run": result.one_run,
        "origins": result.origins(),
        "rows": [_row(rank, each) for rank, each in enumerate(result.events, 1)],
    }


def _row(rank: int, each: Judged) -> dict[str, Any]:
    indicator = each.indicator
    return {
        "event": each.event,
        "rank": rank if each.fold is None else None,
        "folded": None if each.fold is None else str(each.fold),
        "reason": each.reason,
        "mean": indicator.mean,
        "interval": None if indicator.interval is None else list(indicator.interval),
        "spread": indicator.spread,
        "unit": indicator.unit or "count",
        "status": str(indicator.status),
        "origin": indicator.origin,
        "simulated": indicator.simulated,
        "share": None if each.share is None else each.share.of_time,
        "correlation": each.correlation,
        "values": list(indicator.values.values()),
        "description": indicator.description,
    }
