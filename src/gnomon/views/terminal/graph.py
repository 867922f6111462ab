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
_LANE = 3  # columns from one lane to the next
_GAP = 7  # rows and columns between the boxes of a square, so that diagonals meet the corners
_SHORT_GAP = 3  # rows where there are no diagonals
_MARGIN = "  "
_ACROSS, _DOWN, _FALLING, _RISING = (0, 1), (1, 0), (1, 1), (-1, 1)  # rows and columns of a step
_SIGNS = {_ACROSS: "─", _DOWN: "│", _FALLING: "╲", _RISING: "╱"}
_CROSSINGS = {"─│": "┼", "│─": "┼", "╲╱": "╳", "╱╲": "╳"}

Ends = tuple[int, int]
Boxes = Sequence[Sequence[str]]
"""The lines of text in each box, of as many lines in all of them."""


def graph_lines(block: Graph, screen: Screen) -> Iterator[Line]:
    """Yield the lines of a graph; one that is wider than the screen is listed."""
    yield from paragraph(block.caption, screen)
    boxes = [_box(node, screen) for node in block.nodes]
    most = max(map(len, boxes), default=0)
    boxes = [[*box, *[""] * (most - len(box))] for box in boxes]
    ends = [(edge.a, edge.b) for edge in block.edges]
    labels = [
        screen.clean(", ".join(filter(None, (facts_of(edge, block.names), loads_of(edge)))))
        for edge in block.edges
    ]
    alike = len(set(labels)) <= 1
    marks = [""] * len(ends) if alike else ascii_letters[: len(ends)]
    drawn = _drawn(boxes, ends, marks) if len(ends) <= len(ascii_letters) else []
    shared = []  # what all edges say is said once
    if alike and any(labels):
        shared = [f"{counted(len(ends), 'link')}: {labels[0]}{' each' * (len(ends) > 1)}"]
    if drawn:
        told = zip(marks, ends, labels, strict=True)
        legend = shared or [f"{mark}  {a} – {b}  {label}" for mark, (a, b), label in told]
        drawn += ["", *legend] if any(labels) else []
        if screen.columns is None or max(map(width, drawn)) + len(_MARGIN) <= screen.columns:
            yield from (((f"{_MARGIN}{line}", ""),) for line in drawn)
            return
    names = [box[0] for box in boxes]
    for line in [*_listed(names, ends, [""] * len(ends) if alike else labels), *shared]:
        yield from paragraph(line, screen, first=_MARGIN, rest="      ")


def _box(node: Node, screen: Screen) -> list[str]:
    lines = [screen.clean(node.name)]
    for fact in node.facts:
        word, cell = ("", fact) if isinstance(fact, str) else fact
        text = cell if isinstance(cell, str) else cell_text(cell, screen)
        lines.append(screen.clean(f"{word} {text}" if word else text))
    return lines


def _drawn(boxes: Boxes, ends: Sequence[Ends], marks: Sequence[str]) -> list[str]:
    """Return boxes and the edges between them, or nothing where that would be a thicket."""
    if 0 < len(boxes) <= 4 and len({frozenset(pair) for pair in ends}) == len(ends):
        return _square(boxes, ends, marks)
    lanes = _lanes(ends)
    few = 0 < len(boxes) <= _MOST_STACKED and max(lanes, default=0) < _MOST_LANES
    return _stack(boxes, ends, marks, lanes) if few else []


