"""How the rows of a query look: as they came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.traces.result import TraceRows


def describe(result: TraceRows) -> Iterator[b.Block]:
    """Yield the rows, and whether there are more."""
    more = " (there are more)" if result.more else ""
    number = len(result.rows)
    yield b.Headline(f"{number:,} row{'s' * (number != 1)}{more}")
    columns = tuple(b.Column(name, flex=True) for name in result.columns)
    rows = tuple(tuple(b.Cell(value) for value in row) for row in result.rows)
    yield b.Table(columns, rows, most=50, name="rows")
