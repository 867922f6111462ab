"""How locality looks: regions over time, objects and pages by who accesses them, what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from gnomon import units
from gnomon.analysis.locality.result import LocalityResult, PageHistogram, WideRanges
from gnomon.views import blocks as b

_MOST_BARS = 400  # pages of the chart
_MOST_NODES = 16  # whose matrix stands unfolded


def describe(result: LocalityResult) -> Iterator[b.Block]:
    """Yield what there is to see of locality, from the result alone."""
    origin, flow = result.origin, result.flow
    parts = [f"{flow.accesses:,} accesses"]
    if len(result.pages):
        parts.append(f"{len(result.pages):,} pages of {units.number(origin.page_bytes, 'B')}")
    if len(result.wide):
        parts.append(f"{len(result.wide):,} wider ranges")
    what = " ".join(origin.what.split())  # a command may have lines of its own
    where = f" on {origin.machine}" * bool(origin.machine)
    sampled = "sampled " * (origin.kind == "sampled")
    time = "" if origin.time_is_order else f" in {units.brief(result.duration_ns, 'ns')}"
    yield b.Headline(f"{what}{where}: {sampled}{', '.join(parts)}{time}", (origin.seen,))
    if not flow.accesses:
        return
    yield from _most_used(result)
    yield from _regions(result)
    yield from _objects(result)
    yield from _pages(result)
    yield from _ranges(result)
    yield from _mappings(result)
    yield from _paths(result)
    yield b.Section("Overhead of the counters")
    yield _cost(result)


def _most_used(result: LocalityResult) -> Iterator[b.Finding]:
    """Yield which object has most of the accesses."""
    most = next((use for use in result.objects if use.size and use.total), None)
    if most is not None:
        share = most.total / sum(use.total for use in result.objects)
        text = f"{most.name} has {units.brief(share, '%')} of the accesses"
        if most.remote is not None:
            text += f", {units.brief(most.remote / most.total, '%')} of them from another node"
        yield b.Finding(f"{text}.")


def _regions(result: LocalityResult) -> Iterator[b.Block]:
    """Yield when each region was accessed how densely; a row a region."""
    regions = result.regions
    columns = (regions.start, regions.end, regions.accesses, regions.shades)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    names = tuple(f"{row[0]:#x} {units.number(row[1] - row[0], 'B')}" for row in rows)
    middles = ((regions.edges_ns[:-1] + regions.edges_ns[1:]) / 2).tolist()
    cells = [
        (x, name, shade)
        for name, row in zip(names, rows, strict=True)
        for x, shade in zip(middles, row[3], strict=True)
        if shade > 0
    ]
    x, y, shades = zip(*cells, strict=True) if cells else ((), (), ())
    ordered = result.origin.time_is_order
    yield b.Chart.of(
        "Access density of each region over time (shade: square root of accesses per byte); a "
        "record is spread over the time from its counter's allocation to its flush.",
        b.Axis("accesses so far" if ordered else "time", "" if ordered else "ns", zero=True),
        b.Axis("region", names=names),
        b.Layer(b.Kind.HEAT, x, y, shades=shades),
        alone=True,
    )
    table = b.Table.of(
        rows,
        b.Column("region", lambda row: f"{row[0]:#x}"),
        b.Column("size", lambda row: row[1] - row[0], "B"),
        b.Column("accesses", lambda row: round(sum(row[2]))),
        b.Column("over time", lambda row: b.Cell(course=tuple(row[2])), drop=1),
        name="regions",
    )
    yield b.Fold(f"{len(names)} regions with their numbers of accesses", (table,))


def _first(table: b.Table, most: int) -> Iterator[b.Block]:
    """Yield the first rows, also in a pipe: there may be thousands; the rest is folded."""
    if 0 < len(table.rows) <= most:
        yield table
    elif table.rows:
        if most:
            caption = f"{table.caption} Shown: {most} of {len(table.rows):,}."
            yield table._replace(
                rows=table.rows[:most], caption=caption, name=f"first {table.name}"
            )
        yield b.Fold(f"all {len(table.rows):,} {table.name}", (table,))


def _asking(result: LocalityResult, place: int) -> list[b.Column]:
    """Return a column per node or thread that asked much; a row has their accesses at a place."""
    return [
        b.Column(f"{result.origin.asker} {n}", lambda row, n=n: row[place][n], drop=2)  # type: ignore[misc]
        for n in result.askers
    ]


def _objects(result: LocalityResult) -> Iterator[b.Block]:
    total = max(sum(use.total for use in result.objects), 1)
    table = b.Table.of(
        ((use, use.accesses.tolist(), use.total) for use in result.objects),
        b.Column("object", lambda row: row[0].name, flex=True),
        b.Column("from", lambda row: row[0].where or row[0].kind * (row[0].size > 0), drop=4),
        b.Column("size", lambda row: row[0].size or None, "B", drop=3),
        *_asking(result, 1),
        b.Column("remote", lambda row: row[0].remote, drop=1) if result.tells_homes else None,
        b.Column("writes", lambda row: row[0].writes, drop=1),
        b.Column("accesses", itemgetter(2)),
        b.Column("share", lambda row: row[2] / total, "%", bar=True),
        caption="Accesses to each object. Variables are named by the program's symbols, "
        "allocations by the line that made them; reused memory counts for the "
        "last owner.",
        name="objects",
    )
    yield from _first(table, result.top)


def _ranked(held: PageHistogram | WideRanges, *names: str) -> list[Any]:
    """Return rows of arrays, writes and accesses last, those with most accesses first."""
    totals = held.accesses.sum(axis=1)
    order = totals.argsort(kind="stable")[::-1]
    columns = (*(getattr(held, name) for name in names), held.writes.sum(axis=1), totals)
    return list(zip(*(column[order].tolist() for column in columns), strict=True))


def _pages(result: LocalityResult) -> Iterator[b.Block]:
    """Yield pages by who accesses them: as bars in order of address, and those with most first."""
    size, by = result.origin.page_bytes, result.origin.asker
    rows = _ranked(result.pages, "page", "home", "accesses")
    bars = sorted(rows[:_MOST_BARS])
    series = [(f"{by} {n}", tuple(row[2][n] or None for row in bars)) for n in result.askers]
    if not series:  # who asked is not known
        series = [("accesses", tuple(row[4] for row in bars))]
    most = f"; the {len(bars)} most accessed" * (len(bars) < len(rows))
    hover = (("address", tuple(f"{row[0] * size:#x}" for row in bars)),)
    place = tuple(range(len(bars)))
    if rows:
        yield b.Chart.of(
            f"Accesses to each page{f' by {by}' * bool(result.askers)}, in order of address{most}.",
            b.Axis("pages in order of address"),
            b.Axis("accesses", zero=True),
            *(
                b.Layer(b.Kind.BARS, place, values, name, stack="pages", hover=hover)
                for name, values in series
            ),
        )
    table = b.Table.of(
        rows,
        b.Column("page", itemgetter(0), drop=5),
        b.Column("address", lambda row: f"{row[0] * size:#x}"),
        b.Column("home", lambda row: row[1] if row[1] >= 0 else b.Cell(status="unknown")),
        *_asking(result, 2),
        b.Column("writes", itemgetter(3), drop=1),
        b.Column("accesses", itemgetter(4), bar=True),
        caption="Pages with a counter of their own, most accesses first.",
        name="pages",
    )
    yield from _first(table, result.top)


def _ranges(result: LocalityResult) -> Iterator[b.Block]:
    """Yield wide ranges, and those of static counters."""
    columns = (
        b.Column("from", lambda row: f"{row[0]:#x}"),
        b.Column("to", lambda row: f"{row[1]:#x}", drop=1),
        b.Column("size", lambda row: row[1] - row[0], "B"),
        b.Column("writes", itemgetter(2)),
        b.Column("accesses", itemgetter(3)),
    )
    if len(result.wide):
        caption = "Ranges covered by one counter; which of their pages were accessed is unknown."
        rows = _ranked(result.wide, "start", "end")
        wide = b.Table.of(rows, *columns, caption=caption, name="ranges")
        yield b.Fold(f"{len(rows)} ranges over several pages", (wide,))
    if result.static:
        counts = [
            (
                each.start,
                each.end,
                None if each.writes is None else int(each.writes.sum()),
                int(each.accesses.sum()),
                each.name,
            )
            for each in result.static
        ]
        name = b.Column("variable", itemgetter(4)) if any(row[4] for row in counts) else None
        yield b.Table.of(counts, name, *columns, caption="Static counters.", name="static")


def _mappings(result: LocalityResult) -> Iterator[b.Block]:
    table = b.Table.of(
        result.mappings,
        b.Column("mapping", lambda use: use.name or "no name", flex=True),
        b.Column("address", lambda use: f"{use.start:#x}"),
        b.Column("size", lambda use: use.end - use.start, "B", drop=1),
        b.Column("referenced per scan", "referenced", "B"),
        b.Column("scans", "looks", drop=2),
        b.Column("page writes", "written"),
        caption="Mappings that were read or written between two scans; for reads the kernel "
        "reports only how much of a mapping was referenced.",
        name="mappings",
    )
    yield from _first(table, result.top)


def _paths(result: LocalityResult) -> Iterator[b.Block]:
    """Yield who accesses memory of which node."""
    nodes, paths = result.origin.nodes, result.paths
    if result.origin.asker != "node" or nodes < 2:
        return
    names = [*map(str, range(nodes)), "unknown"]
    down, across = (nodes + bool(part.sum()) for part in (paths[nodes], paths[:, nodes]))
    accesses, writes = (
        b.Table.matrix(
            "from \\ to",
            names[:across],
            values[:down, :across].tolist(),
            down=names[:down],
            caption=caption,
            name=name,
        )
        for values, name, caption in (
            (paths, "paths", "Accesses from each node (row) to the memory of each node (column)."),
            (
                result.write_paths,
                "writes",
                "Writes only, from each node (row) to each node (column).",
            ),
        )
    )
    yield accesses if nodes <= _MOST_NODES else b.Fold(accesses.caption, (accesses,))
    yield b.Fold(writes.caption, (writes,))


def _cost(result: LocalityResult) -> b.Facts:
    """Return what the counters cost, and how they were set up."""
    flow, origin, settings = result.flow, result.origin, result.settings

    def size(name: str) -> str:
        return units.number(int(settings.get(name, 0)), "B")

    each = f"{settings.get('counters', '')} {settings.get('scheme', '')}, ranges up to "
    each += size("range")
    if settings.get("scheme") == "hybrid" and settings.get("range") == settings.get("page"):
        each += ", streams beyond"
    timed = not origin.time_is_order and result.duration_ns > 0
    rate = b.Cell(flow.records * 16e9 / result.duration_ns, "B/s") if timed else None
    rows = (
        ("counters" + f" per {origin.asker}" * (origin.asker != "process"), each),
        ("records", flow.records),
        ("records per million accesses", round(flow.records_per_million, 1)),
        ("size of the records", b.Cell(flow.records * 16, "B")),
        ("records read at the end", flow.at_end),
        ("extensions of coverage", flow.extensions),
        ("rate of records", rate),
        ("ring buffer", f"{size('ring')}, full {flow.signals:,} times"),
        ("peak records in the ring", flow.most_in_ring),
        ("records lost", flow.lost),
    )
    return b.Facts(tuple(row for row in rows if row[1] is not None))
