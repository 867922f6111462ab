"""Locality as a part of a report: regions over time, pages, who accesses memory of which node."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.units import format_bytes
from gnomon.views.locality import asking, flow_lines, region_names, summary
from gnomon.views.report.objects import object_section
from gnomon.views.report.page import Cell, DataTable, Figure, Section

if TYPE_CHECKING:
    from bokeh.model import Model

    from gnomon.analysis.locality.model import LocalityResult

_MOST_PAGES = 400
_MOST_NODES = 64


def locality_sections(result: LocalityResult) -> tuple[Section, ...]:
    """Return the sections that locality makes of a report."""
    lead = (f"{summary(result)}: {result.origin.seen}.",)
    if not result.flow.accesses:
        return (Section("Accesses", lead),)
    sections = [
        Section(
            "Regions over time",
            lead,
            (
                Figure(
                    "How densely each region was accessed; a record is spread over the time from "
                    "its counter's allocation to its flush.",
                    partial(_heat, result),
                ),
            ),
        )
    ]
    if result.objects:
        sections.append(object_section(result, asking(result)))
    if len(result.pages):
        sections.append(
            Section(
                "Pages",
                (),
                (
                    Figure(
                        f"Accesses to each page{_by_whom(result)}, in order of address"
                        + (
                            f"; the {_MOST_PAGES} with most"
                            if len(result.pages) > _MOST_PAGES
                            else ""
                        )
                        + ".",
                        partial(_bars, result),
                    ),
                ),
                (_page_table(result),),
                "All pages that were counted by themselves",
            )
        )
    if len(result.wide):
        sections.append(Section("Ranges over several pages", (), (_wide_table(result),)))
    if result.static:
        sections.append(Section("Static counters", (), (_static_table(result),)))
    if result.mappings:
        sections.append(Section("Mappings", (), (_mapping_table(result),)))
    if result.origin.asker == "node" and 1 < result.origin.nodes <= _MOST_NODES:
        sections.append(Section("Who accesses memory of which node", (), (_path_table(result),)))
    sections.append(Section("What the counters cost", tuple(f"{t}." for t in flow_lines(result))))
    return tuple(sections)


def _heat(result: LocalityResult) -> Model:
    import numpy as np
    from bokeh.models import ColumnDataSource, DataRange1d, LinearColorMapper
    from bokeh.models.annotations import ColorBar
    from bokeh.palettes import Viridis256

    from gnomon.views.report.plots import figure

    regions = result.regions
    names = region_names(regions)[::-1]
    size = (regions.end - regions.start).astype(np.float64)[:, None]
    step = np.diff(regions.edges_ns)[None, :]
    density = regions.accesses / np.maximum(size, 1) * 4096 / step * 1e3
    unit, per = ("accesses so far", 1.0) if result.origin.time_is_order else ("time in ms", 1e6)
    plot = figure(
        unit,
        "region",
        height=max(240, 16 * len(names) + 90),
        y_range=names,
        x_range=DataRange1d(range_padding=0),
        tooltips=[
            ("region", "@name to @end, @size"),
            ("from", "@left{0.[000]}"),
            ("accesses", "@accesses{0,0.[0]}"),
        ],
    )
    rows, slices = density.shape
    root = np.sqrt(density)
    top = float(root.max()) or 1.0
    mapper = LinearColorMapper(palette=Viridis256, low=0, high=top)
    cells: dict[str, Any] = {
        "name": [names[rows - 1 - row] for row in range(rows) for _ in range(slices)],
        "end": [f"{int(regions.end[row]):#x}" for row in range(rows) for _ in range(slices)],
        "size": [
            format_bytes(int(regions.end[row] - regions.start[row]))
            for row in range(rows)
            for _ in range(slices)
        ],
        "left": np.tile(regions.edges_ns[:-1] / per, rows),
        "right": np.tile(regions.edges_ns[1:] / per, rows),
        "accesses": regions.accesses.reshape(-1),
        "root": root.reshape(-1),
    }
    plot.hbar(
        y="name",
        left="left",
        right="right",
        height=1.0,
        source=ColumnDataSource(cells),
        fill_color={"field": "root", "transform": mapper},
        line_color={"field": "root", "transform": mapper},  # or the page shows through
    )
    time = "accesses" if result.origin.time_is_order else "µs"
    plot.add_layout(
        ColorBar(
            color_mapper=mapper,
            title=f"√(accesses / 4 KiB / {time})",
            background_fill_alpha=0,
            title_text_color="#8a93a1",
            major_label_text_color="#8a93a1",
        ),
        "right",
    )
    plot.grid.grid_line_color = None
    return plot


def _by_whom(result: LocalityResult) -> str:
    return f" by {result.origin.asker}" if asking(result) else ""


def _bars(result: LocalityResult) -> Model:
    from bokeh.models import ColumnDataSource, DataRange1d

    from gnomon.views.report.plots import COLOURS, figure, from_zero, plain_numbers, style_legend

    pages = result.pages
    totals = pages.accesses.sum(axis=1)
    chosen = sorted(totals.argsort(kind="stable")[::-1][:_MOST_PAGES])
    shown = asking(result)
    names = [f"{result.origin.asker} {node}" for node in shown]
    by = [pages.accesses[:, node] for node in shown]
    if not shown:  # who asked is not known
        names, by = ["accesses"], [totals]
    data: dict[str, Any] = {
        "at": list(range(len(chosen))),
        "address": [f"{int(pages.page[i]) * result.origin.page_bytes:#x}" for i in chosen],
        "home": [str(int(pages.home[i])) if pages.home[i] >= 0 else "unknown" for i in chosen],
        "writes": [int(pages.writes[i].sum()) for i in chosen],
        "total": [int(totals[i]) for i in chosen],
        **{name: [int(counts[i]) for i in chosen] for name, counts in zip(names, by, strict=True)},
    }
    plot = figure(
        "pages in order of address",
        "accesses",
        x_range=DataRange1d(range_padding=0.01),
        y_range=from_zero(),
        tooltips=[
            ("address", "@address"),
            ("home", "@home"),
            ("accesses", "@total{0,0}"),
            ("writes", "@writes{0,0}"),
        ],
    )
    plot.vbar_stack(
        names,
        x="at",
        width=0.9,
        source=ColumnDataSource(data),
        color=[COLOURS[i % len(COLOURS)] for i in range(len(names))],
        legend_label=names,
    )
    plot.yaxis.formatter = plain_numbers()
    plot.xaxis.major_label_text_font_size = "0pt"
    style_legend(plot)
    return plot


def _page_table(result: LocalityResult) -> DataTable:
    pages, shown = result.pages, asking(result)
    headings = [
        "page",
        "address",
        "home",
        *(f"{result.origin.asker} {node}" for node in shown),
        "writes",
        "accesses",
    ]
    totals = pages.accesses.sum(axis=1)
    order = totals.argsort(kind="stable")[::-1][:_MOST_PAGES]
    most = int(totals.max())
    rows = [
        (
            Cell(f"{int(pages.page[i]):,}", float(pages.page[i])),
            Cell(f"{int(pages.page[i]) * result.origin.page_bytes:#x}"),
            Cell(str(int(pages.home[i])) if pages.home[i] >= 0 else "", float(pages.home[i])),
            *(_count(int(pages.accesses[i, node])) for node in shown),
            _count(int(pages.writes[i].sum())),
            Cell(f"{int(totals[i]):,}", float(totals[i]), bar=float(totals[i]) / most),
        )
        for i in order
    ]
    right = frozenset({0, *range(2, len(headings))})
    return DataTable.of(headings, rows, right=right)


def _wide_table(result: LocalityResult) -> DataTable:
    wide = result.wide
    totals = wide.accesses.sum(axis=1)
    rows = [
        (
            Cell(f"{int(wide.start[i]):#x}", float(wide.start[i])),
            Cell(f"{int(wide.end[i]):#x}", float(wide.end[i])),
            Cell(
                format_bytes(int(wide.end[i] - wide.start[i])), float(wide.end[i] - wide.start[i])
            ),
            _count(int(wide.writes[i].sum())),
            _count(int(totals[i])),
        )
        for i in totals.argsort(kind="stable")[::-1][:_MOST_PAGES]
    ]
    caption = "Ranges that one counter covered; which of their pages were accessed is not known."
    headings = ("from", "to", "size", "writes", "accesses")
    return DataTable.of(headings, rows, caption, frozenset({2, 3, 4}))


def _static_table(result: LocalityResult) -> DataTable:
    rows = [
        (
            Cell(f"{each.start:#x}", float(each.start)),
            Cell(f"{each.end:#x}", float(each.end)),
            Cell(each.name),
            Cell("") if each.writes is None else _count(int(each.writes.sum())),
            _count(int(each.accesses.sum())),
        )
        for each in result.static
    ]
    headings = ("from", "to", "variable", "writes", "accesses")
    return DataTable.of(headings, rows, right=frozenset({3, 4}))


def _mapping_table(result: LocalityResult) -> DataTable:
    rows = [
        (
            Cell(use.name or "no name"),
            Cell(f"{use.start:#x}", float(use.start)),
            Cell(format_bytes(use.end - use.start), float(use.end - use.start)),
            Cell(format_bytes(use.referenced), float(use.referenced)),
            _count(use.looks),
            _count(use.written),
        )
        for use in result.mappings
    ]
    caption = (
        "Memory that was read or written between two looks: of reads the kernel tells no more "
        "than how much of a mapping was referenced."
    )
    headings = ("mapping", "address", "size", "referenced at once", "looks", "page writes")
    return DataTable.of(headings, rows, caption, frozenset({2, 3, 4, 5}))


def _path_table(result: LocalityResult) -> DataTable:
    nodes, paths = result.origin.nodes, result.paths
    unknown = [nodes] if paths[:, nodes].sum() else []
    most = max(int(paths.max()), 1)
    rows = [
        (
            Cell(f"from {row}" if row < nodes else "from unknown"),
            *(
                Cell(
                    f"{int(paths[row, c]):,}", float(paths[row, c]), bar=float(paths[row, c]) / most
                )
                for c in (*range(nodes), *unknown)
            ),
            _count(int(result.write_paths[row].sum())),
        )
        for row in range(nodes + bool(paths[nodes].sum()))
    ]
    heads = ("", *(f"to {c}" for c in range(nodes)), *("to unknown" for _ in unknown), "writes")
    return DataTable(heads, tuple(rows), right=frozenset(range(1, len(heads))))


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", float(number))
