"""How a chain looks: its records in order, each with the time since the one before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.traces.result import TraceChain


def describe(result: TraceChain) -> Iterator[b.Block]:
    """Yield the chain, and what of it was not seen."""
    more = "+" if result.more else ""
    number = len(result.steps)
    yield b.Headline(f"{result.what}: {number}{more} record{'s' * (number != 1)}")
    if result.lacking:
        yield b.Finding(
            f"not seen: {', '.join(result.lacking)}",
            b.Tone.DOUBT,
            "another probe may have seen it: give its trace as well",
        )
    several = len({step.trace for step in result.steps}) > 1
    columns: tuple[b.Column | None, ...] = (
        b.Column("trace", lambda step: step.trace) if several else None,
        b.Column("record", lambda step: step.record),
        b.Column("after", lambda step: b.Cell(float(step.after), "ns")),
        b.Column("since", lambda step: b.Cell(float(step.since), "ns"), drop=3),
        b.Column("seen at", lambda step: step.place, drop=2),
        b.Column("type", lambda step: step.name),
        b.Column("from", lambda step: step.source, drop=1),
        b.Column("to", lambda step: step.destination, drop=1),
        b.Column("", lambda step: step.note, flex=True, drop=2),
    )
    chosen = next((at for at, s in enumerate(result.steps) if s.record == result.chosen), None)
    yield b.Table.of(result.steps, *columns, chosen=chosen, name="steps")
