"""Objects as a part of a report: which variables and allocations were accessed by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.units import format_bytes
from gnomon.views.report.page import Cell, DataTable, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.analysis.locality.model import LocalityResult

_MOST = 400


def object_section(result: LocalityResult, shown: Sequence[int]) -> Section:
    """Return who accesses which object; `shown` nodes or threads have a column."""
    total = max(sum(use.total for use in result.objects), 1)
    headings = [
        "object",
        "from",
        "kind",
        "size",
        *(f"{result.origin.asker} {each}" for each in shown),
        *(("remote",) if result.tells_homes else ()),
        "writes",
        "accesses",
    ]
    rows = [
        (
            Cell(use.name, hint=f"{use.start:#x}" if use.size else ""),
            Cell(use.where),
            Cell(str(use.kind) if use.size else ""),
            Cell(format_bytes(use.size) if use.size else "", float(use.size)),
            *(_count(int(use.accesses[each])) for each in shown),
            *((_count(use.remote),) if result.tells_homes else ()),
            _count(use.writes),
            Cell(f"{use.total:,}", float(use.total), bar=use.total / total),
        )
        for use in result.objects[:_MOST]
    ]
    lead = (
        "Variables are named by the program's symbols, allocations by the line that made them. "
        "Memory that several of them had in turn counts for the last one.",
    )
    table = DataTable.of(headings, rows, right=frozenset(range(3, len(headings))))
    return Section("Objects", lead, (table,))


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", float(number))
