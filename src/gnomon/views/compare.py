"""How a comparison looks in a terminal and as JSON: the effect first, the test after it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from math import isfinite
from typing import Any, TextIO

from gnomon.analysis.compare.result import Comparison, EventComparison, Interval, Verdict
from gnomon.recording.contents import Provenance
from gnomon.views.counts import format_value
from gnomon.views.table import Colour, Column, Table

_FOLDED = (Verdict.UNCHANGED, Verdict.EQUAL)
_MOST_SIGNS = 8
_MOST_NAMES = 12


def print_comparison(result: Comparison, stream: TextIO, *, everything: bool = False) -> None:
    """Write the events that changed, and what there is to know about the rest."""
    for side, origin, runs in zip("AB", (result.a, result.b), result.runs, strict=True):
        label = "SIMULATED " if origin.simulated else ""
        stream.write(f"{label}{side}: {subject_text(origin)}, {runs_text(runs)}\n")
    stream.write("\n")
    shown = [row for row in result.rows if everything or row.verdict not in _FOLDED]
    if shown:
        _table(result, shown).print(stream)
        stream.write("\n")
    stream.writelines(f"  {line}\n" for line in summary_lines(result, everything=everything))


def _table(result: Comparison, rows: list[EventComparison]) -> Table:
    table = Table(
        (
            Column("event"),
            Column("B / A", right=True),
            Column(f"{result.level:.0%} interval", right=True),
            Column("A", right=True),
            Column("B", right=True),
            Column("q", right=True),
            Column(""),
        )
    )
    for row in rows:
        table.add(
            row.event,
            format_ratio(row.ratio),
            interval_text(row.ratio_interval),
            format_value(whole(row.a.mean), row.unit),
            format_value(whole(row.b.mean), row.unit),
            "" if row.q is None else format_chance(row.q),
            verdict_text(row),
            colour=_colour(row),
        )
    return table


def format_ratio(ratio: float | None) -> str:
    """Return a ratio as a change in per cent, or as a factor where that reads better."""
    if ratio is None:
        return "–"
    if not isfinite(ratio):
        return "∞"
    if ratio == 1:
        return "0 %"
    if 0.2 <= ratio < 5:
        return f"{100 * (ratio - 1):+.3g} %"
    return f"×{ratio:,.3g}" if ratio < 1000 else f"×{ratio:,.0f}"


def format_chance(chance: float) -> str:
    """Return a p- or q-value with the digits that matter."""
    return "< 1e-9" if chance < 1e-9 else f"{chance:.2g}"


def interval_text(interval: Interval | None) -> str:
    """Return an interval of a ratio, empty without one."""
    if interval is None:
        return ""
    if interval.low == interval.high:
        return "exactly"
    return f"{format_ratio(interval.low)} to {format_ratio(interval.high)}"


def whole(value: float) -> float:
    """Return a mean of counts as an integer where it is one."""
    return int(value) if value == int(value) else value


def verdict_text(row: EventComparison) -> str:
    """Return in words what can be said of an event."""
    words = {Verdict.CHANGED: "changed", Verdict.SUSPECTED: "perhaps"}.get(row.verdict, "")
    if row.verdict in (Verdict.UNCHANGED, Verdict.EQUAL):
        words = str(row.verdict)
    return ": ".join(part for part in (words, row.note) if part)


def _colour(row: EventComparison) -> Colour | None:
    if row.verdict is Verdict.SUSPECTED:
        return Colour.YELLOW
    if row.verdict is not Verdict.CHANGED:
        return Colour.DIM
    return Colour.RED if row.difference > 0 else Colour.GREEN


def summary_lines(result: Comparison, *, everything: bool) -> list[str]:
    """Return what there is to say about all events together, a line each."""
    counts = Counter(row.verdict for row in result.rows)
    tested = sum(counts.values()) - counts[Verdict.UNTESTED]
    lines = [f"{counts[Verdict.CHANGED]} of {tested} events changed (q ≤ {result.alpha:g})"]
    folded = [f"{counts[v]} {v}" for v in _FOLDED if counts[v]]
    if folded and not everything:
        lines.append(f"folded away: {', '.join(folded)}; --all shows them{_resolution(result)}")
    for names, side in ((result.only_in_a, "A"), (result.only_in_b, "B")):
        if names:
            more = len(names) - _MOST_NAMES
            rest = f" and {more} more: see --json" if more > 0 else ""
            lines.append(f"only in {side}: {', '.join(names[:_MOST_NAMES])}{rest}")
    lines += [
        f"drift: {d.event} changes {'' if d.slope is None else f'{d.slope:+.2%} '}from run to run"
        for d in result.drifts[:_MOST_SIGNS]
    ]
    units = {row.event: row.unit for row in result.rows}
    lines += [
        f"outlier: {o.event} in run {o.run} of {o.side} is "
        f"{format_value(whole(o.value), units[o.event])}, "
        f"{format_value(whole(o.mean_of_others), units[o.event])} in the others"
        for o in result.outliers[:_MOST_SIGNS]
    ]
    for what, some in (("drifts", result.drifts), ("outliers", result.outliers)):
        if len(some) > _MOST_SIGNS:
            lines.append(f"{len(some) - _MOST_SIGNS} more {what}: see --json")
    return lines


def _resolution(result: Comparison) -> str:
    """Say how small a change of the folded events could have been seen, at the median."""
    widths = sorted(
        max(row.ratio_interval.high - 1, 1 - row.ratio_interval.low)
        for row in result.rows
        if row.verdict is Verdict.UNCHANGED and row.ratio_interval is not None
    )
    if not widths or widths[len(widths) // 2] > 1:
        return ""
    return f" (half of them within ±{100 * widths[len(widths) // 2]:.2g} %)"


def runs_text(count: int) -> str:
    """Return a number of runs in words."""
    return f"{count} run{'s' * (count != 1)}"


def subject_text(origin: Provenance) -> str:
    """Return what was measured, by what, and where."""
    what = " ".join(origin.command) or origin.target or "unnamed"
    where = origin.host
    return f"{what}: counted by {origin.source}{f' on {where}' if where else ''}"


def comparison_as_json(result: Comparison) -> dict[str, Any]:
    """Return the whole comparison in the form that scripts read; unbounded ends are null."""
    return {
        "a": asdict(result.a),
        "b": asdict(result.b),
        "runs": list(result.runs),
        "test": str(result.test),
        "correction": str(result.correction),
        "alpha": result.alpha,
        "level": result.level,
        "interrupted": result.interrupted,
        "events": [_row_as_json(row) for row in result.rows],
        "only_in_a": list(result.only_in_a),
        "only_in_b": list(result.only_in_b),
        "drifts": [asdict(drift) for drift in result.drifts],
        "outliers": [asdict(outlier) for outlier in result.outliers],
    }


def _row_as_json(row: EventComparison) -> dict[str, Any]:
    content = asdict(row)
    content["unit"] = row.unit or "count"
    for name in ("ratio_interval", "difference_interval"):
        interval = getattr(row, name)
        content[name] = (
            None if interval is None else [_finite(interval.low), _finite(interval.high)]
        )
    content["statistic"] = None if row.statistic is None else _finite(row.statistic)
    return content


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None
