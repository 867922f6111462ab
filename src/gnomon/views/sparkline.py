"""A series as a line of little bars."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"


def sparkline(series: Sequence[float | None], columns: int = 60) -> str:
    """Return a series in at most so many characters; what is missing shows as a dot.

    Neighbours that share a character are averaged, so that the area stays true. The
    scale starts at zero.
    """
    if not series or columns < 1:
        return ""
    columns = min(columns, len(series))
    cells: list[float | None] = []
    for i in range(columns):
        first, last = i * len(series) // columns, (i + 1) * len(series) // columns
        known = [v for v in series[first:last] if v is not None]
        cells.append(sum(known) / len(known) if known else None)
    top = max((cell for cell in cells if cell is not None), default=0)
    return "".join(_bar(cell, top) for cell in cells)


def _bar(cell: float | None, top: float) -> str:
    if cell is None:
        return _GAP
    if top <= 0 or cell <= 0:
        return _BARS[0]
    return _BARS[min(int(cell / top * len(_BARS)), len(_BARS) - 1)]
