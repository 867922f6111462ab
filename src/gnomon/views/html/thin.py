"""Leaving out what no pixel would show: the least and greatest of each column of pixels stay."""

from __future__ import annotations

import math
from collections.abc import Sequence

COLUMNS = 1200
"""Columns of pixels that a chart is drawn for; on paper it is not wider either."""

Place = float | None


def course(xs: Sequence[Place], ys: Sequence[Place], columns: int = COLUMNS) -> list[int]:
    """Return which points of a line to draw, in their order.

    Of each run of points in one column of pixels the first, the last, the least and the greatest
    stay, so that no peak is lost. Points without a place stay too: the line is broken there.
    """
    if len(xs) <= 4 * columns:
        return list(range(len(xs)))
    kept: list[int] = []
    begin = 0
    while begin < len(xs):
        column = _column(xs[begin], ys[begin], columns)
        end = begin + 1
        while end < len(xs) and _column(xs[end], ys[end], columns) == column:
            end += 1
        if column is None:
            kept.append(begin)  # one gap is as good as many
        else:
            inside = range(begin, end)
            least = min(inside, key=lambda i: ys[i] or 0.0)
            greatest = max(inside, key=lambda i: ys[i] or 0.0)
            kept += sorted({begin, least, greatest, end - 1})
        begin = end
    return kept


def _column(x: Place, y: Place, columns: int) -> int | None:
    return None if x is None or y is None else math.floor(x * columns)


def dots(xs: Sequence[Place], ys: Sequence[Place], most: int = 3000) -> list[int]:
    """Return which dots to draw: one of those in a cell, with cells as small as `most` allows.

    Cells are two pixels wide at first; the outermost dots of each column of cells stay always.
    """
    there = [i for i in range(len(xs)) if xs[i] is not None and ys[i] is not None]
    columns = COLUMNS // 2
    found = there
    while len(found) > most:
        cells: dict[tuple[int, int], int] = {}
        ends: dict[int, tuple[int, int]] = {}
        for i in there:
            x, y = xs[i] or 0.0, ys[i] or 0.0
            column = math.floor(x * columns)
            cells.setdefault((column, math.floor(y * columns / 3)), i)
            low, high = ends.get(column, (i, i))
            ends[column] = (
                i if y < (ys[low] or 0.0) else low,
                i if y > (ys[high] or 0.0) else high,
            )
        found = sorted({*cells.values(), *(i for pair in ends.values() for i in pair)})
        if columns <= 8:
            break
        columns //= 2
    return found


def stretches(
    rows: Sequence[Place], lows: Sequence[Place], highs: Sequence[Place], columns: int = COLUMNS
) -> list[int]:
    """Return which stretches of lanes to draw: all that are wide, one of those within a pixel."""
    if len(lows) <= columns:
        return list(range(len(lows)))
    kept: list[int] = []
    narrow: set[tuple[float | None, int, int]] = set()
    for i, (row, low, high) in enumerate(zip(rows, lows, highs, strict=True)):
        if low is None or high is None:
            continue
        first, last = math.floor(low * columns), math.floor(high * columns)
        if abs(last - first) <= 1:
            if (row, first, last) in narrow:
                continue
            narrow.add((row, first, last))
        kept.append(i)
    return kept
