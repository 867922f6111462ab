"""Times of messages as a report: percentiles and histograms a regime, curves over sizes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.analysis.notify import Bench, Regime
from gnomon.units import format_bytes, format_duration
from gnomon.views.notify import (
    bounds_text,
    errors_text,
    headline,
    interval_text,
    left_out_lines,
    order_lines,
    order_table,
    passes_lines,
    regime_table,
    regime_title,
    rows_of,
)
from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from bokeh.model import Model

    from gnomon.analysis.notify.result import Measured
    from gnomon.messaging.host import Histogram

_FIT_POINTS = 60
_DASHES = ("solid", "dashed", "dotted")


def bench_page(bench: Bench) -> Page:
    """Return the report of a benchmark of messages."""
    sections = [_regime_section(bench, regime) for regime in bench.regimes]
    if (order := order_table(bench)).rows:
        sections.append(_order_section(bench, order))
    if bench.curves:
        sections += [_sizes_section(bench), _loggp_section(bench)]
    if bench.left_out:
        lines = left_out_lines(bench.left_out)
        sections.append(Section("What was left out", tuple(f"{line}." for line in lines)))
    origin = bench.provenance
    return Page(
        "What messages cost on this host",
        f"{headline(bench)} · {origin.created}",
        tuple(sections),
        facts=(("host", origin.host), ("kernel", origin.kernel), ("processor", origin.cpu)),
        warnings=bench.warnings,
    )


def _regime_section(bench: Bench, regime: Regime) -> Section:
    title = regime_title(bench, regime)
    best = rows_of(bench, regime)[0]
    return Section(
        title[0].upper() + title[1:],
        (
            f"The fastest way is {best.mechanism}: its round trip takes "
            f"{interval_text(best.round_trip.p50)}.",
        ),
        (
            Figure(
                "Round trips of the smallest message: a dot is the median, a thick line goes to "
                "the 90th, a thin one to the 99.9th percentile.",
                partial(_percentiles, bench, regime),
            ),
            Figure(
                "Histograms of the same: the share of round trips in bins 3 % wide. Click a name "
                "to hide it.",
                partial(_histograms, bench, regime),
            ),
            data_table(regime_table(bench, regime)),
        ),
    )


def _order_section(bench: Bench, order: Table) -> Section:
    return Section(
        "In order",
        (
            "The fastest mechanism of each class, and how its round trip stands to that of the "
            "class before: < where 95 % intervals are apart, ~ where they overlap.",
            *(f"{line[0].upper()}{line[1:]}." for line in order_lines(bench)),
        ),
        (data_table(order),),
    )


def _sizes_section(bench: Bench) -> Section:
    errors = errors_text(bench)
    return Section(
        f"Over sizes, {bench.curves[0].regime}",
        (
            "Time of a message one way, which is half of a round trip. Lines are Hockney's law, "
            "fitted by pieces where the protocol changes.",
            f"{errors[0].upper()}{errors[1:]}.",
            *(f"{line}." for line in passes_lines(bench)),
        ),
        (
            Figure("Dots are measured, lines are fitted.", partial(_curves, bench)),
            data_table(_hockney_table(bench)),
        ),
    )


def _hockney_table(bench: Bench) -> Table:
    right = ("start-up", "95 %", "a byte", "95 %", "error")
    table = Table(
        [Column("told by"), Column("sizes"), *(Column(name, right=True) for name in right)]
    )
    for curve in bench.curves:
        for segment in curve.hockney.segments:
            table.add(
                curve.mechanism,
                f"{format_bytes(segment.smallest)} to {format_bytes(segment.largest)}",
                format_duration(segment.startup.value),
                bounds_text(segment.startup),
                *_per_byte(segment.per_byte),
                f"{curve.hockney.error:.1%}",
            )
    return table


def _loggp_section(bench: Bench) -> Section:
    return Section(
        f"LogGP and PLogP, {bench.curves[0].regime}",
        (
            "What the sender and the receiver are busy with a small message (o), what is left of "
            "its time (L), how soon the next one may follow (g), and what each byte of a large "
            "one adds (G); each with its 95 % interval. PLogP lets o and g change with the size: "
            "its error is the median at sizes held out of the fit.",
        ),
        (data_table(_loggp_table(bench)),),
    )


def _loggp_table(bench: Bench) -> Table:
    names = ("L", "o send", "o receive", "g", "G", "error", "PLogP error")
    table = Table([Column("told by"), *(Column(name, right=True) for name in names)])
    for curve in bench.curves:
        if (loggp := curve.loggp) is None:
            continue
        table.add(
            curve.mechanism,
            *map(_call_text, (loggp.latency, loggp.send, loggp.receive)),
            "" if loggp.gap is None else interval_text(loggp.gap),
            " ".join(_per_byte(loggp.gap_per_byte)),
            f"{loggp.error:.1%}",
            "" if curve.plogp is None else f"{curve.plogp.error:.1%}",
        )
    return table


def _call_text(value: Measured) -> str:
    """Return what a call took; what is left of a short one beside the clock is no number."""
    return "< 1 ns" if 0 <= value.value < 1 else interval_text(value)


def _per_byte(value: Measured) -> tuple[str, str]:
    return f"{value.value:.3g} ns", f"[{value.low:.3g}, {value.high:.3g} ns]"


def data_table(table: Table) -> DataTable:
    """Return a table of the terminal as one of a report."""
    rows = [tuple(Cell(cell) for cell in row) for row in table.rows]
    right = frozenset(i for i, column in enumerate(table.columns) if column.right)
    return DataTable.of([column.heading for column in table.columns], rows, right=right)


def _percentiles(bench: Bench, regime: Regime) -> Model:
    from bokeh.models import ColumnDataSource

    from gnomon.views.report.plots import COLOURS, figure, plain_log_axis

    rows = rows_of(bench, regime)[::-1]
    trips = [row.round_trip for row in rows]
    source = ColumnDataSource(
        {
            "way": [row.mechanism for row in rows],
            "p50": [_us(trip.p50.value) for trip in trips],
            "p90": [_us(trip.p90) for trip in trips],
            "p999": [_us(trip.p999) for trip in trips],
            "text": [interval_text(trip.p50) for trip in trips],
            "tail": [f"{format_duration(t.p99)}, {format_duration(t.p999)}" for t in trips],
            "samples": [trip.samples for trip in trips],
        }
    )
    plot = figure(
        "round trip in µs",
        "",
        height=70 + 24 * len(rows),
        x_axis_type="log",
        y_range=[row.mechanism for row in rows],
        tooltips=[
            ("told by", "@way"),
            ("median", "@text"),
            ("99 %, 99.9 %", "@tail"),
            ("times", "@samples{0,0}"),
        ],
    )
    plain_log_axis(plot.xaxis[0])
    style: dict[str, Any] = {"y0": "way", "y1": "way", "source": source, "color": COLOURS[0]}
    plot.segment(x0="p50", x1="p999", line_width=1.5, alpha=0.6, **style)
    plot.segment(x0="p50", x1="p90", line_width=6, alpha=0.5, **style)
    dots = plot.scatter("p50", "way", size=9, color=COLOURS[0], source=source)
    plot.hover.renderers = [dots]
    plot.ygrid.grid_line_alpha = 0.1
    return plot


def _histograms(bench: Bench, regime: Regime) -> Model:
    from gnomon.views.report.plots import (
        figure,
        height_with_legend,
        plain_log_axis,
        style_legend,
    )

    plot = figure(
        "round trip in µs",
        "share of round trips in %",
        height=height_with_legend(len(rows_of(bench, regime))),
        x_axis_type="log",
        tooltips=[("told by", "$name"), ("time", "@x{0.[000]} µs"), ("share", "@y{0.[00]} %")],
    )
    plain_log_axis(plot.xaxis[0])
    for number, row in enumerate(rows_of(bench, regime)):
        edges, shares = _steps(row.round_trip.histogram)
        plot.step(edges, shares, mode="after", **_line_style(number, row.mechanism))
    style_legend(plot)
    return plot


def _steps(histogram: Histogram) -> tuple[list[float], list[float]]:
    """Return where each bin begins in µs and its share in %; between bins there is nothing."""
    counts = histogram.counts.sum(0)
    every = max(int(counts.sum()), 1)
    edges: list[float] = []
    shares: list[float] = []
    end = -1.0
    for low, high, count in zip(histogram.low, histogram.high, counts, strict=True):
        if low > end:
            edges += [end, low] if edges else [low]
            shares += [0.0, 0.0] if shares else [0.0]
        edges.append(low)
        shares.append(100 * int(count) / every)
        end = high
    return [_us(edge) for edge in (*edges, end)], [*shares, 0.0]


def _curves(bench: Bench) -> Model:
    from bokeh.models import ColumnDataSource, FixedTicker

    from gnomon.views.report.plots import (
        figure,
        height_with_legend,
        plain_log_axis,
        style_legend,
    )

    plot = figure(
        "size",
        "one way in µs",
        height=height_with_legend(len(bench.curves)),
        x_axis_type="log",
        y_axis_type="log",
        tooltips=[("told by", "$name"), ("size", "@size"), ("one way", "@text")],
    )
    plain_log_axis(plot.yaxis[0])
    dots: list[Any] = []
    for number, curve in enumerate(bench.curves):
        style = _line_style(number, curve.mechanism)
        sizes = [size for size in curve.sizes if size > 0]
        times = [t for size, t in zip(curve.sizes, curve.times, strict=True) if size > 0]
        source = ColumnDataSource(
            {
                "x": sizes,
                "y": [_us(time.value) for time in times],
                "size": [format_bytes(size) for size in sizes],
                "text": [interval_text(time) for time in times],
            }
        )
        dots.append(
            plot.scatter(
                "x",
                "y",
                source=source,
                size=5,
                color=style["color"],
                legend_label=curve.mechanism,
                name=curve.mechanism,
            )
        )
        for segment in curve.hockney.segments:
            low, high = max(segment.smallest, sizes[0]), segment.largest
            if high <= low:
                continue
            x = [low * (high / low) ** (i / _FIT_POINTS) for i in range(_FIT_POINTS + 1)]
            y = [segment.startup.value + segment.per_byte.value * each for each in x]
            points = [(a, _us(b)) for a, b in zip(x, y, strict=True) if b > 0]
            plot.line([a for a, _ in points], [b for _, b in points], **style)
    ticks = [1 << power for power in range(4, 21, 4)]
    plot.xaxis.ticker = FixedTicker(ticks=ticks)
    plot.xaxis.major_label_overrides = {tick: format_bytes(tick) for tick in ticks}
    plot.hover.renderers = dots
    style_legend(plot)
    return plot


def _line_style(number: int, name: str) -> dict[str, Any]:
    from gnomon.views.report.plots import COLOURS

    return {
        "line_width": 1.6,
        "color": COLOURS[number % len(COLOURS)],
        "line_dash": _DASHES[number // len(COLOURS) % len(_DASHES)],
        "legend_label": name,
        "name": name,
    }


def _us(nanoseconds: float) -> float:
    return max(float(nanoseconds), 0.1) / 1000
