"""Advice on placement as a report: what to change, what it saves, and what was tried."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.units import format_bytes, format_duration
from gnomon.views.advice import about, time_lines
from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bokeh.model import Model

    from gnomon.analysis.locality.advisor.result import Advice, Proposal


def advice_page(advice: Advice) -> Page:
    """Return the report of advice on placement."""
    return Page(
        f"Where the memory of {advice.program} should be",
        f"simulated on {advice.machine}: {about(advice)}",
        _sections(advice),
        facts=(
            ("program", advice.program),
            ("machine", f"{advice.machine} (simulated)"),
            ("threads", str(advice.threads)),
            ("runs", str(advice.runs)),
            ("least gain", f"{advice.margin:.0%} of the time"),
        ),
        warnings=advice.warnings,
        simulated=True,
    )


def _sections(advice: Advice) -> tuple[Section, ...]:
    texts = [" ".join(text.split()) for text in time_lines(advice)]
    lead = tuple(f"{text[0].upper()}{text[1:]}." for text in texts)
    tried = (*advice.proposals, *advice.alternatives, *advice.dropped)
    figures: tuple[Figure, ...] = ()
    if tried:
        caption = "The simulated time of the program with each change by itself, and with all."
        figures = (Figure(caption, partial(_bars, advice)),)
    if not advice.proposals:
        sections = [Section("Leave it as it is", lead, figures)]
    else:
        sections = [Section("What it would bring", lead, figures)]
        sections.append(Section("What to change", (), (_table(advice.proposals, how=True),)))
    if advice.alternatives:
        words = ("Each of these helps as well; another change of the same object helps more.",)
        sections.append(Section("Other ways", words, (_table(advice.alternatives, how=True),)))
    if advice.dropped:
        words = (f"These save less than {advice.margin:.0%} of the time, or cost some.",)
        sections.append(Section("Tried, and not proposed", words, (_table(advice.dropped),)))
    return tuple(sections)


def _table(proposals: Sequence[Proposal], *, how: bool = False) -> DataTable:
    headings = ["change", "object", "size", "what", "why", *(["how"] if how else [])]
    headings += ["note", "time", "saves"]
    rows = [
        (
            Cell(str(each.action)),
            Cell(each.thing.title, hint=f"{each.thing.start:#x}"),
            Cell(format_bytes(each.thing.size), float(each.thing.size)),
            Cell(each.detail),
            Cell(each.why),
            *((Cell(each.remedy),) if how else ()),
            Cell(each.note),
            Cell(format_duration(each.time_ns), each.time_ns),
            Cell(f"{each.gain:.1%}", each.gain, bar=max(0.0, min(1.0, each.gain))),
        )
        for each in proposals
    ]
    right = frozenset({2, len(headings) - 2, len(headings) - 1})
    return DataTable.of(headings, rows, right=right)


def _bars(advice: Advice) -> Model:
    from bokeh.models import ColumnDataSource

    from gnomon.views.report.plots import COLOURS, figure, from_zero, short_names

    kinds = (
        (advice.proposals, COLOURS[2]),
        (advice.alternatives, COLOURS[1]),
        (advice.dropped, COLOURS[4]),
    )
    names, times, colours = ["as it is"], [advice.before_ns], [COLOURS[5]]
    if advice.proposals:
        names.append("as proposed, all together")
        times.append(advice.after_ns)
        colours.append(COLOURS[0])
    for proposals, colour in kinds:
        for each in proposals:
            names.append(f"{each.action}: {each.thing.title}")
            times.append(each.time_ns)
            colours.append(colour)
    shown = short_names(names, 44)
    plot = figure(
        "simulated time in ms",
        "",
        height=70 + 28 * len(names),
        y_range=shown[::-1],
        x_range=from_zero(),
        tooltips=[("change", "@name"), ("time", "@text"), ("of as it is", "@share")],
    )
    data: dict[str, Any] = {
        "shown": shown,
        "name": names,
        "ms": [time / 1e6 for time in times],
        "text": [format_duration(time) for time in times],
        "share": [f"{time / advice.before_ns:.1%}" for time in times],
        "colour": colours,
    }
    plot.hbar(y="shown", right="ms", height=0.7, source=ColumnDataSource(data), color="colour")
    return plot
