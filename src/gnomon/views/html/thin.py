"""Leaving out what no pixel would show: the least and greatest of each column of pixels stay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

COLUMNS = 1200
"""Columns of pixels that a chart is drawn for; on paper it is not wider either."""

Place = float | None


def course(xs: Sequence[Place], ys: Sequence[Place], columns: int = COLUMNS) -> list[int]:
    """Return which points of a line to draw, in their order.

    Of each run of points in one column of pixels the first, the last, the least and the greatest
    stay, so that no peak is lost. One point without a place stays too: the line is broken there.
    """
    if len(xs) <= 4 * columns:
        return list(range(len(xs)))

    def column(i: int) -> int | None:
        x = xs[i]
        return None if x is None or ys[i] is None else math.floor(x * columns)

    kept: list[int] = []
    for place, run in groupby(range(len(xs)), column):
        inside = list(run)
        if place is None:
            kept.append(inside[0])
        else:
            height = {i: ys[i] or 0.0 for i in inside}
            ends = min(inside, key=height.__getitem__), max(inside, key=height.__getitem__)
            kept += sorted({inside[0], *ends, inside[-1]})
    return kept


def dots(xs: Sequence[Place], ys: Sequence[Place], most: int = 3000) -> list[int]:
    """Return which dots to draw: one of those in a cell, with cells as small as `most` allows.

    Cells are two pixels wide at first; the outermost dots of each column of cells stay always.
    """
    places = {i: (x, y) for i, (x, y) in enumerate(zip(xs, ys, strict=True)) if None not in (x, y)}
    found = list(places)
    columns = COLUMNS // 2
    while len(found) > most and columns > 4:
        cells: dict[tuple[int, int], int] = {}
        held: dict[int, list[int]] = {}
        for i, (x, y) in places.items():
            column = math.floor((x or 0.0) * columns)
            cells.setdefault((column, math.floor((y or 0.0) * columns / 3)), i)
            held.setdefault(column, []).append(i)
        outermost = (
            end(each, key=lambda i: ys[i] or 0.0) for each in held.values() for end in (min, max)
        )
        found = sorted({*cells.values(), *outermost})
        columns //= 2
    return found


def stretches(
    rows: Sequence[Place], lows: Sequence[Place], highs: Sequence[Place], columns: int = COLUMNS
) -> list[int]:
    """Return which stretches of lanes to draw: all that are wide, one of those within a pixel."""
    if len(lows) <= columns:
        return list(range(len(lows)))
    kept: list[int] = []
    seen: set[tuple[Place, int, int]] = set()
    for i, (row, low, high) in enumerate(zip(rows, lows, highs, strict=True)):
        if low is not None and high is not None:
            pixels = row, math.floor(low * columns), math.floor(high * columns)
            if pixels not in seen or abs(pixels[2] - pixels[1]) > 1:
                kept.append(i)
            seen.add(pixels)
    return kept
