"""How a trace looks: how much is in it, over time, of which types, and between whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.traces.result import TraceResult


def describe(result: TraceResult) -> Iterator[b.Block]:
    """Yield what is in the trace."""
    records = f"{result.records:,} record{'s' * (result.records != 1)}"
    yield b.Headline(f"{records} in {result.path}")
    for text in result.damages:
        yield b.Finding(f"damaged: {text}", b.Tone.BAD, "restore it from a copy")
    if not result.complete:
        yield b.Finding("It is being written: this is what had come by now.", b.Tone.DOUBT)
    for text in result.notes:
        yield b.Finding(text, b.Tone.DOUBT)
    span = result.stop - result.start
    yield b.Facts(
        (
            ("span", b.Cell(float(span), "ns")),
            ("rate", b.Cell(result.records / span * 1e9 if span else None, "/s")),
            ("size", b.Cell(float(result.bytes), "B")),
            ("kept in", f"{result.segments} segments, {result.files} Parquet files"),
            ("seen at", ", ".join(result.interfaces)),
        )
    )
    if result.stretches:
        times = tuple((each.start - result.start) / 1e9 for each in result.stretches)
        layers = tuple(
            b.Layer(b.Kind.LINE, times, tuple(each.records[at] for each in result.stretches), name)
            for at, name in enumerate(result.classes)
        )
        yield b.Chart(
            "records over time", b.Axis("time", "s"), b.Axis("records", zero=True), layers
        )
    columns: tuple[b.Column | None, ...] = (
        b.Column("type", lambda row: row.name, flex=True),
        b.Column("number", lambda row: row.type, drop=2),
        b.Column("records", lambda row: row.records),
        b.Column("share", lambda row: row.records / (result.records or 1), "%", bar=True, drop=1),
    )
    yield b.Table.of(result.types, *columns, name="types")
    if result.pairs:
        sized = any(row.bytes is not None for row in result.pairs)
        pairs: tuple[b.Column | None, ...] = (
            b.Column("from", lambda row: row.source, flex=True),
            b.Column("to", lambda row: row.destination, flex=True),
            b.Column("packets", lambda row: row.packets),
            b.Column("bytes", lambda row: row.bytes, "B", drop=1) if sized else None,
        )
        yield b.Table.of(result.pairs, *pairs, caption="the busiest pairs", name="pairs")
