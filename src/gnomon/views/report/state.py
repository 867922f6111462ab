"""The state of a run as a part of a report: totals with intervals, and estimates over time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.analysis.estimate.metrics import MetricState, metrics_of
from gnomon.analysis.estimate.state import EventState, State
from gnomon.views.report.page import Cell, DataTable, Figure, Section
from gnomon.views.state import headline, interval_text, number, rate_text, total_text

if TYPE_CHECKING:
    from bokeh.model import Model

_FIGURES = 12
_MOST_POINTS = 2_000


def state_sections(state: State) -> tuple[Section, ...]:
    """Return the sections that the state of a run makes of a report."""
    lines = state.lines
    lead = ("; ".join(text.strip() for text in headline(state)) + ".",)
    totals = Section(
        "Every event",
        (*lead, "Totals marked ~ are estimated from the ticks in which the event was read."),
        (_table(state, lines),),
    )
    chosen = sorted((line for line in lines if _restless(line)), key=_restless, reverse=True)
    figures = [
        Figure(
            f"{line.event}: estimate with its 90 % interval, and what was read as dots.",
            partial(_plot, state, line),
            half=True,
        )
        for line in chosen[:_FIGURES]
    ]
    sections = [totals]
    if figures:
        words = f"The {len(figures)} events that vary most, of those that took turns."
        sections.append(Section("Estimates over time", (words,), tuple(figures)))
    metrics = [metric for metric in metrics_of(state) if metric.value is not None]
    if metrics:
        sections.append(Section("Metrics", (), (_metrics(metrics),)))
    return tuple(sections)


def _restless(line: EventState) -> float:
    """Return how much an estimated event varies, relative to its mean; 0 when it is measured."""
    if line.measured or not line.rates or not any(line.rates):
        return 0.0
    mean = sum(line.rates) / len(line.rates)
    return sum(abs(rate - mean) for rate in line.rates) / len(line.rates) / mean


def _table(state: State, lines: tuple[EventState, ...]) -> DataTable:
    texts = {info.name: info.description for info in state.events}
    rows = []
    for line in lines:
        mean = None if line.total is None else line.total / state.seconds
        span = "" if line.measured else interval_text(line.low, line.high, line.unit)
        rows.append(
            (
                Cell(line.event),
                Cell(total_text(line), line.total),
                Cell(span),
                Cell(f"{line.share:.0%}", line.share),
                Cell(rate_text(mean, line.unit), mean),
                Cell(texts.get(line.event, "")),
            )
        )
    headings = ("event", "total", "90 % interval", "read", "a second", "what it counts")
    return DataTable.of(headings, rows, right=frozenset({1, 3, 4}))


def _metrics(metrics: list[MetricState]) -> DataTable:
    rows = [
        (
            Cell(metric.name),
            Cell(number(metric.value, metric.unit), metric.value),
            Cell(
                ""
                if metric.low == metric.high
                else f"{number(metric.low)} to {number(metric.high)}"
            ),
            Cell(metric.title),
        )
        for metric in metrics
    ]
    return DataTable.of(
        ("metric", "value", "90 % interval", "what it is"), rows, right=frozenset({1})
    )


def _top(line: EventState) -> float:
    """Return how high a plot goes: one wide interval must not make the rest a flat line."""
    peak = max(line.rates, default=0.0)
    return min(max(line.highs, default=0.0), 1.5 * peak) * 1.05 or 1.0


def _plot(state: State, line: EventState) -> Model:
    from bokeh.models import ColumnDataSource, Range1d

    from gnomon.views.report.plots import COLOURS, figure, style_legend, value_axis

    plot = figure(
        "time in ms",
        f"{line.unit or 'count'} a second",
        height=260,
        tooltips=[("at", "@x{0.00} ms"), ("rate", "@y{0.000a} /s")],
        y_range=Range1d(start=0, end=_top(line)),
    )
    value_axis(plot, f"{line.unit}/s" if line.unit else "")
    step = max(len(state.ends) // _MOST_POINTS, 1)
    kept = slice(None, None, step)
    columns: dict[str, Any] = {
        "x": [end / 1e6 for end in state.ends[kept]],
        "y": line.rates[kept],
        "low": line.lows[kept],
        "high": line.highs[kept],
    }
    source = ColumnDataSource(columns)
    band, colour, dot = "90 % interval", COLOURS[0], COLOURS[1]
    plot.varea("x", "low", "high", source=source, color=colour, alpha=0.25, legend_label=band)
    plot.line("x", "y", source=source, color=colour, legend_label="estimate")
    read = [
        (end / 1e6, rate)
        for end, rate, flag in zip(state.ends, line.rates, line.read, strict=True)
        if flag
    ]
    read = read[:: max(len(read) // _MOST_POINTS, 1)]
    dots = ColumnDataSource({"x": [at for at, _ in read], "y": [rate for _, rate in read]})
    plot.scatter("x", "y", source=dots, color=dot, size=4, legend_label="read")
    style_legend(plot)
    return plot
