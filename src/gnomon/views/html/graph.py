"""Graphs as SVG: nodes in boxes, links between them, as wide as their load in each direction."""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Iterator, Sequence

from gnomon import units
from gnomon.views.blocks import Cell, Edge, Graph
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


Point = complex
"""A place on the sheet, or a size: pixels to the right, and downwards as the imaginary part."""


def graph(block: Graph) -> str:
    """Return the drawing as a figure."""
    if not block.nodes:
        return ""
    edges = _edges(block)
    body, size = _body(block, edges)
    label = f"{block.caption or 'Graph'}: {len(block.nodes)} nodes, {len(edges)} links"
    style = f"min-width:{min(size.real, 560):.0f}px"
    picture = _sheet(body, size, class_="graph", aria_label=label, style=style)
    box = element("div", picture, class_="scroll", tabindex="0", role="region", aria_label=label)
    caption = words(_caption(block, edges))
    return f"<figure>{box}<figcaption>{caption}</figcaption></figure>{_in_words(block, edges)}"


def graph_file(block: Graph, heading: str) -> str:
    """Return the drawing as the text of an SVG file, with a title and what all links share."""
    edges = _edges(block)
    body, size = _body(block, edges)
    caption = _caption(block, edges)
    texts = (len(text) * _LETTER * 1.15 + 2 * _MARGIN for text in (heading, caption))
    sheet = complex(max(size.real, *texts), size.imag + _HEADING)
    aside = (sheet.real - size.real) / 2
    parts = [
        title(heading),
        element("style", _STYLE),
        element("rect", class_="sheet", width=sheet.real, height=sheet.imag),
        lettering(heading, sheet.real / 2, 24, "title", "middle"),
        lettering(caption, sheet.real / 2, 42, "m", "middle"),
        element("g", body, transform=f"translate({aside:.1f} {_HEADING})"),
    ]
    picture = _sheet("".join(parts), sheet, xmlns="http://www.w3.org/2000/svg")
    return f"{picture}\n"


def _sheet(body: str, size: Point, **more: str) -> str:
    wide, high = size.real, size.imag
    box = f"0 0 {wide:.0f} {high:.0f}"
    return element("svg", body, role="img", width=wide, height=high, viewBox=box, **more)


def _edges(block: Graph) -> list[Edge]:
    return [e for e in block.edges if 0 <= e.a < len(block.nodes) and 0 <= e.b < len(block.nodes)]


def _body(block: Graph, edges: Sequence[Edge]) -> tuple[str, Point]:
    """Return links and boxes, and how much room they take."""
    texts = [[node.name, *map(_fact, node.facts)] for node in block.nodes]
    longest = max(len(line) for lines in texts for line in lines)
    box = complex(longest * _LETTER + 20, max(map(len, texts)) * _LINE + 12)
    centres = [each + complex(_MARGIN, _MARGIN) for each in _centres(len(texts), edges, box)]
    size = complex(max(p.real for p in centres), max(p.imag for p in centres))
    made = (
        *_links(edges, centres, block.names),
        *_labels(edges, centres, box),
        *(_box(p, lines, box) for p, lines in zip(centres, texts, strict=True)),
    )
    return "".join(made), size + box / 2 + complex(_MARGIN, _MARGIN)


def _caption(block: Graph, edges: Sequence[Edge]) -> str:
    """Return the caption with what is said of all links at once."""
    shared = facts_of(edges[0], block.names) if _common(edges) else ""
    each = f"Each link: {shared}." if shared else ""
    ways = "Loads are written where they come from." if any(e.loads for e in edges) else ""
    return " ".join(filter(None, (block.caption, each, ways)))


def _fact(fact: str | tuple[str, Cell]) -> str:
    return fact if isinstance(fact, str) else f"{fact[0]} {said(fact[1])}".strip()


def _common(edges: Sequence[Edge]) -> tuple[Cell, ...]:
    """Return the facts that all links share; they are said once, below."""
    facts = {edge.facts for edge in edges}
    return facts.pop() if len(facts) == 1 and len(edges) > 1 else ()


def _centres(count: int, edges: Sequence[Edge], box: Point) -> list[Point]:
    """Return where nodes stand: in a row, at the corners of a rectangle, or on an ellipse."""
    if count <= 4:
        right, lower = complex(box.real + 3 * _ROOM), complex(0, box.imag + 2 * _ROOM)
        order = square_order(count, [(edge.a, edge.b) for edge in edges])
        at = dict(zip(order, (0, right, right + lower, lower), strict=False))
        return [at[number] + box / 2 for number in range(count)]
    radius = box.imag
    turns = [2 * math.pi * i / count for i in range(count)]
    while True:
        centres = [
            complex(2 * radius * (1 + math.sin(t)) + box.real / 2, radius * (1 - math.cos(t)))
            for t in turns
        ]
        apart = (a - b for a, b in itertools.pairwise([*centres, centres[0]]))
        if all(
            abs(way.real) > box.real + _ROOM / 2 or abs(way.imag) > box.imag + _ROOM / 2
            for way in apart
        ):
            return [centre + box.imag / 2 * 1j for centre in centres]
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
    beside = cmath.rect(aside, cmath.phase(b - a) + math.pi / 2)
    a, b = a + beside, b + beside
    ends = {"x1": a.real, "y1": a.imag, "x2": b.real, "y2": b.imag}
    return element("line", title(text), class_=look, **ends, stroke_width=wide)


def _labels(edges: Sequence[Edge], centres: Sequence[Point], box: Point) -> Iterator[str]:
    """Return texts on links: facts that differ, and loads nearer to where each comes from."""
    loads = sorted((load for edge in edges if edge.loads for load in edge.loads), reverse=True)
    many, crossing = len(edges) > _MOST_LABELS, 0
    least = loads[_MOST_LOADED - 1] if many and len(loads) > _MOST_LOADED else 0.0
    common = _common(edges)
    for edge in edges:
        a, way = centres[edge.a], centres[edge.b] - centres[edge.a]
        neighbours = abs(way.real) < 1 or abs(way.imag) < 1
        crossing += not neighbours
        beside = (box.real / 2 / (abs(way.real) or 1e-9), box.imag / 2 / (abs(way.imag) or 1e-9))
        hidden = min(*beside, 0.45)  # the share of the link that a box covers
        a, way = a + way * hidden, way * (1 - 2 * hidden)
        if edge.loads:
            for share, load in zip((0.22, 0.78), edge.loads, strict=True):
                if load > 0 and load >= least:
                    yield _label(a + way * share, [units.number(load, "%")])
        elif edge.facts and not common and not many:
            middle = 0.5 if neighbours else 0.3 if crossing % 2 else 0.7
            yield _label(a + way * middle, [said(cell) for cell in edge.facts])


def _label(at: Point, lines: Sequence[str]) -> str:
    wide, high = max(map(len, lines)) * 6.4 + 6, len(lines) * 13.0 + 2
    left, top = at.real - wide / 2, at.imag - high / 2
    made = element("rect", class_="behind", x=left, y=top, width=wide, height=high)
    for number, line in enumerate(lines):
        made += lettering(line, at.real, top + 12 + 13.0 * number, anchor="middle")
    return made


def _box(centre: Point, lines: Sequence[str], box: Point) -> str:
    corner = centre - box / 2
    size = {"x": corner.real, "y": corner.imag, "width": box.real, "height": box.imag}
    made = element("rect", class_="box", **size, rx=5.0)
    for number, line in enumerate(lines):
        y = corner.imag + 18 + _LINE * number
        made += lettering(line, centre.real, y, "m" if number else "strong", "middle")
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
