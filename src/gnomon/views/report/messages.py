"""Message programs in a report: their timelines and what happened in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.views.messages import timeline_svg
from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section

if TYPE_CHECKING:
    from gnomon.messaging.timeline import Timeline


def timeline_page(timeline: Timeline, *, start: int = 0, end: int | None = None) -> Page:
    """Return the report of a message program."""
    return Page(
        f"Messages on {timeline.machine}",
        f"{timeline.nodes} nodes, {len(timeline.flights)} messages, {timeline.end:,} ns",
        (timeline_section(timeline, start=start, end=end),),
        simulated=True,
    )


def timeline_section(timeline: Timeline, *, start: int = 0, end: int | None = None) -> Section:
    """Return a drawing of all threads and messages, with every mark in a table."""
    rows = tuple(
        (
            Cell(f"{mark.time:,}", mark.time),
            Cell(str(mark.node), mark.node),
            Cell(mark.thread),
            Cell(str(mark.message or ""), mark.message),
            Cell(mark.what),
        )
        for mark in timeline.ordered()
    )
    return Section(
        "Timeline",
        ("Boxes are what threads do, bands are messages, marks are events: point at them.",),
        (
            Figure(
                "Threads, network interfaces and messages over time",
                svg=timeline_svg(timeline, start=start, end=end),
            ),
        ),
        (DataTable(("time [ns]", "node", "thread", "message", "what"), rows),),
        "Everything that happened",
    )
