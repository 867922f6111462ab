"""Boxes and the links between them; a link is as wide as its load, each direction by itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnomon import units
from gnomon.views.blocks import Cell, Edge, Graph, Node

from .markup import element, escape, glued, lettering, said

_LETTER = 7.0
_LINE = 17.0
_ROOM = 58.0  # between two boxes, for a link with its text
_MARGIN = 12.0
_MOST_LABELS = 16
_MOST_LOADED = 8  # links whose loads are written where there are too many for all
_WIDEST = 11.0  # of a link with a full load


class Point(NamedTuple):
    """A place on the sheet in pixels from its upper left corner."""

    x: float
    y: float


# What a drawing needs of the style of pages to stand alone, in the reader's light or dark theme.
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2933 }
text.title { font-size: 15px; font-weight: 600 }
text.strong { font-weight: 600 }
.sheet, .behind { fill: #ffffff }
.box { fill: #eef1f4; stroke: #7b8794 }
.link { stroke: #7b8794 }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb }
  .sheet, .behind { fill: #16191d }
  .box { fill: #262b31 }
}
"""
_HEADING = 52.0


def graph(block: Graph) -> str:
    """Return the drawing as a figure."""
    if not block.nodes:
        return ""
    edges = _edges(block)
    body, size = _body(block, edges)
    common = _common(edges)
    label = _label_of(block, edges)
    picture = element(
        "svg", body, class_="graph", role="img", aria_label=label, width=size.x, height=size.y,
        viewBox=f"0 0 {size.x:.0f} {size.y:.0f}", style=f"min-width:{min(size.x, 560):.0f}px",
    )  # fmt: skip
    box = element("div", picture, class_="scroll", tabindex="0", role="region", aria_label=label)
    caption = escape(glued(_caption(block, edges)))
    return f"<figure>{box}<figcaption>{caption}</figcaption></figure>" + _table(
        block, edges, common
    )


def graph_file(block: Graph, title: str) -> str:
    """Return the drawing as the text of an SVG file, with a title and what all links share."""
    edges = _edges(block)
    body, size = _body(block, edges)
    caption = _caption(block, edges)
    wide = max(size.x, *(len(text) * _LETTER * 1.15 + 2 * _MARGIN for text in (title, caption)))
    high = size.y + _HEADING
    moved = f"translate({(wide - size.x) / 2:.1f} {_HEADING})"
    parts = [
        element("title", escape(title)),
        element("style", _STYLE),
        element("rect", class_="sheet", width=wide, height=high),
        lettering(title, wide / 2, 24, "title", "middle"),
        lettering(caption, wide / 2, 42, "m", "middle"),
        element("g", body, transform=moved),
    ]
    picture = element(
        "svg", "\n".join(parts), xmlns="http://www.w3.org/2000/svg", role="img", width=wide,
        height=high, viewBox=f"0 0 {wide:.0f} {high:.0f}",
    )  # fmt: skip
    return f"{picture}\n"


def _edges(block: Graph) -> list[Edge]:
    return [e for e in block.edges if 0 <= e.a < len(block.nodes) and 0 <= e.b < len(block.nodes)]


def _body(block: Graph, edges: Sequence[Edge]) -> tuple[str, Point]:
    """Return links and boxes, and how much room they take."""
    texts = [_lines(node) for node in block.nodes]
    wide = max(len(line) for lines in texts for line in lines) * _LETTER + 20
    high = max(map(len, texts)) * _LINE + 12
    centres = _centres(len(block.nodes), edges, wide, high)
    width = max(p.x for p in centres) + wide / 2 + 2 * _MARGIN
    height = max(p.y for p in centres) + high / 2 + 2 * _MARGIN
    centres = [Point(p.x + _MARGIN, p.y + _MARGIN) for p in centres]
    body = "".join(_links(edges, centres, block.names)) + "".join(
        _labels(edges, centres, _common(edges), Point(wide, high))
    )
    body += "".join(_box(p, lines, wide, high) for p, lines in zip(centres, texts, strict=True))
    return body, Point(width, height)


