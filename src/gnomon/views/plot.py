"""A series as a picture of dots in a terminal."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

_EMPTY = 0x2800
# A braille character has two columns of four dots; their bits, from the top.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def dot_plot(
    x: Sequence[float],
    y: Sequence[float],
    *,
    start: float,
    end: float,
    columns: int = 60,
    rows: int = 8,
) -> tuple[list[str], float, float]:
    """Return lines of dots from `start` to `end`, and the values of the lowest and the top dot.

    Zero is in the picture when the values come near it. Every column has a mark from its
    least to its greatest value, so that a short peak is not lost.
    """
    low, high = min(y), max(y)
    if 0 < low < 0.5 * high:
        low = 0.0
    wide, tall = columns * 2, rows * 4
    spans: dict[int, tuple[float, float]] = {}
    for place, value in zip(x, y, strict=True):
        share = (place - start) / (end - start) if end > start else 0.5
        column = min(max(int(share * wide), 0), wide - 1)
        before = spans.get(column, (value, value))
        spans[column] = (min(before[0], value), max(before[1], value))
    cells = [[0] * columns for _ in range(rows)]
    for column, (least, most) in spans.items():
        for level in range(_level(least, low, high, tall), _level(most, low, high, tall) + 1):
            from_top = tall - 1 - level
            cells[from_top // 4][column // 2] |= _DOTS[column % 2][from_top % 4]
    return ["".join(chr(_EMPTY + cell) for cell in row) for row in cells], low, high


def _level(value: float, low: float, high: float, tall: int) -> int:
    if high <= low:
        return tall // 2
    return min(int((value - low) / (high - low) * tall), tall - 1)


def ruler(edges: Sequence[float], columns: int = 60) -> str:
    """Return a line that has the numbers of the stretches between edges, and marks between."""
    start, end = edges[0], edges[-1]
    width = (end - start) or 1.0
    marks = [round((edge - start) / width * (columns - 1)) for edge in edges]
    line = ["─"] * columns
    for number, (left, right) in enumerate(itertools.pairwise(marks), 1):
        text = f" {number} "
        if right - left > len(text):
            at = (left + right + 1 - len(text)) // 2 + 1
            line[at : at + len(text)] = text
    line[marks[0]], line[marks[-1]] = "├", "┤"
    for mark in marks[1:-1]:
        line[mark] = "┼"
    return "".join(line)
