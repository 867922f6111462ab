"""Changes of events in per cent, and when two of them are alike in sign and order of magnitude."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon_studies.verdicts import shape

if TYPE_CHECKING:
    from gnomon.analysis.compare import EventComparison
    from gnomon.analysis.study import Row

ORDER = 10
"""Two changes are of the same order when neither is more than this times the other."""

TOLERANCE = f"sign, within a factor of {ORDER}"


def change_of(row: EventComparison) -> float | None:
    """Return by how many per cent an event changed, None when there was none of it before."""
    return None if not row.a.mean else 100 * (row.b.mean / row.a.mean - 1)


def alike(published: float, ours: float | None) -> bool:
    """Whether two changes have the same sign and the same order of magnitude."""
    if ours is None or ours * published <= 0:
        return False
    return 1 / ORDER <= ours / published <= ORDER


def change_row(
    quantity: str, published: float, text: str, found: EventComparison, note: str = ""
) -> Row:
    """Return the row of one event: more than its sign and order cannot be asked of it."""
    ours = change_of(found)
    return shape(
        "E3",
        quantity,
        text,
        percent(ours) if ours is not None else f"0 to {found.b.mean:,.0f}",
        true=alike(published, ours),
        tolerance=TOLERANCE,
        note=note,
    )


def percent(change: float) -> str:
    """Return a change as it is written."""
    return f"{change:+,.2f} %"
