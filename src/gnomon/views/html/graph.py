"""Graphs as SVG: nodes in boxes, links between them, as wide as their load in each direction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnomon import units
from gnomon.views.blocks import Cell, Edge, Graph, Node
from gnomon.views.shared import counted, facts_of, loads_of, said, square_order

from .markup import element, fold, lettering, title, words

_LETTER = 7.0
_LINE = 17.0
_ROOM = 58.0  # between two boxes, for a link with its text
_MARGIN = 12.0
_MOST_LABELS = 16
_MOST_LOADED = 8  # links whose loads are written where there are too many for all
_WIDEST = 11.0  # of a link with a full load
_MOST_LISTED = 500
_HEADING = 52.0
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


class Point(NamedTuple):
    """A place on the sheet in pixels from its upper left corner."""

    x: float
    y: float


def graph(block: Graph) -> str:
    """Return the drawing as a figure."""
    if not block.nodes:
        return ""
    edges = _edges(block)
    body, size = _body(block, edges)
    label = f"{block.caption or 'Graph'}: {len(block.nodes)} nodes, {len(edges)} links"
    picture = element(
        "svg", body, class_="graph", role="img", aria_label=label, width=size.x, height=size.y,
        viewBox=f"0 0 {size.x:.0f} {size.y:.0f}", style=f"min-width:{min(size.x, 560):.0f}px",
    )  # fmt: skip
    box = element("div", picture, class_="scroll", tabindex="0", role="region", aria_label=label)
    caption = words(_caption(block, edges))
    return f"<figure>{box}<figcaption>{caption}</figcaption></figure>{_in_words(block, edges)}"


def graph_file(block: Graph, heading: str) -> str:
    """Return the drawing as the text of an SVG file, with a title and what all links share."""
    edges = _edges(block)
    body, size = _body(block, edges)
    caption = _caption(block, edges)
    wide = max(size.x, *(len(text) * _LETTER * 1.15 + 2 * _MARGIN for text in (heading, caption)))
    high = size.y + _HEADING
    parts = [
        title(heading),
        element("style", _STYLE),
        element("rect", class_="sheet", width=wide, height=high),
        lettering(heading, wide / 2, 24, "title", "middle"),
        lettering(caption, wide / 2, 42, "m", "middle"),
        element("g", body, transform=f"translate({(wide - size.x) / 2:.1f} {_HEADING})"),
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
    longest = max(len(line) for lines in texts for line in lines)
    box = Point(longest * _LETTER + 20, max(map(len, texts)) * _LINE + 12)
    centres = [Point(x + _MARGIN, y + _MARGIN) for x, y in _centres(len(texts), edges, box)]
    size = Point(
        max(p.x for p in centres) + box.x / 2 + _MARGIN,
        max(p.y for p in centres) + box.y / 2 + _MARGIN,
    )
    made = (
        *_links(edges, centres, block.names),
        *_labels(edges, centres, box),
        *(_box(p, lines, box) for p, lines in zip(centres, texts, strict=True)),
    )
    return "".join(made), size


def _caption(block: Graph, edges: Sequence[Edge]) -> str:
    """Return the caption with what is said of all links at once."""
    shared = facts_of(edges[0], block.names) if _common(edges) else ""
    each = f"Each link: {shared}." if shared else ""
    ways = "Loads are written where they come from." if any(e.loads for e in edges) else ""
    return " ".join(filter(None, (block.caption, each, ways)))


def _lines(node: Node) -> list[str]:
    facts = (f if isinstance(f, str) else f"{f[0]} {said(f[1])}".strip() for f in node.facts)
    return [node.name, *facts]


def _common(edges: Sequence[Edge]) -> tuple[Cell, ...]:
    """Return the facts that all links share; they are said once, below."""
    facts = {edge.facts for edge in edges}
    return facts.pop() if len(facts) == 1 and len(edges) > 1 else ()


def _centres(count: int, edges: Sequence[Edge], box: Point) -> list[Point]:
    """Return where nodes stand: in a row, at the corners of a rectangle, or on an ellipse."""
    if count <= 4:
        right, lower = box.x + 3 * _ROOM, box.y + 2 * _ROOM
        corners = ((0, 0), (right, 0), (right, lower), (0, lower))
        order = square_order(count, [(edge.a, edge.b) for edge in edges])
        at = dict(zip(order, corners, strict=False))
        return [Point(at[i][0] + box.x / 2, at[i][1] + box.y / 2) for i in range(count)]
    radius = box.y
    turns = [2 * math.pi * i / count for i in range(count)]
    while True:
        centres = [
            Point(
                2 * radius * (1 + math.sin(t)) + box.x / 2, radius * (1 - math.cos(t)) + box.y / 2
            )
            for t in turns
        ]
        if all(
            abs(a.x - b.x) > box.x + _ROOM / 2 or abs(a.y - b.y) > box.y + _ROOM / 2
            for a, b in itertools.pairwise([*centres, centres[0]])
        ):
            return centres
        radius *= 1.1


def _links(edges: Sequence[Edge], centres: Sequence[Point], names: Sequence[str]) -> Iterator[str]:
    for edge in edges:
        a, b = centres[edge.a], centres[edge.b]
        facts = facts_of(edge, names)
        if edge.loads is None:
            yield _stroke(a, b, 0.0, 2.0, "link", facts)
            continue
        for side, (load, (start, end)) in enumerate(zip(edge.loads, ((a, b), (b, a)), strict=True)):
            wide = 1.2 + _WIDEST * min(max(load, 0.0), 1.0)
            text = f"load {units.number(load, '%')}" + f", {facts}" * bool(facts)
            yield _stroke(start, end, wide / 2 + 1.0, wide, f"link load d{side}", text)


def _stroke(a: Point, b: Point, aside: float, wide: float, look: str, text: str) -> str:
    """Return a line that runs to the right of the one between two nodes, seen in its direction."""
    long = math.hypot(b.x - a.x, b.y - a.y) or 1.0
    dx, dy = -(b.y - a.y) / long * aside, (b.x - a.x) / long * aside
    return element(
        "line", title(text), class_=look, x1=a.x + dx, y1=a.y + dy, x2=b.x + dx, y2=b.y + dy,
        stroke_width=wide,
    )  # fmt: skip


def _labels(edges: Sequence[Edge], centres: Sequence[Point], box: Point) -> Iterator[str]:
    """Return texts on links: facts that differ, and loads nearer to where each comes from."""
    loads = sorted((load for edge in edges if edge.loads for load in edge.loads), reverse=True)
    many, crossing = len(edges) > _MOST_LABELS, 0
    least = loads[_MOST_LOADED - 1] if many and len(loads) > _MOST_LOADED else 0.0
    common = _common(edges)
    for edge in edges:
        a, b = _visible(centres[edge.a], centres[edge.b], box)
        neighbours = abs(a.x - b.x) < 1 or abs(a.y - b.y) < 1
        crossing += not neighbours
        if edge.loads:
            for share, load in zip((0.22, 0.78), edge.loads, strict=True):
                if load > 0 and load >= least:
                    yield _label(a, b, share, [units.number(load, "%")])
        elif edge.facts and not common and not many:
            middle = 0.5 if neighbours else 0.3 if crossing % 2 else 0.7
            yield _label(a, b, middle, [said(cell) for cell in edge.facts])


def _visible(a: Point, b: Point, box: Point) -> tuple[Point, Point]:
    """Return the part of the line between two boxes that neither of them covers."""
    dx, dy = abs(b.x - a.x) or 1e-9, abs(b.y - a.y) or 1e-9
    hidden = min(box.x / 2 / dx, box.y / 2 / dy, 0.45)
    x, y = (b.x - a.x) * hidden, (b.y - a.y) * hidden
    return Point(a.x + x, a.y + y), Point(b.x - x, b.y - y)


def _label(a: Point, b: Point, share: float, lines: Sequence[str]) -> str:
    x, y = a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share
    wide, high = max(map(len, lines)) * 6.4 + 6, len(lines) * 13.0 + 2
    made = element("rect", class_="behind", x=x - wide / 2, y=y - high / 2, width=wide, height=high)
    for number, line in enumerate(lines):
        made += lettering(line, x, y - high / 2 + 12 + 13.0 * number, anchor="middle")
    return made


def _box(centre: Point, lines: Sequence[str], box: Point) -> str:
    left, top = centre.x - box.x / 2, centre.y - box.y / 2
    made = element("rect", class_="box", x=left, y=top, width=box.x, height=box.y, rx=5.0)
    for number, line in enumerate(lines):
        y = top + 18 + _LINE * number
        made += lettering(line, centre.x, y, "m" if number else "strong", "middle")
    return made


def _in_words(block: Graph, edges: Sequence[Edge]) -> str:
    """Return the links in words, folded away: a picture of many is not read by everyone."""
    common = _common(edges)
    if not edges or (common and not any(edge.loads for edge in edges)):
        return ""
    items = ""
    for edge in edges[:_MOST_LISTED]:
        facts = (loads_of(edge), "" if common else facts_of(edge, block.names))
        a, b = block.nodes[edge.a].name, block.nodes[edge.b].name
        items += f"<li>{words(f'{a} – {b}: ' + ', '.join(filter(None, facts)))}</li>"
    return fold(f"{counted(len(edges), 'link')} in words", f"<ul>{items}</ul>")
