"""How locality looks in a terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.units import format_bytes, format_duration, format_rate
from gnomon.views.objects import print_objects
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.analysis.locality.model import LocalityResult, RegionMap, StaticCount

TOP = 12
_SHADES = " ·░▒▓█"
_BAR = 24
_MOST_COLUMNS = 8  # of nodes in a table


def print_locality(result: LocalityResult, stream: TextIO, *, top: int = TOP) -> None:
    """Write the map of regions over time, the pages, who accesses what, and what it cost."""
    label = "".join(f"{word.upper()} " for word in result.labels)
    where = f" on {result.origin.machine}" if result.origin.machine else ""
    what = " ".join(result.origin.what.split())  # a command may have lines of its own
    stream.write(f"{label}{what}{where}: {summary(result)}\n")
    if not result.flow.accesses:
        return
    stream.write(f"  {result.origin.seen}\n\n")
    stream.writelines(f"  {line}\n" for line in heat_picture(result))
    print_objects(result, stream, asking(result), top=top)
    _print_pages(result, stream, top)
    _print_static(result, stream)
    _print_mappings(result, stream, top)
    _print_paths(result, stream)
    stream.write("\n")
    stream.writelines(f"  {text}\n" for text in flow_lines(result))


def summary(result: LocalityResult) -> str:
    """Return in one line how many accesses went where."""
    flow = result.flow
    texts = [f"{flow.accesses:,} accesses"]
    if len(result.pages):
        texts.append(f"{len(result.pages):,} pages of {format_bytes(result.origin.page_bytes)}")
    if len(result.wide):
        texts.append(f"{len(result.wide):,} wider ranges")
    return ", ".join(texts) + ("" if result.origin.time_is_order else f" in {_time(result)}")


def heat_picture(result: LocalityResult) -> list[str]:
    """Return a line for each region, darker where and when it was accessed more."""
    regions = result.regions
    names = region_names(regions)
    width = max(map(len, names), default=0)
    totals = regions.accesses.sum(axis=1)
    shades = shade(regions)
    heading = f"over {_time(result)}"
    lines = [f"{'region':<{width}}  {'size':<9}  {heading:<{shades.shape[1]}}  accesses"]
    for row, name in enumerate(names):
        size = format_bytes(int(regions.end[row] - regions.start[row]))
        cells = "".join(_SHADES[level] for level in shades[row])
        lines.append(f"{name:<{width}}  {size:<9}  {cells}  {round(totals[row]):,}")
    return lines


def shade(regions: RegionMap) -> NDArray[np.int64]:
    """Return how dark each cell is: by the density of accesses, on a scale of roots."""
    import numpy as np

    size = (regions.end - regions.start).astype(np.float64)[:, None]
    density = regions.accesses / np.maximum(size, 1)
    top = density.max() if density.size else 0.0
    if top <= 0:
        return np.zeros(density.shape, np.int64)
    steps = len(_SHADES) - 1
    levels: NDArray[np.int64] = np.ceil(np.sqrt(density / top) * steps).astype(np.int64)
    return levels


def region_names(regions: RegionMap) -> list[str]:
    """Return where each region begins, as an address."""
    return [f"{int(start):#x}" for start in regions.start]


def flow_lines(result: LocalityResult) -> list[str]:
    """Return what the counters cost, in words."""
    flow, settings = result.flow, result.settings
    each = f"{settings['counters']} {settings['scheme']} counters"
    if result.origin.asker != "process":
        each += f" for each {result.origin.asker}"
    covering = f"ranges up to {format_bytes(int(settings['range']))}"
    if settings["scheme"] == "hybrid" and settings["range"] == settings["page"]:
        covering += ", streams beyond"
    lines = [
        f"{each}, {covering}: {flow.records:,} records "
        f"({number_text(flow.records_per_million)} a million accesses, "
        f"{format_bytes(flow.records * 16)}), {flow.at_end:,} of them read at the end",
        f"{flow.extensions:,} extension{'s' * (flow.extensions != 1)} of coverage",
    ]
    if not result.origin.time_is_order and result.duration_ns > 0:
        rate = flow.records * 16e9 / result.duration_ns
        lines[1] += f"; {format_rate(rate)} of records"
    ring = f"ring buffer of {format_bytes(int(settings['ring']))}: "
    lines.append(
        ring + f"at most {flow.most_in_ring:,} records in it, full {flow.signals:,} times, "
        f"{flow.lost:,} records lost"
    )
    return lines


def _print_pages(result: LocalityResult, stream: TextIO, top: int) -> None:
    pages = result.pages
    if not len(pages) or top < 1:
        return
    totals = pages.accesses.sum(axis=1)
    order = totals.argsort(kind="stable")[::-1][:top]
    shown = asking(result)
    named = [Column(f"{result.origin.asker} {node}", right=True) for node in shown]
    table = Table(
        (
            Column("page", right=True),
            Column("address"),
            Column("home", right=True),
            *named,
            Column("writes", right=True),
            Column("accesses", right=True),
            Column(""),
        )
    )
    most = int(totals[order[0]])
    for row in order:
        count = int(totals[row])
        home = int(pages.home[row])
        table.add(
            f"{int(pages.page[row]):,}",
            f"{int(pages.page[row]) * result.origin.page_bytes:#x}",
            str(home) if home >= 0 else "",
            *(f"{int(pages.accesses[row, node]):,}" for node in shown),
            f"{int(pages.writes[row].sum()):,}",
            f"{count:,}",
            "█" * max(1, round(_BAR * count / most)),
        )
    stream.write(f"\n  the {len(order)} pages of {len(pages):,} with most accesses\n")
    table.print(stream)


def _print_static(result: LocalityResult, stream: TextIO) -> None:
    if not result.static:
        return
    table = Table((Column("static range"), Column("accesses", True), Column("writes", True)))
    for each in result.static:
        table.add(
            range_text(each),
            f"{int(each.accesses.sum()):,}",
            "" if each.writes is None else f"{int(each.writes.sum()):,}",
        )
    stream.write("\n")
    table.print(stream)


def range_text(static: StaticCount) -> str:
    """Return which bytes a static counter counts, with the variable that they are."""
    text = f"{static.start:#x}-{static.end:#x}"
    return f"{static.name} ({text})" if static.name else text


def _print_mappings(result: LocalityResult, stream: TextIO, top: int) -> None:
    if not result.mappings or top < 1:
        return
    table = Table(
        (
            Column("mapping"),
            Column("address"),
            Column("size", True),
            Column("referenced at once", True),
            Column("looks", True),
            Column("page writes", True),
        )
    )
    for use in result.mappings[:top]:
        table.add(
            use.name or "no name",
            f"{use.start:#x}",
            format_bytes(use.end - use.start),
            format_bytes(use.referenced),
            f"{use.looks:,}",
            f"{use.written:,}",
        )
    stream.write("\n  mappings that were read or written, the kernel tells no more of reads\n")
    table.print(stream)


def _print_paths(result: LocalityResult, stream: TextIO) -> None:
    nodes = result.origin.nodes
    if result.origin.asker != "node" or nodes < 2 or nodes > _MOST_COLUMNS:
        return
    unknown = bool(result.paths[:, nodes].sum())
    columns = [*range(nodes), *([nodes] if unknown else [])]
    heads = [f"to {node}" if node < nodes else "to unknown" for node in columns]
    table = Table(
        (Column("from", True), *(Column(head, True) for head in heads), Column("writes", True))
    )
    for row in range(nodes + bool(result.paths[nodes].sum())):
        table.add(
            str(row) if row < nodes else "unknown",
            *(f"{int(result.paths[row, column]):,}" for column in columns),
            f"{int(result.write_paths[row].sum()):,}",
        )
    stream.write("\n  who accesses memory of which node\n")
    table.print(stream)


def asking(result: LocalityResult) -> list[int]:
    """Return the nodes or threads that have a column, those that asked most."""
    totals = result.paths.sum(axis=1)[: result.origin.nodes]
    busy = [int(node) for node in totals.argsort(kind="stable")[::-1] if totals[node]]
    return sorted(busy[:_MOST_COLUMNS])


def locality_as_json(result: LocalityResult) -> dict[str, Any]:
    """Return the result in the form that scripts read."""
    from gnomon.analysis.locality.attribution import use_to_store

    flow, pages, wide, regions = result.flow, result.pages, result.wide, result.regions
    origin = result.origin
    return {
        "what": origin.what,
        "machine": origin.machine,
        "kind": origin.kind,
        "seen": origin.seen,
        "asker": origin.asker,
        "nodes": origin.nodes,
        "page_bytes": origin.page_bytes,
        "time": "order" if origin.time_is_order else "ns",
        "duration": result.duration_ns,
        "exit_status": result.exit_status,
        "labels": list(result.labels),
        "settings": result.settings,
        "flow": {
            "accesses": flow.accesses,
            "static_accesses": flow.static_accesses,
            "records": flow.records,
            "records_per_million": flow.records_per_million,
            "at_end": flow.at_end,
            "extensions": flow.extensions,
            "signals": flow.signals,
            "lost": flow.lost,
            "lost_accesses": flow.lost_accesses,
            "most_in_ring": flow.most_in_ring,
        },
        "pages": [
            {
                "page": int(pages.page[row]),
                "home": _known(int(pages.home[row])),
                "accesses": pages.accesses[row].tolist(),
                "writes": pages.writes[row].tolist(),
            }
            for row in range(len(pages))
        ],
        "wide_ranges": [
            {
                "start": int(wide.start[row]),
                "end": int(wide.end[row]),
                "accesses": wide.accesses[row].tolist(),
                "writes": wide.writes[row].tolist(),
            }
            for row in range(len(wide))
        ],
        "static": [
            {
                "start": each.start,
                "end": each.end,
                "name": each.name,
                "accesses": each.accesses.tolist(),
                "writes": None if each.writes is None else each.writes.tolist(),
            }
            for each in result.static
        ],
        "mappings": [asdict(each) for each in result.mappings],
        "objects": [
            {**use_to_store(each), "remote": each.remote if result.tells_homes else None}
            for each in result.objects
        ],
        "paths": {"accesses": result.paths.tolist(), "writes": result.write_paths.tolist()},
        "regions": {
            "start": [int(each) for each in regions.start],
            "end": [int(each) for each in regions.end],
            "edges": regions.edges_ns.tolist(),
            "accesses": regions.accesses.round(3).tolist(),
        },
    }


def _known(node: int) -> int | None:
    return node if node >= 0 else None


def _time(result: LocalityResult) -> str:
    if result.origin.time_is_order:
        return f"{round(result.duration_ns):,} accesses"
    return format_duration(result.duration_ns)


def number_text(value: float) -> str:
    """Return a number with four digits, or more where it is large."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