def _label_of(block: Graph, edges: Sequence[Edge]) -> str:
    return f"{block.caption or 'Graph'}: {len(block.nodes)} nodes, {len(edges)} links"


def _caption(block: Graph, edges: Sequence[Edge]) -> str:
    """Return the caption with what is said of all links at once."""
    shared = _facts(_common(edges), block.names)
    each = f"Each link: {shared}." if shared else ""
    ways = "Loads are written where they come from." if any(e.loads for e in edges) else ""
    return " ".join(filter(None, (block.caption, each, ways)))


def _lines(node: Node) -> list[str]:
    facts = (
        fact if isinstance(fact, str) else f"{fact[0]} {said(fact[1])}".strip()
        for fact in node.facts
    )
    return [node.name, *facts]


def _common(edges: Sequence[Edge]) -> tuple[Cell, ...]:
    """Return the facts that all links share; they are said once, below."""
    facts = {edge.facts for edge in edges}
    return facts.pop() if len(facts) == 1 and len(edges) > 1 else ()


def _facts(cells: Sequence[Cell], names: Sequence[str]) -> str:
    """Return facts with their names, where they have some."""
    named = [*names, *("" for _ in cells)]
    return ", ".join(
        f"{name} {said(cell)}".strip() for name, cell in zip(named, cells, strict=False)
    )


def _centres(count: int, edges: Sequence[Edge], wide: float, high: float) -> list[Point]:
    """Return where nodes stand: in a row, at the corners of a rectangle, or on an ellipse."""
    if count <= 2:
        return [Point(i * (wide + 3 * _ROOM) + wide / 2, high / 2) for i in range(count)]
    if count <= 4:
        right, lower = wide + 3 * _ROOM, high + 2 * _ROOM
        corners = ((0, 0), (right, 0), (right, lower), (0, lower))
        at = dict(zip(_round(count, edges), corners, strict=False))
        return [Point(at[i][0] + wide / 2, at[i][1] + high / 2) for i in range(count)]
    radius = high
    while True:
        turns = [2 * math.pi * i / count for i in range(count)]
        centres = [
            Point(2 * radius * (1 + math.sin(t)) + wide / 2, radius * (1 - math.cos(t)) + high / 2)
            for t in turns
        ]
        pairs = itertools.pairwise([*centres, centres[0]])
        if all(
            abs(a.x - b.x) > wide + _ROOM / 2 or abs(a.y - b.y) > high + _ROOM / 2 for a, b in pairs
        ):
            return centres
        radius *= 1.1


def _round(count: int, edges: Sequence[Edge]) -> tuple[int, ...]:
    """Return the order of up to four nodes in which most neighbours are linked."""
    linked = {frozenset((edge.a, edge.b)) for edge in edges}

    def sides(order: tuple[int, ...]) -> int:
        return sum(frozenset(pair) in linked for pair in itertools.pairwise((*order, order[0])))

    orders = ((0, *rest) for rest in itertools.permutations(range(1, count)))
    return max(orders, key=sides)


def _links(edges: Sequence[Edge], centres: Sequence[Point], names: Sequence[str]) -> Iterator[str]:
    for edge in edges:
        a, b = centres[edge.a], centres[edge.b]
        facts = _facts(edge.facts, names)
        if edge.loads is None:
            yield _stroke(a, b, 0.0, 2.0, "link", facts)
            continue
        for side, (load, (start, end)) in enumerate(zip(edge.loads, ((a, b), (b, a)), strict=True)):
            wide = 1.2 + _WIDEST * min(max(load, 0.0), 1.0)
            text = f"load {units.number(load, '%')}" + f", {facts}" * bool(facts)
            yield _stroke(start, end, wide / 2 + 1.0, wide, f"link load d{side}", text)


