"""How locality looks: regions over time, objects and pages by who accesses them, what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.locality.result import LocalityResult

_MOST_BARS = 400  # pages of the chart
_MOST_NODES = 16  # whose matrices stand unfolded


def describe(result: LocalityResult) -> Iterator[b.Block]:
    """Yield what there is to see of locality, from the result alone."""
    where = f" on {result.origin.machine}" if result.origin.machine else ""
    what = " ".join(result.origin.what.split())  # a command may have lines of its own
    sampled = "sampled " * (result.origin.kind == "sampled")
    yield b.Headline(f"{what}{where}: {sampled}{_summary(result)}", (result.origin.seen,))
    if not result.flow.accesses:
        return
    yield from _most_used(result)
    yield from _regions(result)
    if result.objects:
        yield from _first(_objects(result), result.top)
    yield from _pages(result)
    yield from _ranges(result)
    yield from _paths(result)
    yield b.Section("What the counters cost")
    yield _cost(result)


def _summary(result: LocalityResult) -> str:
    texts = [f"{units.number(result.flow.accesses)} accesses"]
    if len(result.pages):
        size = units.number(result.origin.page_bytes, "B")
        texts.append(f"{units.number(len(result.pages))} pages of {size}")
    if len(result.wide):
        texts.append(f"{units.number(len(result.wide))} wider ranges")
    time = "" if result.origin.time_is_order else f" in {units.brief(result.duration_ns, 'ns')}"
    return ", ".join(texts) + time


def _most_used(result: LocalityResult) -> Iterator[b.Finding]:
    """Yield which object has most of the accesses."""
    most = next((use for use in result.objects if use.size), None)
    total = sum(use.total for use in result.objects)
    if most is None or not total:
        return
    text = f"{most.name} has {units.brief(most.total / total, '%')} of the accesses"
    if most.remote is not None and most.total:
        text += f", {units.brief(most.remote / most.total, '%')} of them from another node"
    yield b.Finding(f"{text}.")


def _regions(result: LocalityResult) -> Iterator[b.Block]:
    """Yield when each region was accessed how densely; a row a region."""
    regions = result.regions
    starts, ends = regions.start.tolist(), regions.end.tolist()
    names = tuple(
        f"{start:#x} {units.number(end - start, 'B')}"
        for start, end in zip(starts, ends, strict=True)
    )
    edges = regions.edges_ns.tolist()
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    cells = [
        (x, name, shade)
        for name, row in zip(names, regions.shades.tolist(), strict=True)
        for x, shade in zip(middles, row, strict=True)
        if shade > 0
    ]
    ordered = result.origin.time_is_order
    axis = b.Axis("accesses so far" if ordered else "time", "" if ordered else "ns", zero=True)
    x, y, shades = zip(*cells, strict=True) if cells else ((), (), ())
    yield b.Chart(
        "How densely each region was accessed over time (shade: root of accesses per byte); a "
        "record is spread over the time from its counter's allocation to its flush.",
        axis,
        b.Axis("region", names=names),
        (b.Layer(b.Kind.HEAT, x, y, shades=shades),),
        alone=True,
    )
    rows = zip(starts, ends, regions.accesses.tolist(), strict=True)
    table = b.Table.of(
        rows,
        (
            b.Column("region", lambda row: f"{row[0]:#x}"),
            b.Column("size", lambda row: row[1] - row[0], "B"),
            b.Column("accesses", lambda row: round(sum(row[2]))),
            b.Column("over time", lambda row: b.Cell(course=tuple(row[2])), drop=1),
        ),
        name="regions",
    )
    yield b.Fold(f"{len(names)} regions with their numbers of accesses", (table,))


def _asking(result: LocalityResult, accesses: Any) -> list[b.Column]:
    """Return a column for each node or thread that asked much; `accesses` gives those of a row."""
    return [
        b.Column(
            f"{result.origin.asker} {number}",
            lambda row, number=number: accesses(row)[number],  # type: ignore[misc]
            drop=2,
        )
        for number in result.askers
    ]


def _objects(result: LocalityResult) -> b.Table:
    total = max(sum(use.total for use in result.objects), 1)
    return b.Table.of(
        ((use, use.accesses.tolist(), use.total) for use in result.objects),
        (
            b.Column("object", lambda row: b.Cell(row[0].name, hint=_address(row[0])), flex=True),
            b.Column("from", lambda row: row[0].where or row[0].kind * (row[0].size > 0), drop=4),
            b.Column("size", lambda row: row[0].size or None, "B", drop=3),
            *_asking(result, lambda row: row[1]),
            b.Column("remote", lambda row: row[0].remote, drop=1) if result.tells_homes else None,
            b.Column("writes", lambda row: row[0].writes, drop=1),
            b.Column("accesses", lambda row: row[2]),
            b.Column("share", lambda row: row[2] / total, "%", bar=True),
        ),
        caption="Who accesses which object. Variables are named by the program's symbols, "
        "allocations by the line that made them; memory that several had in turn counts for the "
        "last one.",
        name="objects",
    )


def _first(table: b.Table, most: int) -> Iterator[b.Block]:
    """Yield the first rows, also in a pipe: there may be thousands; the rest is folded."""
    if len(table.rows) <= most:
        yield table
        return
    if most:
        caption = f"{table.caption} These are {most} of {len(table.rows):,}."
        yield replace(table, rows=table.rows[:most], caption=caption, name=f"first {table.name}")
    yield b.Fold(f"all {len(table.rows):,} {table.name}", (table,))


def _address(use: Any) -> str:
    return f"{use.start:#x}" if use.size else ""


def _pages(result: LocalityResult) -> Iterator[b.Block]:
    """Yield pages by who accesses them: as bars in order of address, and those with most first."""
    pages = result.pages
    if not len(pages):
        return
    totals = pages.accesses.sum(axis=1)
    order = totals.argsort(kind="stable")[::-1]
    columns = (pages.page, pages.home, pages.accesses, pages.writes.sum(axis=1), totals)
    rows = list(zip(*(column[order].tolist() for column in columns), strict=True))
    yield _page_bars(result, sorted(rows[:_MOST_BARS]))
    size = result.origin.page_bytes
    table = b.Table.of(
        rows,
        (
            b.Column("page", lambda row: row[0], drop=5),
            b.Column("address", lambda row: f"{row[0] * size:#x}"),
            b.Column("home", lambda row: row[1] if row[1] >= 0 else b.Cell(status="unknown")),
            *_asking(result, lambda row: row[2]),
            b.Column("writes", lambda row: row[3], drop=1),
            b.Column("accesses", lambda row: row[4], bar=True),
        ),
        caption="Pages that were counted by themselves, those with most accesses first.",
        name="pages",
    )
    yield from _first(table, result.top)


def _page_bars(result: LocalityResult, rows: Sequence[Any]) -> b.Chart:
    place = tuple(range(len(rows)))
    hover = (("address", tuple(f"{row[0] * result.origin.page_bytes:#x}" for row in rows)),)
    series = [
        (f"{result.origin.asker} {number}", tuple(row[2][number] for row in rows))
        for number in result.askers
    ] or [("accesses", tuple(row[4] for row in rows))]  # who asked is not known
    by = f" by {result.origin.asker}" * bool(result.askers)
    most = f"; the {len(rows)} with most" * (len(rows) < len(result.pages))
    return b.Chart(
        f"Accesses to each page{by}, in order of address{most}.",
        b.Axis("pages in order of address"),
        b.Axis("accesses", zero=True),
        tuple(
            b.Layer(b.Kind.BARS, place, values, name, stack="pages", hover=hover)
            for name, values in series
        ),
    )


def _ranges(result: LocalityResult) -> Iterator[b.Block]:
    """Yield what was not counted by pages: wide ranges, static counters and mappings."""
    wide = result.wide
    if len(wide):
        totals, writes = wide.accesses.sum(axis=1), wide.writes.sum(axis=1)
        order = totals.argsort(kind="stable")[::-1]
        columns = (wide.start, wide.end, writes, totals)
        found = b.Table.of(
            zip(*(column[order].tolist() for column in columns), strict=True),
            (*_range(), *_counts()),
            caption="Ranges that one counter covered; which of their pages were accessed is not "
            "known.",
            most=result.top,
            name="ranges",
        )
        yield b.Fold(f"{len(wide)} ranges over several pages", (found,))
    if result.static:
        rows = [
            (
                each.start,
                each.end,
                None if each.writes is None else int(each.writes.sum()),
                int(each.accesses.sum()),
                each.name,
            )
            for each in result.static
        ]
        named = b.Column("variable", lambda row: row[4]) if any(row[4] for row in rows) else None
        yield b.Table.of(
            rows, (named, *_range(), *_counts()), caption="Static counters.", name="static"
        )
    if result.mappings:
        table = b.Table.of(
            result.mappings,
            (
                b.Column("mapping", lambda use: use.name or "no name", flex=True),
                b.Column("address", lambda use: f"{use.start:#x}"),
                b.Column("size", lambda use: use.end - use.start, "B", drop=1),
                b.Column("referenced at once", lambda use: use.referenced, "B"),
                b.Column("looks", lambda use: use.looks, drop=2),
                b.Column("page writes", lambda use: use.written),
            ),
            caption="Mappings that were read or written between two looks: of reads the kernel "
            "tells only how much of a mapping was referenced.",
            name="mappings",
        )
        yield from _first(table, result.top)


def _range() -> tuple[b.Column, ...]:
    return (
        b.Column("from", lambda row: f"{row[0]:#x}"),
        b.Column("to", lambda row: f"{row[1]:#x}", drop=1),
        b.Column("size", lambda row: row[1] - row[0], "B"),
    )


def _counts() -> tuple[b.Column, ...]:
    return b.Column("writes", lambda row: row[2]), b.Column("accesses", lambda row: row[3])


def _paths(result: LocalityResult) -> Iterator[b.Block]:
    """Yield who accesses memory of which node."""
    nodes = result.origin.nodes
    if result.origin.asker != "node" or nodes < 2:
        return
    tables = []
    for values, caption in (
        (result.paths, "Who accesses memory of which node (row: node that asks)."),
        (result.write_paths, "Writes among them."),
    ):
        down = nodes + bool(result.paths[nodes].sum())
        across = nodes + bool(result.paths[:, nodes].sum())
        names = [f"{node}" if node < nodes else "unknown" for node in range(nodes + 1)]
        cells = values[:down, :across].tolist()
        name = caption.partition(" ")[0].lower().replace("who", "paths")
        tables.append(
            b.Table.matrix(
                "from \\ to", names[:across], cells, down=names[:down], caption=caption, name=name
            )
        )
    if nodes <= _MOST_NODES:
        yield tables.pop(0)
    for table in tables:
        yield b.Fold(table.caption, (table,))


def _cost(result: LocalityResult) -> b.Facts:
    """Return what the counters cost, and how they were set up."""
    flow, settings, origin = result.flow, result.settings, result.origin

    def size(name: str) -> str:
        return units.number(int(settings.get(name, 0)), "B")

    each = f"{settings.get('counters', '')} {settings.get('scheme', '')}"
    each += f", ranges up to {size('range')}"
    if settings.get("scheme") == "hybrid" and settings.get("range") == settings.get("page"):
        each += ", streams beyond"
    rows: list[tuple[str, Any]] = [
        ("counters" + f" for each {origin.asker}" * (origin.asker != "process"), each),
        ("records", flow.records),
        ("records per million accesses", round(flow.records_per_million, 1)),
        ("size of the records", b.Cell(flow.records * 16, "B")),
        ("records read at the end", flow.at_end),
        ("extensions of coverage", flow.extensions),
    ]
    if not origin.time_is_order and result.duration_ns > 0:
        rows.append(("rate of records", b.Cell(flow.records * 16e9 / result.duration_ns, "B/s")))
    return b.Facts(
        (
            *rows,
            ("ring buffer", f"{size('ring')}, full {units.number(flow.signals)} times"),
            ("most records in it", flow.most_in_ring),
            ("records lost", flow.lost),
        )
    )