def _square(boxes: Boxes, ends: Sequence[Ends], marks: Sequence[str]) -> list[str]:
    """Draw nodes at the corners of a square, which have numbers clockwise from the upper left."""
    order = square_order(len(boxes), ends)
    inner = max(width(line) for lines in boxes for line in lines) + 2
    wide, high = inner + 2, len(boxes[0]) + 2
    places = [(order.index(a), order.index(b)) for a, b in ends]
    corners = [(min(pair), max(pair)) for pair in places]
    gap = _GAP if {(0, 2), (1, 3)} & set(corners) else _SHORT_GAP
    lower, right, row, column = high + gap, wide + _GAP, high // 2, wide // 2
    canvas = Canvas()
    for number, place in zip(order, ((0, 0), (0, right), (lower, right), (lower, 0)), strict=False):
        canvas.box(*place, boxes[number], inner)
    lines: dict[Ends, tuple[int, int, Ends, int, Ends]] = {  # the last is where a letter stands
        (0, 1): (row, wide, _ACROSS, _GAP, (row, wide + _GAP // 2)),
        (2, 3): (row + lower, wide, _ACROSS, _GAP, (row + lower, wide + _GAP // 2)),
        (0, 3): (high, column, _DOWN, gap, (high + gap // 2, column)),
        (1, 2): (high, column + right, _DOWN, gap, (high + gap // 2, column + right)),
        (0, 2): (high, wide, _FALLING, gap, (high + 1, wide + 1)),
        (1, 3): (lower - 1, wide, _RISING, gap, (high + 1, right - 2)),
    }
    for pair, mark in zip(corners, marks, strict=True):
        first_row, first_column, step, length, letter = lines[pair]
        canvas.line(first_row, first_column, step, length)
        canvas.write(*letter, mark)
    return canvas.lines()


def _lanes(ends: Sequence[Ends]) -> list[int]:
    """Return a lane for each edge, short ones first, so that links in one do not overlap."""
    taken: list[list[Ends]] = []
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
    boxes: Boxes, ends: Sequence[Ends], marks: Sequence[str], lanes: Sequence[int]
) -> list[str]:
    """Draw nodes below each other; every end of an edge has a row of its box to itself."""
    ports: list[list[Ends]] = [[] for _ in boxes]
    for index, pair in enumerate(ends):
        # Edges that go down leave at the bottom, the outermost first: so few cross each other.
        ports[min(pair)].append((len(ends) - lanes[index], index))
        ports[max(pair)].append((lanes[index] - len(ends), index))
    inner = max(width(line) for lines in boxes for line in lines) + 2
    canvas, row, right = Canvas(), 0, inner + 2
    rows: list[list[int]] = [[] for _ in ends]
    for box, held in zip(boxes, ports, strict=True):
        lines = [*box, *[""] * (len(held) - len(box))]
        canvas.box(row, 0, lines, inner)
        for offset, (_, index) in enumerate(sorted(held), 1):
            rows[index].append(row + offset)
        row += len(lines) + 2
    links = [(right + _LANE * (lane + 1), *rows[index]) for index, lane in enumerate(lanes)]
    for column, upper, lower in links:
        for end, corner in ((upper, "┐"), (lower, "┘")):
            canvas.line(end, right, _ACROSS, column - right)
            canvas.write(end, column, corner)
        canvas.line(upper + 1, column, _DOWN, lower - upper - 1)
    for (column, upper, lower), mark in zip(links, marks, strict=True):
        canvas.mark(column, range(upper + 1, lower), mark)
    return canvas.lines()


def _listed(names: Sequence[str], ends: Sequence[Ends], details: Sequence[str]) -> Iterator[str]:
    """Yield a line per node with its neighbours, for graphs that cannot be drawn well."""
    neighbours: list[list[str]] = [[] for _ in names]
    for (a, b), detail in zip(ends, details, strict=True):
        for node, other in ((a, b), (b, a)):
            neighbours[node].append(f"{other} ({detail})" if detail else f"{other}")
    wide = max(map(width, names), default=0)
    for name, others in zip(names, neighbours, strict=True):
        word, space, number = name.rpartition(" ")  # numbers stand to the right
        aligned = f"{word}{space}{number:>{max(wide - width(word + space), 0)}}"
        yield f"{aligned} – {', '.join(others) or 'no links'}"


class Canvas:
    """A sheet of characters for boxes and lines; it grows to what is drawn on it."""

    def __init__(self) -> None:
        self._cells: dict[Ends, str] = {}  # (row, column)

    def write(self, row: int, column: int, text: str) -> None:
        """Put a text down, over what is there."""
        for offset, character in enumerate(text):
            self._cells[row, column + offset] = character

    def box(self, row: int, column: int, lines: Sequence[str], inner: int) -> None:
        """Draw a frame around lines of text, `inner` characters wide between its sides."""
        edge = "─" * inner
        sides = (f"┌{edge}┐", *(f"│{line:^{inner}}│" for line in lines), f"└{edge}┘")
        for offset, side in enumerate(sides):
            self.write(row + offset, column, side)

    def line(self, row: int, column: int, step: Ends, length: int) -> None:
        """Draw a line from a cell in a direction; where it meets another they cross."""
        for number in range(length):
            cell = row + number * step[0], column + number * step[1]
            sign = _SIGNS[step]
            self._cells[cell] = _CROSSINGS.get(self._cells.get(cell, "") + sign, sign)

    def mark(self, column: int, rows: range, text: str) -> None:
        """Put a text on an upright line near its middle, where nothing crosses it if possible."""
        middle = (rows[0] + rows[-1]) / 2
        nearest = sorted(rows, key=lambda row: abs(row - middle))
        clear = (row for row in nearest if self._cells.get((row, column)) == _SIGNS[_DOWN])
        self.write(next(clear, nearest[0]), column, text)

    def lines(self) -> list[str]:
        """Return what was drawn, without spaces at the ends of lines."""
        rows, columns = (max(ends) + 1 for ends in zip(*self._cells, strict=True))
        cells = self._cells
        return [
            "".join(cells.get((row, column), " ") for column in range(columns)).rstrip()
            for row in range(rows)
        ]