def _stroke(a: Point, b: Point, aside: float, wide: float, class_: str, text: str) -> str:
    """Return a line that runs to the right of the one between two nodes, seen in its direction."""
    long = math.hypot(b.x - a.x, b.y - a.y) or 1.0
    dx, dy = -(b.y - a.y) / long * aside, (b.x - a.x) / long * aside
    title = element("title", escape(text)) if text else ""
    return element(
        "line",
        title,
        class_=class_,
        x1=a.x + dx,
        y1=a.y + dy,
        x2=b.x + dx,
        y2=b.y + dy,
        stroke_width=wide,
    )


def _labels(
    edges: Sequence[Edge], centres: Sequence[Point], common: Sequence[Cell], size: Point
) -> Iterator[str]:
    """Return texts on links: facts that differ, and loads nearer to where each comes from."""
    loads = sorted((load for edge in edges if edge.loads for load in edge.loads), reverse=True)
    some = len(edges) > _MOST_LABELS and len(loads) > _MOST_LOADED
    least = loads[_MOST_LOADED - 1] if some else 0.0
    crossing = 0
    for edge in edges:
        a, b = _visible(centres[edge.a], centres[edge.b], size)
        neighbours = abs(a.x - b.x) < 1 or abs(a.y - b.y) < 1
        crossing += not neighbours
        if edge.loads:
            for share, load in zip((0.22, 0.78), edge.loads, strict=True):
                if load > 0 and load >= least:
                    yield _label(a, b, share, [units.number(load, "%")])
        elif edge.facts and not common and len(edges) <= _MOST_LABELS:
            middle = 0.5 if neighbours else 0.3 if crossing % 2 else 0.7
            yield _label(a, b, middle, [said(cell) for cell in edge.facts])


def _visible(a: Point, b: Point, size: Point) -> tuple[Point, Point]:
    """Return the part of the line between two boxes that neither of them covers."""
    dx, dy = abs(b.x - a.x) or 1e-9, abs(b.y - a.y) or 1e-9
    hidden = min(size.x / 2 / dx, size.y / 2 / dy, 0.45)
    x, y = (b.x - a.x) * hidden, (b.y - a.y) * hidden
    return Point(a.x + x, a.y + y), Point(b.x - x, b.y - y)


def _label(a: Point, b: Point, share: float, lines: Sequence[str]) -> str:
    x, y = a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share
    wide, high = max(map(len, lines)) * 6.4 + 6, len(lines) * 13.0 + 2
    made = element("rect", class_="behind", x=x - wide / 2, y=y - high / 2, width=wide, height=high)
    for number, line in enumerate(lines):
        made += lettering(line, x, y - high / 2 + 12 + 13.0 * number, anchor="middle")
    return made


def _box(centre: Point, lines: Sequence[str], wide: float, high: float) -> str:
    left, top = centre.x - wide / 2, centre.y - high / 2
    made = element("rect", class_="box", x=left, y=top, width=wide, height=high, rx=5.0)
    for number, line in enumerate(lines):
        y = top + 18 + _LINE * number
        made += lettering(line, centre.x, y, "m" if number else "strong", "middle")
    return made


def _table(block: Graph, edges: Sequence[Edge], common: Sequence[Cell]) -> str:
    """Return the links in words, folded away: a picture of many is not read by everyone."""
    if not edges or (common and not any(edge.loads for edge in edges)):
        return ""
    items = []
    for edge in edges[:500]:
        facts = [_facts(edge.facts, block.names)] if edge.facts and not common else []
        if edge.loads:
            there, back = (units.number(load, "%") for load in edge.loads)
            facts.insert(0, f"load {there} there, {back} back")
        a, b = block.nodes[edge.a].name, block.nodes[edge.b].name
        items.append(f"<li>{escape(glued(f'{a} – {b}: ' + ', '.join(facts)))}</li>")
    count = f"{len(edges)} link" + "s" * (len(edges) != 1)
    return f"<details><summary>{count} in words</summary><ul>{''.join(items)}</ul></details>"
