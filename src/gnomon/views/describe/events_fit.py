"""How it looks whether events fit together, and in how few runs all of them are counted."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.events.result import FitResult, Seat
from gnomon.views import blocks as b


def describe(result: FitResult) -> Iterator[b.Block]:
    """Yield the answer, what stands in the way and what would help, then the batches."""
    yield b.Headline(result.summary)
    if result.together and result.fits:
        yield b.Text(", ".join(map(_seat, result.batches[0] if result.batches else ())))
    for reason in result.reasons:
        text = f"{reason}." if result.together else f"Why not fewer: {reason}."
        yield b.Finding(text, b.Tone.BAD if result.together else b.Tone.PLAIN)
    for remedy in result.remedies:
        yield b.Finding(f"Remedy: {remedy}.")
    for miss in result.unplaceable:
        yield b.Finding(f"Not placed: {miss.event}: {miss.reason}.", b.Tone.BAD)
    rows = [(n, seat) for n, batch in enumerate(result.batches, 1) for seat in batch]
    columns = (
        b.Column("batch", lambda row: row[0]),
        b.Column("event", lambda row: row[1].event),
        b.Column("counter", lambda row: row[1].counter),
    )
    yield b.Fold("events by batch", (b.Table.of(rows, *columns, name="batches"),))


def _seat(seat: Seat) -> str:
    return f"{seat.event} on {seat.counter}" if seat.counter else seat.event
