"""Graphs in characters: nodes as boxes, edges as lines, what the edges say below them.

Up to four nodes stand in a square. More stand below each other, with every edge in a lane of
its own at their right. Where even that would be a thicket, the neighbours are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_letters

from gnomon.views.blocks import Graph, Node
from gnomon.views.shared import counted, facts_of, loads_of, square_order
from gnomon.views.terminal import Line, Screen, cell_text, paragraph, width

_MOST_STACKED = 12
_MOST_LANES = 24
_GAP = 7  # rows and columns between the boxes of a square, so that diagonals meet the corners
_SHORT_GAP = 3  # rows where there are no diagonals
_MARGIN = "  "
_HORIZONTAL, _VERTICAL, _CROSSING = "─", "│", "┼"
_FALLING, _RISING, _DIAGONALS = "╲", "╱", "╳"

Ends = tuple[int, int]


def graph_lines(block: Graph, screen: Screen) -> Iterator[Line]:
    """Yield the lines of a graph; one that is wider than the screen is listed."""
    yield from paragraph(block.caption, screen)
    texts = [_box(node, screen) for node in block.nodes]
    ends = [(edge.a, edge.b) for edge in block.edges]
    labels = [
        screen.clean(", ".join(filter(None, (facts_of(edge, block.names), loads_of(edge)))))
        for edge in block.edges
    ]
    drawn = _draw(texts, ends, labels)
    if screen.columns is None or max(map(width, drawn), default=0) <= screen.columns:
        yield from (((screen.clean(line), ""),) for line in drawn)
        return
    for line in _list([lines[0] for lines in texts], ends, labels):
        yield from paragraph(line.strip(), screen, first=_MARGIN, rest="      ")


def _box(node: Node, screen: Screen) -> list[str]:
    lines = [screen.clean(node.name)]
    for fact in node.facts:
        word, cell = ("", fact) if isinstance(fact, str) else fact
        text = cell if isinstance(cell, str) else cell_text(cell, screen)
        lines.append(screen.clean(f"{word} {text}" if word else text))
    return lines


def _draw(texts: Sequence[Sequence[str]], ends: Sequence[Ends], labels: Sequence[str]) -> list[str]:
    """Return boxes with these texts and the edges between them, with a legend below."""
    marks = _marks(labels)
    pairs = {frozenset(pair) for pair in ends}
    most = max(map(len, texts), default=0)
    texts = [[*lines, *[""] * (most - len(lines))] for lines in texts]
    if texts and len(texts) <= 4 and len(pairs) == len(ends):
        drawing = _square(texts, ends, marks)
    else:
        lanes = _lanes(ends)
        few = len(texts) <= _MOST_STACKED and max(lanes, default=0) < _MOST_LANES
        if not few or len(ends) > len(ascii_letters):
            return _list([lines[0] for lines in texts], ends, labels)
        drawing = _stack(texts, ends, marks, lanes)
    drawn = [_MARGIN + line if line else "" for line in drawing]
    return drawn + _legend(ends, labels, marks)


def _alike(labels: Sequence[str]) -> bool:
    return len(set(labels)) <= 1


def _marks(labels: Sequence[str]) -> list[str]:
    """Return a letter for each edge, or nothing where they need no telling apart."""
    if _alike(labels) or len(labels) > len(ascii_letters):
        return [""] * len(labels)
    return list(ascii_letters[: len(labels)])


def _legend(ends: Sequence[Ends], labels: Sequence[str], marks: Sequence[str]) -> list[str]:
    if not any(labels):
        return []
    if _alike(labels):
        each = " each" if len(ends) > 1 else ""
        return ["", f"{_MARGIN}{counted(len(ends), 'link')}: {labels[0]}{each}"]
    told = zip(marks, ends, labels, strict=True)
    return ["", *(f"{_MARGIN}{mark}  {a} – {b}  {label}" for mark, (a, b), label in told)]


def _square(
    texts: Sequence[Sequence[str]], ends: Sequence[Ends], marks: Sequence[str]
) -> list[str]:
    order = square_order(len(texts), ends)
    inner = max(width(line) for lines in texts for line in lines) + 2
    wide, high = inner + 2, len(texts[0]) + 2
    at = {number: place for place, number in enumerate(order)}
    joined = [{at[a], at[b]} for a, b in ends]
    gap = _GAP if {0, 2} in joined or {1, 3} in joined else _SHORT_GAP
    lower, right = high + gap, wide + _GAP
    canvas = Canvas()
    for number, corner in zip(
        order, ((0, 0), (0, right), (lower, right), (lower, 0)), strict=False
    ):
        canvas.box(*corner, texts[number], inner)
    for places, mark in zip(joined, marks, strict=True):
        if places in ({0, 1}, {2, 3}):
            row = high // 2 + (0 if 0 in places else lower)
            canvas.across(row, wide, right - 1)
            canvas.write(row, wide + _GAP // 2, mark)
        elif places in ({1, 2}, {0, 3}):
            column = wide // 2 + (0 if 0 in places else right)
            canvas.down(column, high, lower - 1)
            canvas.write(high + gap // 2, column, mark)
        elif places == {0, 2}:
            canvas.slope(high, wide, gap, rising=False)
            canvas.write(high + 1, wide + 1, mark)
        else:
            canvas.slope(lower - 1, wide, gap, rising=True)
            canvas.write(high + 1, right - 2, mark)
    return canvas.lines()


def _lanes(ends: Sequence[Ends]) -> list[int]:
    """Return a lane for each edge, short ones first, so that links in one do not overlap."""
    taken: list[list[tuple[int, int]]] = []
    lanes = [0] * len(ends)
    spans = [(min(pair), max(pair)) for pair in ends]
    for index in sorted(range(len(ends)), key=lambda i: (spans[i][1] - spans[i][0], spans[i])):
        low, high = spans[index]
        free = (all(high <= a or low >= b for a, b in others) for others in taken)
        lanes[index] = next((i for i, is_free in enumerate(free) if is_free), len(taken))
        taken += [[]] * (lanes[index] == len(taken))
        taken[lanes[index]] = [*taken[lanes[index]], (low, high)]
    return lanes


def _stack(
    texts: Sequence[Sequence[str]],
    pairs: Sequence[Ends],
    marks: Sequence[str],
    lanes: Sequence[int],
) -> list[str]:
    """Draw nodes below each other; every end of an edge has a row of its box to itself."""
    ports: dict[int, list[tuple[int, int, int]]] = {i: [] for i in range(len(texts))}
    for index, pair in enumerate(pairs):
        low, high = sorted(pair)
        # Edges that go down leave at the bottom, the outermost first: so few cross each other.
        ports[low].append((1, -lanes[index], index))
        ports[high].append((0, lanes[index], index))
    inner = max(width(line) for lines in texts for line in lines) + 2
    canvas = Canvas()
    row = 0
    ends: dict[int, list[int]] = {index: [] for index in range(len(pairs))}
    for number, lines in enumerate(texts):
        held = sorted(ports[number])
        padded = [*lines] + [""] * (len(held) - len(lines))
        canvas.box(row, 0, padded, inner)
        for offset, (_, _, index) in enumerate(held, 1):
            ends[index].append(row + offset)
        row += len(padded) + 2
    right = inner + 2
    for index, (upper, lower) in ends.items():
        column = right + 3 + 3 * lanes[index]
        for end in (upper, lower):
            canvas.across(end, right, column - 1)
        canvas.down(column, upper + 1, lower - 1)
        canvas.write(upper, column, "┐")
        canvas.write(lower, column, "┘")
    for index, (upper, lower) in ends.items():
        canvas.mark(right + 3 + 3 * lanes[index], upper + 1, lower - 1, marks[index])
    return canvas.lines()


def _list(names: Sequence[str], ends: Sequence[Ends], labels: Sequence[str]) -> list[str]:
    """Return a line per node with its neighbours, for graphs that cannot be drawn well."""
    same = _alike(labels)
    neighbours: list[list[str]] = [[] for _ in names]
    for (a, b), label in zip(ends, labels, strict=True):
        detail = "" if same or not label else f" ({label})"
        neighbours[a].append(f"{b}{detail}")
        neighbours[b].append(f"{a}{detail}")
    wide = max(map(width, names), default=0)
    lines = [
        f"{_MARGIN}{_widened(name, wide)} – {', '.join(others) or 'no links'}"
        for name, others in zip(names, neighbours, strict=True)
    ]
    return lines + (_legend(ends, labels, [""] * len(ends)) if same else [])


def _widened(name: str, wide: int) -> str:
    """Return a name that is so wide, with its number to the right."""
    word, space, number = name.rpartition(" ")
    return f"{word}{space}{number:>{max(wide - width(word + space), 0)}}"


class Canvas:
    """A sheet of characters for boxes and lines; it grows to what is drawn on it."""

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
