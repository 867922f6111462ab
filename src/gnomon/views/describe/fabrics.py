"""How simulated fabrics look: all in a table, one with what it can be given."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.fabric.result import FabricRow, FabricsResult


def describe(result: FabricsResult) -> Iterator[b.Block]:
    """Yield what one fabric is and what loads it, or a row for each of several."""
    if result.explained:
        for each in result.rows:
            yield from _one(each, result)
        return
    number = len(result.rows)
    more = "`gnomon sim show fabric:NAME` tells more"
    yield b.Headline(f"{number} fabric{'s' * (number != 1)}; {more}")
    columns = (
        b.Column("fabric", lambda row: row.name),
        *(b.Column(name, attrgetter(name)) for name in ("topology", "nodes", "rings", "links")),
        b.Column("link", lambda row: b.Cell(row.link_gb_per_s * 1e9, "B/s"), drop=2),
        b.Column("delay", lambda row: b.Cell(row.link_ns, "ns"), drop=3),
        b.Column("title", lambda row: row.title, flex=True, drop=1),
    )
    yield b.Table.of(result.rows, *columns, name="fabrics")


def _one(row: FabricRow, result: FabricsResult) -> Iterator[b.Block]:
    yield b.Headline(f"fabric {row.name}: {row.title}")
    flow = "with go bits" if row.go_bits else "without go bits: nodes may starve"
    limits = ", ".join(
        f"{limit} {name}"
        for name, limit in (
            ("reads", row.reads),
            ("writes", row.writes),
            ("messages", row.messages),
        )
        if limit
    )
    queue = f"{row.output_queue} per feeder" if row.output_queue else "any number"
    yield b.Facts(
        (
            (
                "topology",
                f"{row.topology}: {row.nodes} nodes, {row.links} links, rings: {row.rings}",
            ),
            ("link", b.Cell(row.link_gb_per_s * 1e9, "B/s")),
            ("delay of a link", b.Cell(row.link_ns, "ns")),
            ("flow control", flow),
            ("Blink", b.Cell(row.blink_ns, "ns")),
            ("output queue", queue),
            ("active buffers", b.Cell(row.active_buffers)),
            ("input buffers", b.Cell(row.input_buffers)),
            ("outstanding per node", limits or "any number"),
            ("bits of packets", f"layout {result.layout}, declared by gnomon"),
        )
    )
    columns = (
        b.Column("load", lambda each: each[0]),
        b.Column("what it is", lambda each: each[1], flex=True),
    )
    yield b.Table.of(result.loads, *columns, name="loads")
    yield b.Text(
        f"as in: gnomon count --on fabric:{row.name} -- traffic:uniform duration=1ms mix=read64"
    )
