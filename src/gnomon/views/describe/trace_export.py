"""How an export looks: the file, and how many records are in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.traces.result import TraceExport


def describe(result: TraceExport) -> Iterator[b.Block]:
    """Yield the file and its size."""
    yield b.Headline(f"{result.records:,} records in {result.path}")
    yield b.Facts(
        (
            ("format", result.format),
            ("size", b.Cell(float(result.bytes), "B")),
            ("filter", result.filter),
        )
    )
