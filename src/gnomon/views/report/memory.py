"""Probes of memory as a report: curves with their levels, streams, load, nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gnomon.analysis.memory.model import MemoryResult
from gnomon.units import format_bytes
from gnomon.views.memory import (
    machine_text,
    main_curve,
    memory_tables,
    placement_text,
    rate_text,
)
from gnomon.views.report.page import DataTable, Figure, Page, Section
from gnomon.views.table import Table

if TYPE_CHECKING:
    from bokeh.model import Model

_LEAST_PAIRS = 3
"""Of CPUs, for a picture to tell more than a table."""


def memory_page(result: MemoryResult) -> Page:
    """Return the report of probes of memory."""
    tables = memory_tables(result)
    sections = [
        Section("Latency over size", _curve_lead(result), _curve_parts(result, tables["levels"])),
        Section(
            "Bandwidth",
            ("All threads together, each with its own part of the arrays; best of some rounds.",),
            (
                Figure("Best bandwidth of each stream.", partial(_bandwidth_plot, result)),
                DataTable.of_table(tables["bandwidth"]),
            ),
        ),
        Section(
            "A line between cores",
            ("How long a line takes from the CPU that wrote it to one that waits for it.",),
            _core_parts(result, tables),
        ),
        Section(
            "Cores",
            _cores_lead(result),
            tuple(
                DataTable.of_table(tables[name])
                for name in ("classes", "shared cores")
                if tables[name].rows
            ),
        ),
        Section(
            "Latency under load",
            (f"CPU {result.cpu} chases pointers while others read.",),
            (
                Figure(
                    "Latency over what the others read; a line joins best values.",
                    partial(_loaded_plot, result),
                ),
                DataTable.of_table(tables["loaded"]),
            ),
        ),
        Section(
            "Between NUMA nodes",
            (_verified_text(result),),
            _node_parts(result, tables),
        ),
    ]
    there = (
        result.curves,
        result.bandwidth,
        result.cores,
        result.kinds,
        result.loaded,
        result.matrix,
    )
    return Page(
        title="Memory of this machine",
        subtitle=f"{machine_text(result)} · {result.created}",
        sections=tuple(s for s, found in zip(sections, there, strict=True) if found),
        facts=(
            ("load", str(result.load)),
            ("CPUs", ", ".join(map(str, result.cpus))),
            ("placement", placement_text(result)),
        ),
        warnings=(*result.warnings, *result.notes),
    )


def _curve_lead(result: MemoryResult) -> tuple[str, ...]:
    curve = main_curve(result)
    if curve is None:
        return ()
    found = [
        f"{each.name} holds about {format_bytes(each.measured)}"
        + (f" ({format_bytes(each.reported)} reported)" if each.reported else "")
        for each in result.measured
        if each.measured
    ]
    text = "; ".join(found) if found else "no cache shows in this range of sizes"
    return (f"{text[0].upper()}{text[1:]}.",)


def _curve_parts(result: MemoryResult, levels: Table) -> tuple[DataTable | Figure, ...]:
    figure = Figure(
        "Best latency of a load over the size of memory that is gone over. Dashed lines: sizes "
        "at which half of the loads miss a level, by the curve with the largest pages. Dotted "
        "lines: sizes of caches that the kernel reports.",
        partial(_curve_plot, result),
    )
    return figure, DataTable.of_table(levels)


def _core_parts(
    result: MemoryResult, tables: Mapping[str, Table]
) -> tuple[DataTable | Figure, ...]:
    table = DataTable.of_table(tables["cores"])
    if len(result.cores) < _LEAST_PAIRS:
        return (table,)
    return Figure(
        "Best time of a line between two CPUs, in ns.", partial(_core_heat, result)
    ), table


def _core_heat(result: MemoryResult) -> Model:
    from gnomon.views.report.heat import heat_map

    times = {(pair.first, pair.second): pair.latency.least for pair in result.cores}
    times |= {(second, first): ns for (first, second), ns in times.items()}
    cpus = sorted({cpu for pair in times for cpu in pair})
    names = [str(cpu) for cpu in cpus]
    cells = [[times.get((row, column)) for column in cpus] for row in cpus]
    return heat_map(("CPU", names), ("other CPU", names), cells, _texts(cells))


def _texts(cells: Sequence[Sequence[float | None]]) -> list[list[str]]:
    return [["" if cell is None else f"{cell:.3g}" for cell in row] for row in cells]


def _cores_lead(result: MemoryResult) -> tuple[str, ...]:
    if result.siblings:
        return ()
    return ("No core has several hardware threads here, as far as the kernel shows.",)


def _node_parts(
    result: MemoryResult, tables: Mapping[str, Table]
) -> tuple[DataTable | Figure, ...]:
    names = ("latencies between nodes", "bandwidth between nodes", "reported")
    shown = [DataTable.of_table(tables[name]) for name in names if tables[name].rows]
    if len(result.matrix) == 1:
        return tuple(shown)
    figures = [
        Figure(f"Best {what}.", partial(_node_heat, result, what))
        for what in ("latency in ns", "read bandwidth in GB/s")
    ]
    return (*figures, *shown)


def _node_heat(result: MemoryResult, what: str) -> Model:
    from gnomon.views.report.heat import heat_map

    found = {
        (pair.cpus, pair.memory): pair.latency.least
        if what.startswith("latency")
        else pair.rates.most / 1e9
        for pair in result.matrix
    }
    sources = sorted({source for source, _ in found}, reverse=True)
    targets = sorted({target for _, target in found})
    cells = [[found.get((source, target)) for target in targets] for source in sources]
    return heat_map(
        ("memory of node", [str(target) for target in targets]),
        ("CPUs of node", [str(source) for source in sources]),
        cells,
        _texts(cells),
    )


def _verified_text(result: MemoryResult) -> str:
    bad = [pair for pair in result.matrix if not pair.verified]
    if not bad:
        return "The kernel confirms that all memory was on the node that it should be on."
    names = ", ".join(f"{pair.cpus}->{pair.memory}" for pair in bad)
    return f"Where memory was is not confirmed for {names}."


def _curve_plot(result: MemoryResult) -> Model:
    from bokeh.models import ColumnDataSource, FixedTicker
    from bokeh.models.annotations import Label, Span

    from gnomon.views.report.plots import COLOURS, figure, plain_log_axis, style_legend

    plot = figure(
        "size",
        "latency in ns",
        height=380,
        x_axis_type="log",
        y_axis_type="log",
        y_range=(1, 1000),
        tooltips=[("size", "@text"), ("best", "@y{0.00} ns"), ("median", "@median{0.00} ns")],
    )
    dots: list[Any] = []
    for number, curve in enumerate(result.curves):
        source = ColumnDataSource(
            {
                "x": [point.size for point in curve.points],
                "y": [point.latency.least for point in curve.points],
                "median": [point.latency.median for point in curve.points],
                "text": [format_bytes(point.size) for point in curve.points],
            }
        )
        style: dict[str, Any] = {
            "color": COLOURS[number],
            "legend_label": f"pages of {format_bytes(curve.page)}",
        }
        plot.line("x", "y", source=source, line_width=2, **style)
        dots.append(plot.scatter("x", "y", source=source, size=5, **style))
    main = main_curve(result)
    assert main is not None
    for ramp in main.plateaus.ramps:
        plot.add_layout(
            Span(location=ramp.size, dimension="height", line_color=COLOURS[5], line_dash="dashed")
        )
    for cache in result.caches:
        plot.add_layout(
            Span(location=cache.size, dimension="height", line_color=COLOURS[3], line_dash="dotted")
        )
    sizes = [point.size for point in main.points]
    edges = [sizes[0], *(ramp.size for ramp in main.plateaus.ramps), sizes[-1]]
    latencies = [point.latency.least for curve in result.curves for point in curve.points]
    plot.y_range.update(start=min(latencies) / 1.3, end=max(latencies) * 4)
    for name, level, (left, right) in zip(
        main.names, main.plateaus.levels, pairwise(edges), strict=True
    ):
        plot.add_layout(
            Label(
                x=math.sqrt(left * right),
                y=max(latencies) * 3.5,
                text=f"{name}\n{level.latency:.3g} ns",
                text_align="center",
                text_baseline="top",
                text_color=COLOURS[5],
                text_font_size="12px",
            )
        )
    ticks = [1 << p for p in range(10, 50) if sizes[0] <= 1 << p <= sizes[-1]]
    every = -(-len(ticks) // 8)
    plot.xaxis.ticker = FixedTicker(ticks=ticks[::every])
    plot.xaxis.major_label_overrides = {tick: format_bytes(tick) for tick in ticks}
    plain_log_axis(plot.yaxis)
    plot.hover.renderers = dots
    style_legend(plot)
    return plot


def _bandwidth_plot(result: MemoryResult) -> Model:
    from bokeh.models import ColumnDataSource, FactorRange

    from gnomon.views.report.plots import COLOURS, figure, from_zero

    counts = list(dict.fromkeys(len(row.cpus) for row in result.bandwidth))
    factors = [(str(row.stream), str(len(row.cpus))) for row in result.bandwidth]
    factors.sort(key=lambda pair: [str(row.stream) for row in result.bandwidth].index(pair[0]))
    rates = {(str(row.stream), str(len(row.cpus))): row.rates for row in result.bandwidth}
    source = ColumnDataSource(
        {
            "x": factors,
            "y": [rates[pair].most / 1e9 for pair in factors],
            "text": [rate_text(rates[pair].most) for pair in factors],
            "median": [rate_text(rates[pair].median) for pair in factors],
            "colour": [COLOURS[counts.index(int(pair[1])) % len(COLOURS)] for pair in factors],
        }
    )
    plot = figure(
        "stream, threads",
        "GB/s",
        tooltips=[("best", "@text"), ("median", "@median")],
        x_range=FactorRange(factors=factors),
        y_range=from_zero(),
    )
    plot.vbar(x="x", top="y", width=0.8, source=source, color="colour")
    for axis in plot.xaxis:
        axis.update(group_text_color=COLOURS[5])
    plot.xgrid.grid_line_color = None
    return plot


def _loaded_plot(result: MemoryResult) -> Model:
    from bokeh.models import ColumnDataSource

    from gnomon.views.report.plots import COLOURS, figure, from_zero, style_legend

    rows = sorted(result.loaded, key=lambda row: row.bandwidth)
    source = ColumnDataSource(
        {
            "x": [row.bandwidth / 1e9 for row in rows],
            "y": [row.latency.least for row in rows],
            "median": [row.latency.median for row in rows],
            "duty": [f"{row.duty:.0%}" for row in rows],
        }
    )
    plot = figure(
        "GB/s that others read",
        "latency in ns",
        tooltips=[("others busy", "@duty"), ("best", "@y{0.0} ns"), ("median", "@median{0.0} ns")],
        y_range=from_zero(),
    )
    plot.line("x", "y", source=source, color=COLOURS[0], line_width=2)
    dots = plot.scatter("x", "y", source=source, color=COLOURS[0], size=7, legend_label="best")
    plot.scatter(
        "x", "median", source=source, color=COLOURS[1], size=7, alpha=0.7, legend_label="median"
    )
    plot.hover.renderers = [dots]
    style_legend(plot)
    return plot
