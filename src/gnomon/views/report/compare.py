"""A comparison as a part of a report: how much each event changed, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.analysis.compare.result import Comparison, EventComparison, Outlier, Verdict
from gnomon.views.compare import (
    format_chance,
    format_ratio,
    interval_text,
    runs_text,
    subject_text,
    verdict_text,
    whole,
)
from gnomon.views.counts import format_value
from gnomon.views.report.page import Cell, DataTable, Figure, Section

if TYPE_CHECKING:
    from bokeh.model import Model

_MOST_IN_PLOT = 40
_UP, _DOWN, _PERHAPS, _SAME = "#c94f4f", "#2f9e6e", "#d9822b", "#8a8f98"


def compare_sections(result: Comparison) -> tuple[Section, ...]:
    """Return the sections that a comparison makes of a report."""
    parts: list[DataTable | Figure] = []
    if _drawable(result.rows):
        caption = (
            f"B relative to A with its {result.level:.0%} interval, on a logarithmic axis: red "
            "grew, green fell, orange may have changed, grey shows no change."
        )
        parts.append(Figure(caption, lambda: _plot(result)))
    parts.append(_table(result))
    main = Section("What changed", _lead(result), tuple(parts))
    signs = _signs(result)
    if not signs.rows:
        return (main,)
    words = "Runs that are not alike make a comparison less certain than its intervals say."
    return main, Section("How alike the runs of A and B were", (words,), (signs,))


def _lead(result: Comparison) -> tuple[str, ...]:
    counts = Counter(row.verdict for row in result.rows)
    tested = len(result.rows) - counts[Verdict.UNTESTED]
    perhaps = counts[Verdict.SUSPECTED]
    words = [
        f"A is {subject_text(result.a)}, {runs_text(result.runs[0])}; "
        f"B is {subject_text(result.b)}, {runs_text(result.runs[1])}.",
        f"{counts[Verdict.CHANGED]} of {tested} events changed beyond what chance does among so "
        f"many (q ≤ {result.alpha:g})" + (f", {perhaps} perhaps." if perhaps else "."),
    ]
    if counts[Verdict.UNTESTED]:
        words.append(f"{counts[Verdict.UNTESTED]} events have too few runs to be tested.")
    for names, side in ((result.only_in_a, "A"), (result.only_in_b, "B")):
        if names:
            words.append(f"Only in {side}: {', '.join(names)}.")
    return tuple(words)


def _table(result: Comparison) -> DataTable:
    rows = [
        (
            Cell(row.event),
            Cell(format_ratio(row.ratio), row.ratio, _cue(row)),
            Cell(interval_text(row.ratio_interval)),
            Cell(format_value(whole(row.a.mean), row.unit), row.a.mean),
            Cell(format_value(whole(row.b.mean), row.unit), row.b.mean),
            Cell("" if row.q is None else format_chance(row.q), row.q),
            Cell(verdict_text(row)),
        )
        for row in result.rows
    ]
    headings = ("event", "B / A", f"{result.level:.0%} interval", "A", "B", "q", "verdict")
    return DataTable.of(headings, rows, right=frozenset({1, 2, 3, 4, 5}))


def _cue(row: EventComparison) -> str:
    if row.verdict is Verdict.SUSPECTED:
        return "warn"
    if row.verdict is not Verdict.CHANGED:
        return "same"
    return "up" if row.difference > 0 else "down"


def _colour(row: EventComparison) -> str:
    return {"up": _UP, "down": _DOWN, "warn": _PERHAPS}.get(_cue(row), _SAME)


def _drawable(rows: Sequence[EventComparison]) -> list[EventComparison]:
    """Return the events with a ratio, those that matter most, the greatest ratio first."""
    with_ratio = [row for row in rows if row.ratio is not None and row.ratio > 0]
    return sorted(with_ratio[:_MOST_IN_PLOT], key=lambda row: -(row.ratio or 0.0))


def _plot(result: Comparison) -> Model:
    from bokeh.models import ColumnDataSource
    from bokeh.models.annotations import Span

    from gnomon.views.report.plots import figure, ratio_axis, short_names

    rows = _drawable(result.rows)[::-1]
    names = short_names([row.event for row in rows])
    ratios = [row.ratio or 1.0 for row in rows]
    bounds = [
        (row.ratio_interval.low, row.ratio_interval.high) if row.ratio_interval else (ratio, ratio)
        for row, ratio in zip(rows, ratios, strict=True)
    ]
    lows = [max(low, min(ratios) / 100) for low, _ in bounds]
    highs = [min(high, max(ratios) * 100) for _, high in bounds]
    source = ColumnDataSource(
        {
            "name": names,
            "event": [row.event for row in rows],
            "ratio": ratios,
            "low": lows,
            "high": highs,
            "colour": [_colour(row) for row in rows],
            "change": [format_ratio(row.ratio) for row in rows],
            "interval": [interval_text(row.ratio_interval) for row in rows],
            "a": [format_value(whole(row.a.mean), row.unit) for row in rows],
            "b": [format_value(whole(row.b.mean), row.unit) for row in rows],
            "q": ["" if row.q is None else format_chance(row.q) for row in rows],
            "verdict": [verdict_text(row) for row in rows],
        }
    )
    plot = figure(
        "B / A",
        "",
        height=90 + 22 * len(rows),
        x_axis_type="log",
        y_range=names,
        tooltips=[
            ("event", "@event"),
            ("B / A", "@change (@interval)"),
            ("A", "@a"),
            ("B", "@b"),
            ("q", "@q"),
            ("", "@verdict"),
        ],
    )
    plot.add_layout(Span(location=1, dimension="height", line_color=_SAME, line_dash="dashed"))
    plot.segment("low", "name", "high", "name", source=source, color="colour", line_width=2)
    plot.scatter("ratio", "name", source=source, size=9, color="colour")
    ratio_axis(plot, min(lows), max(highs))
    plot.ygrid.grid_line_color = None
    return plot


def _signs(result: Comparison) -> DataTable:
    drifts = [
        (
            Cell(drift.event),
            Cell("drift"),
            Cell(
                "changes from run to run"
                if drift.slope is None
                else f"changes by {drift.slope:+.2%} from run to run"
            ),
            Cell(format_chance(drift.q), drift.q),
        )
        for drift in result.drifts
    ]
    units = {row.event: row.unit for row in result.rows}
    outliers = [
        (
            Cell(each.event),
            Cell("outlier"),
            Cell(_outlier_text(each, units.get(each.event, ""))),
            Cell(format_chance(each.q), each.q),
        )
        for each in result.outliers
    ]
    return DataTable(
        ("event", "sign", "in detail", "q"), (*drifts, *outliers), right=frozenset({3})
    )


def _outlier_text(each: Outlier, unit: str) -> str:
    value, others = (format_value(whole(v), unit) for v in (each.value, each.mean_of_others))
    return f"run {each.run} of {each.side}: {value} where the others have {others}"
