"""How latencies between two points look: quantiles, a histogram, and the slowest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.traces.result import TraceLatency


def describe(result: TraceLatency) -> Iterator[b.Block]:
    """Yield the quantiles of the latencies, and how many records had no partner."""
    yield b.Headline(
        f"{result.pairs:,} latencies by {result.by}", (f"from {result.begins}", f"to {result.ends}")
    )
    if not result.pairs:
        yield b.Finding(
            "No record of the first kind is followed by one of the second that belongs to it.",
            b.Tone.DOUBT,
            "look at both with `gnomon trace list --filter`, or match them by something else",
        )
    if result.unmatched_begins or result.unmatched_ends:
        yield b.Finding(
            f"{result.unmatched_begins:,} of the first kind and {result.unmatched_ends:,} of the "
            "second had no partner: they are not in these figures.",
            b.Tone.DOUBT if result.unmatched_begins > result.pairs // 100 else b.Tone.PLAIN,
        )
    facts = [(f"{share.share * 100:g} %", _time(share.latency)) for share in result.quantiles]
    ends = [("least", _time(result.least)), ("mean", _time(result.mean))]
    yield b.Facts((*ends, *facts, ("most", _time(result.most))))
    if result.bars:
        centres = tuple((bar.within.low + bar.within.high) / 2 for bar in result.bars)
        layer = b.Layer(
            b.Kind.BARS,
            centres,
            tuple(bar.count for bar in result.bars),
            low=tuple(bar.within.low for bar in result.bars),
            high=tuple(bar.within.high for bar in result.bars),
        )
        axes = b.Axis("latency", "ns", log=10), b.Axis("pairs", zero=True)
        yield b.Chart("how often each latency", *axes, (layer,))
    columns: tuple[b.Column | None, ...] = (
        b.Column("latency", lambda row: _time(row.latency)),
        b.Column("from record", lambda row: row.begin),
        b.Column("to record", lambda row: row.end),
        b.Column("of traces", lambda row: f"{row.begin_trace}, {row.end_trace}", drop=2),
    )
    if result.slowest:
        yield b.Table.of(result.slowest, *columns, caption="the slowest", most=10, name="slowest")


def _time(value: float | None) -> b.Cell:
    return b.Cell(None if value is None else float(value), "ns")
