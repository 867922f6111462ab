"""The topology of a machine as a drawing of characters: nodes as boxes, links as lines.

Up to four nodes stand in a square. More stand below each other, with every link in a lane of
its own at their right. Where even that would be a thicket, the neighbours are listed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import TYPE_CHECKING

from gnomon.views.canvas import Canvas

if TYPE_CHECKING:
    from gnomon.machines.machine import Link, Machine, Node

_MOST_STACKED = 12
_MOST_LANES = 24
_GAP = 7  # rows and columns between the boxes of a square, so that diagonals meet the corners
_SHORT_GAP = 3  # rows where there are no diagonals
_SIDES = ((0, 1), (1, 2), (2, 3), (3, 0))
_MARGIN = 2


def draw_topology(machine: Machine) -> list[str]:
    """Return a machine as lines of text, with what the links are below it."""
    texts = [node_lines(machine, number) for number in range(len(machine.nodes))]
    return draw_graph(texts, machine.links)


def whole_text(link: Link) -> str:
    """Return all there is to say of a link."""
    return f"{link_text(link)}, {link.duplex} duplex"


def draw_graph(
    texts: Sequence[Sequence[str]],
    links: Sequence[Link],
    describe: Callable[[Link], str] = whole_text,
) -> list[str]:
    """Return nodes with these texts and their links as lines of text, with a legend below."""
    marks = _marks(links)
    pairs = {frozenset(link.ends) for link in links}
    if len(texts) <= 4 and len(pairs) == len(links):
        drawing = _square(texts, links, marks)
    else:
        lanes = _lanes(links)
        few = len(texts) <= _MOST_STACKED and max(lanes, default=0) < _MOST_LANES
        if not few or len(links) > len(ascii_letters):
            return _listing(len(texts), links, describe)
        drawing = _stack(texts, links, marks, lanes)
    drawn = [" " * _MARGIN + line if line else "" for line in drawing]
    return drawn + _legend(links, marks, describe)


def node_lines(machine: Machine, number: int) -> list[str]:
    """Return what a box says of a node: its cores and its memory."""
    node: Node = machine.nodes[number]
    lines = [f"node {number}"]
    if node.cores:
        cores = f"{node.cores} core{'s' * (node.cores > 1)}"
        threads = machine.core.threads
        lines.append(f"{cores} x {threads} threads" if threads > 1 else cores)
    else:
        lines.append("no cores")
    if node.memory is None:
        lines.append("no memory")
    else:
        lines.append(f"{node.memory.gb_per_s:g} GB/s, {node.memory.read_latency_ns:g} ns")
    return lines


def link_text(link: Link) -> str:
    """Return the rate and the latency of a link."""
    return f"{link.gb_per_s:g} GB/s, {link.latency_ns:g} ns"


def alike(links: Sequence[Link]) -> bool:
    """Whether all links have the same rate, latency and duplex."""
    return len({(link.gb_per_s, link.latency_ns, link.duplex) for link in links}) <= 1


def square_order(nodes: int, links: Sequence[Link]) -> tuple[int, ...]:
    """Return up to four nodes clockwise, so that as many links as possible are sides."""
    numbers = range(nodes)
    pairs = [frozenset(link.ends) for link in links]

    def diagonals(order: tuple[int, ...]) -> int:
        sides = {frozenset((order[a], order[b])) for a, b in _SIDES if max(a, b) < len(order)}
        return sum(pair not in sides for pair in pairs)

    return min(itertools.permutations(numbers), key=lambda order: (diagonals(order), order))


def _marks(links: Sequence[Link]) -> list[str]:
    """Return a letter for each link, or nothing where they need no telling apart."""
    if alike(links) or len(links) > len(ascii_letters):
        return [""] * len(links)
    return list(ascii_letters[: len(links)])


def _legend(
    links: Sequence[Link], marks: Sequence[str], describe: Callable[[Link], str]
) -> list[str]:
    if not links:
        return []
    indent = " " * _MARGIN
    if alike(links):
        each = " each" if len(links) > 1 else ""
        return ["", f"{indent}{_count(links)}: {describe(links[0])}{each}"]
    return [
        "",
        *(
            f"{indent}{mark}  {link.ends[0]} – {link.ends[1]}  {describe(link)}"
            for mark, link in zip(marks, links, strict=True)
        ),
    ]


def _count(links: Sequence[Link]) -> str:
    return f"{len(links)} link{'s' * (len(links) > 1)}"


def _square(
    texts: Sequence[Sequence[str]], links: Sequence[Link], marks: Sequence[str]
) -> list[str]:
    order = square_order(len(texts), links)
    inner = max(len(line) for lines in texts for line in lines) + 2
    wide, high = inner + 2, len(texts[0]) + 2
    at = {number: place for place, number in enumerate(order)}
    joined = [{at[link.ends[0]], at[link.ends[1]]} for link in links]
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


def _lanes(links: Sequence[Link]) -> list[int]:
    """Return a lane for each link, short ones first, so that links in one do not overlap."""
    taken: list[list[tuple[int, int]]] = []
    lanes = [0] * len(links)
    spans = [(min(link.ends), max(link.ends)) for link in links]
    for index in sorted(range(len(links)), key=lambda i: (spans[i][1] - spans[i][0], spans[i])):
        low, high = spans[index]
        lane = next(
            (
                i
                for i, others in enumerate(taken)
                if all(high <= other[0] or low >= other[1] for other in others)
            ),
            len(taken),
        )
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes[index] = lane
    return lanes


def _stack(
    texts: Sequence[Sequence[str]],
    links: Sequence[Link],
    marks: Sequence[str],
    lanes: Sequence[int],
) -> list[str]:
    """Draw nodes below each other; every end of a link has a row of its box to itself."""
    ports: dict[int, list[tuple[int, int, int]]] = {i: [] for i in range(len(texts))}
    for index, link in enumerate(links):
        low, high = sorted(link.ends)
        # Links that go down leave at the bottom, the outermost first: so few cross each other.
        ports[low].append((1, -lanes[index], index))
        ports[high].append((0, lanes[index], index))
    inner = max(len(line) for lines in texts for line in lines) + 2
    canvas = Canvas()
    row = 0
    ends: dict[int, list[int]] = {index: [] for index in range(len(links))}
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


def _listing(nodes: int, links: Sequence[Link], describe: Callable[[Link], str]) -> list[str]:
    """Return a line a node with its neighbours, for machines that cannot be drawn well."""
    same = alike(links)
    neighbours: list[list[str]] = [[] for _ in range(nodes)]
    for link in links:
        detail = "" if same else f" ({describe(link)})"
        for one, other in (link.ends, link.ends[::-1]):
            neighbours[one].append(f"{other}{detail}")
    wide = len(str(nodes - 1))
    indent = " " * _MARGIN
    lines = [
        f"{indent}node {number:>{wide}} – {', '.join(others) or 'no links'}"
        for number, others in enumerate(neighbours)
    ]
    return lines + (_legend(links, [""] * len(links), describe) if same else [])
