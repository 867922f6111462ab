"""A sheet of characters to draw boxes and lines on."""

from __future__ import annotations

from collections.abc import Sequence

_HORIZONTAL, _VERTICAL, _CROSSING = "─", "│", "┼"
_FALLING, _RISING, _DIAGONALS = "╲", "╱", "╳"


class Canvas:
    """Characters in rows and columns; it grows to what is drawn on it."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], str] = {}  # (row, column)

    def write(self, row: int, column: int, text: str) -> None:
        """Put a text down, over what is there."""
        for offset, character in enumerate(text):
            self._cells[row, column + offset] = character

    def box(self, row: int, column: int, lines: Sequence[str], inner: int) -> None:
        """Draw a frame around lines of text, `inner` characters wide between its sides."""
        self.write(row, column, f"┌{_HORIZONTAL * inner}┐")
        for offset, line in enumerate(lines, 1):
            self.write(row + offset, column, f"│{line:^{inner}}│")
        self.write(row + len(lines) + 1, column, f"└{_HORIZONTAL * inner}┘")

    def across(self, row: int, first: int, last: int) -> None:
        """Draw a line from one column to another; where it meets an upright one they cross."""
        for column in range(first, last + 1):
            met = self._cells.get((row, column))
            self._cells[row, column] = _CROSSING if met == _VERTICAL else _HORIZONTAL

    def down(self, column: int, first: int, last: int) -> None:
        """Draw a line from one row to another; where it meets a level one they cross."""
        for row in range(first, last + 1):
            met = self._cells.get((row, column))
            self._cells[row, column] = _CROSSING if met == _HORIZONTAL else _VERTICAL

    def slope(self, row: int, column: int, length: int, *, rising: bool) -> None:
        """Draw a diagonal to the right, from its upper end if it falls, else from its lower."""
        for step in range(length):
            cell = (row - step if rising else row + step), column + step
            met = self._cells.get(cell)
            own, other = (_RISING, _FALLING) if rising else (_FALLING, _RISING)
            self._cells[cell] = _DIAGONALS if met == other else own

    def mark(self, column: int, first: int, last: int, text: str) -> None:
        """Put a text on an upright line near its middle, where nothing crosses it if possible."""
        rows = sorted(range(first, last + 1), key=lambda row: abs(2 * row - first - last))
        clear = [row for row in rows if self._cells.get((row, column)) == _VERTICAL]
        self.write((clear or rows)[0], column, text)

    def lines(self) -> list[str]:
        """Return what was drawn, without spaces at the ends of lines."""
        if not self._cells:
            return []
        bottom = max(row for row, _ in self._cells)
        right = max(column for _, column in self._cells)
        return [
            "".join(self._cells.get((row, column), " ") for column in range(right + 1)).rstrip()
            for row in range(bottom + 1)
        ]
