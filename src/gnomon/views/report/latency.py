"""The part of a report that has how long loads take."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.analysis.latency.model import LatencyResult, Mode
from gnomon.units import format_si
from gnomon.views.latency import bin_text, peak_text, title
from gnomon.views.report.page import Cell, DataTable, Figure, Section

if TYPE_CHECKING:
    from bokeh.model import Model

_MOST_SOURCES = 5


def latency_sections(result: LatencyResult) -> tuple[Section, ...]:
    """Return the sections that a histogram of latencies makes of a report."""
    parts: list[DataTable | Figure] = [
        Figure(_caption(result), partial(_plot, result, cost=False)),
        Figure("Cycles spent, by latency: loads times latency.", partial(_plot, result, cost=True)),
    ]
    if result.mode is Mode.SAMPLES:
        parts.append(Figure("Loads by what answered them.", partial(_by_source, result)))
    if result.peaks:
        parts.append(_peak_table(result))
    lead = (f"{title(result)}.", *(f"Not seen: {text}." for text in result.blind))
    return (Section("Latency of loads", lead, tuple(parts), (_bin_table(result),), "All bins"),)


def _caption(result: LatencyResult) -> str:
    text = "Loads by latency, lines 95 % intervals"
    if result.mode is Mode.THRESHOLDS:
        text = (
            "Loads by latency. Bars are the monotone estimate, lines 95 % intervals of the plain "
            "one, grey crosses differences below zero"
        )
    if result.references:
        text += "; dashed lines are latencies that following pointers showed"
    return f"{text}."


def _peak_table(result: LatencyResult) -> DataTable:
    rows = [
        (
            Cell(f"{peak.low} cycles", peak.low),
            Cell(format_si(peak.count), peak.count),
            Cell(f"{peak.share:.1%}", peak.share, bar=peak.share),
            Cell(peak_text(peak, result)),
            Cell("" if peak.reference is None else f"{peak.reference:.0f} cycles", peak.reference),
        )
        for peak in result.peaks
    ]
    headings = ("peak from", "loads", "share", "is", "measured")
    return DataTable.of(headings, rows, "Where loads gather.", frozenset({0, 1, 2, 4}))


def _bin_table(result: LatencyResult) -> DataTable:
    total = result.total or 1.0
    rows = [
        (
            Cell(bin_text(each), each.low),
            Cell(format_si(each.count), each.count, cue="warn" if each.negative else ""),
            Cell(f"{format_si(each.least, 3)} … {format_si(each.most, 3)}"),
            Cell(format_si(each.monotone), each.monotone),
            Cell(f"{each.monotone / total:.2%}", each.monotone),
            Cell(format_si(each.cost), each.cost),
            Cell(", ".join(f"{n}: {format_si(c)}" for n, c in sorted(each.sources.items()))),
        )
        for each in result.bins
    ]
    headings = (
        "cycles",
        "loads",
        "95 % interval",
        "monotone",
        "share",
        "cycles spent",
        "answered by",
    )
    return DataTable.of(headings, rows, right=frozenset({1, 2, 3, 4, 5}))


def _ends(result: LatencyResult) -> list[float]:
    """Return where bins end; the open one is drawn as wide as the one before it."""
    edges = result.edges
    return [*map(float, edges[1:]), float(2 * edges[-1] - edges[-2])]


def _plot(result: LatencyResult, *, cost: bool) -> Model:
    from bokeh.models import ColumnDataSource, Range1d
    from bokeh.models.annotations import Label, Span, Whisker
    from bokeh.models.annotations.arrows import TeeHead

    from gnomon.views.report.plots import COLOURS, figure, plain_numbers

    bins, ends = result.bins, _ends(result)
    scale = [each.middle if cost else 1.0 for each in bins]
    data: dict[str, Any] = {
        "left": [each.low for each in bins],
        "right": ends,
        "middle": [(each.low + end) / 2 for each, end in zip(bins, ends, strict=True)],
        "top": [each.cost if cost else each.monotone for each in bins],
        "raw": [each.count * by for each, by in zip(bins, scale, strict=True)],
        "least": [each.least * by for each, by in zip(bins, scale, strict=True)],
        "most": [each.most * by for each, by in zip(bins, scale, strict=True)],
        "name": [bin_text(each) for each in bins],
    }
    what = "cycles spent" if cost else "loads"
    plot = figure(
        "latency in cycles",
        what,
        tooltips=[("cycles", "@name"), (what, "@top{0.0 a}"), ("plain", "@raw{0.0 a}")],
    )
    source = ColumnDataSource(data)
    bars = plot.quad(
        left="left",
        right="right",
        bottom=0,
        top="top",
        source=source,
        fill_color=COLOURS[0],
        fill_alpha=0.75,
        line_color=None,
    )
    head: dict[str, Any] = {"size": 4, "line_color": COLOURS[5]}
    whisker = Whisker(
        base="middle",
        upper="most",
        lower="least",
        source=source,
        line_color=COLOURS[5],
        upper_head=TeeHead(**head),
        lower_head=TeeHead(**head),
    )
    plot.add_layout(whisker)
    below = [number for number, each in enumerate(bins) if each.negative]
    plot.scatter(
        [data["middle"][number] for number in below],
        [data["raw"][number] for number in below],
        marker="x",
        size=7,
        color=COLOURS[5],
    )
    highest = max(*data["most"], *data["top"], 1e-9)
    room = 1.5 if result.references else 1.05  # names stand above the bars
    plot.y_range = Range1d(1.05 * min(*data["least"], 0.0), room * highest)
    for number, reference in enumerate(result.references):
        plot.add_layout(
            Span(
                location=reference.cycles,
                dimension="height",
                line_color=COLOURS[1],
                line_dash="dashed",
                line_alpha=0.8,
            )
        )
        plot.add_layout(
            Label(
                x=reference.cycles,
                y=(1.1 + 0.14 * (number % 3)) * highest,  # neighbours in lines of their own
                x_offset=3,
                text=reference.name,
                text_baseline="middle",
                text_font_size="11px",
                text_color=COLOURS[1],
            )
        )
    plot.hover.renderers = [bars]
    plot.yaxis.formatter = plain_numbers()
    return plot


def _by_source(result: LatencyResult) -> Model:
    from gnomon.views.report.plots import COLOURS, figure, plain_numbers, style_legend

    totals: dict[str, float] = {}
    for each in result.bins:
        for name, count in each.sources.items():
            totals[name] = totals.get(name, 0.0) + count
    names = sorted(totals, key=lambda name: -totals[name])
    kept = names[:_MOST_SOURCES]
    rows = {name: [each.sources.get(name, 0.0) for each in result.bins] for name in kept}
    if len(names) > len(kept):
        rows["others"] = [
            sum(each.sources.get(name, 0.0) for name in names[_MOST_SOURCES:])
            for each in result.bins
        ]
    plot = figure("latency in cycles", "loads")
    bottom = [0.0] * len(result.bins)
    for number, (name, counts) in enumerate(rows.items()):
        top = [base + count for base, count in zip(bottom, counts, strict=True)]
        plot.quad(
            left=[each.low for each in result.bins],
            right=_ends(result),
            bottom=bottom,
            top=top,
            fill_color=COLOURS[number % len(COLOURS)],
            line_color=None,
            legend_label=name,
        )
        bottom = top
    plot.yaxis.formatter = plain_numbers()
    style_legend(plot)
    return plot
