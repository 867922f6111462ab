"""A message program on simulated clusters as a report: times, speedups, first messages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gnomon.analysis.study.result import Bar, Bars
from gnomon.views.cluster_runs import comparison_table
from gnomon.views.messages import timeline_svg
from gnomon.views.report.charts import draw_bars
from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section

if TYPE_CHECKING:
    from gnomon.messaging.simulator.comparison import ClusterComparison

TRACED = 60
"""Steps of messages that are drawn unless more are asked for."""


def comparison_page(result: ClusterComparison) -> Page:
    """Return the report of a program on several clusters."""
    return Page(
        f"{result.program} on simulated clusters",
        " · ".join([*result.words, f"seed {result.seed}"]),
        (_numbers(result), *_messages(result)),
        simulated=True,
    )


def _numbers(result: ClusterComparison) -> Section:
    headings, rows = comparison_table(result)
    first = result.results[0].name
    parts: list[DataTable | Figure] = [
        DataTable(
            headings,
            tuple(tuple(Cell(text) for text in row) for row in rows),
            right=frozenset(range(1, len(headings))),
        )
    ]
    if len(result.results) > 1:
        bars = Bars(
            f"How many times as fast as on {first} the program runs",
            "speedup",
            tuple(Bar(each.name, result.speedup(each)) for each in result.results),
        )
        parts.append(Figure(f"{bars.title}.", partial(draw_bars, bars)))
    main = [(each.name, each.main) for each in result.results]
    timed = [(name, one) for name, one in main if one is not None]
    if timed:
        means = Bars(
            f"Mean time of what the program calls '{timed[0][1].name}'",
            "µs",
            tuple(Bar(name, one.mean / 1000) for name, one in timed),
        )
        parts.append(Figure(f"{means.title}.", partial(draw_bars, means)))
    titles = tuple(f"{each.name}: {each.title}." for each in result.results)
    return Section("Clusters beside each other", titles, tuple(parts))


def _messages(result: ClusterComparison) -> tuple[Section, ...]:
    figures = tuple(
        Figure(
            f"The first {len(each.run.trace)} steps of messages on {each.name}: bands are messages,"
            " marks are what happens to them.",
            svg=timeline_svg(each.timeline),
        )
        for each in result.results
        if each.run.trace
    )
    return (Section("First messages", (), figures),) if figures else ()
