"""The topology of a machine as an SVG: nodes on a circle, links as straight lines.

Colours follow the reader's light or dark theme; nothing is fetched from elsewhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from gnomon.views.topology import alike, link_text, node_lines, square_order

if TYPE_CHECKING:
    from gnomon.machines.machine import Link, Machine

_CHARACTER = 7.4  # pixels, at the size of the texts in boxes
_LINE = 18.0
_MARGIN = 24.0
_ROOM = 44.0  # between two boxes
_MOST_LABELS = 16

_STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1f2933; text-anchor: middle; }
    .title { font-size: 15px; font-weight: 600; }
    .strong { font-weight: 600; }
    .label { font-size: 11px; fill: #52606d; }
    .sheet { fill: #ffffff; }
    .box { fill: #e6f2f1; stroke: #00695c; stroke-width: 1.5; }
    .link { stroke: #7b8794; stroke-width: 2; }
    .behind { fill: #ffffff; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e4e7eb; }
      .label { fill: #cbd2d9; }
      .sheet, .behind { fill: #1f2430; }
      .box { fill: #153a38; stroke: #4db6ac; }
      .link { stroke: #9aa5b1; }
    }
"""


class Point(NamedTuple):
    """A place on the sheet, in pixels from its upper left corner."""

    x: float
    y: float


def topology_svg(machine: Machine) -> str:
    """Return the drawing of a machine as the text of an SVG file."""
    texts = [node_lines(machine, number) for number in range(len(machine.nodes))]
    return graph_svg(f"{machine.name}: simulated machine", machine.title, texts, machine.links)


def graph_svg(title: str, what: str, texts: Sequence[Sequence[str]], links: Sequence[Link]) -> str:
    """Return nodes with these texts and their links as the text of an SVG file."""
    wide = max(len(line) for lines in texts for line in lines) * _CHARACTER + 24
    high = len(texts[0]) * _LINE + 16
    centres = _centres(len(texts), links, wide, high)
    heading = 2 * _LINE + _MARGIN
    caption = _caption(what, links)
    width = max(
        max(p.x for p in centres) + wide / 2,
        *(len(text) * _CHARACTER * 1.1 for text in (title, caption)),
    )
    width += 2 * _MARGIN
    height = max(p.y for p in centres) + high / 2 + heading + _MARGIN
    # What was laid out from zero moves into the middle, below the heading.
    shift = (width - max(p.x for p in centres) - wide / 2) / 2
    centres = [Point(p.x + shift, p.y + heading) for p in centres]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"  <title>{escape(title)}</title>",
        f"  <style>{_STYLE}  </style>",
        f'  <rect class="sheet" width="{width:.0f}" height="{height:.0f}"/>',
        _text(Point(width / 2, _MARGIN + 6), title, "title"),
        _text(Point(width / 2, _MARGIN + 6 + _LINE), caption, "label"),
        *(_line(centres[link.ends[0]], centres[link.ends[1]]) for link in links),
        *_labels(links, centres),
    ]
    for centre, lines in zip(centres, texts, strict=True):
        parts += _box(centre, lines, wide, high)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _caption(what: str, links: Sequence[Link]) -> str:
    if not links:
        return what
    number = f"{len(links)} link{'s' * (len(links) > 1)}"
    if alike(links):
        return f"{what} – {number}, {link_text(links[0])}"
    return f"{what} – {number}"


def _centres(count: int, links: Sequence[Link], wide: float, high: float) -> list[Point]:
    """Return where nodes stand: up to four in a rectangle, more on an ellipse."""
    if count <= 4:
        right, lower = wide * 2, high * 2.6
        corners = ((0, 0), (right, 0), (right, lower), (0, lower))
        at = dict(zip(square_order(count, links), corners, strict=False))
        return [Point(at[i][0] + wide / 2, at[i][1] + high / 2) for i in range(count)]
    radius = high
    while True:
        centres = [
            Point(
                2 * radius * (1 + math.sin(2 * math.pi * i / count)) + wide / 2,
                radius * (1 - math.cos(2 * math.pi * i / count)) + high / 2,
            )
            for i in range(count)
        ]
        if all(_apart(a, b, wide, high) for a, b in itertools.pairwise(centres)):
            return centres
        radius *= 1.1


def _apart(a: Point, b: Point, wide: float, high: float) -> bool:
    """Whether two boxes leave room for a link with a text between them."""
    return abs(a.x - b.x) > wide + _ROOM or abs(a.y - b.y) > high + _ROOM


def _labels(links: Sequence[Link], centres: list[Point]) -> list[str]:
    """Return a text on each link; those that meet in the middle have theirs nearer to an end."""
    said = len(centres) > 4 and alike(links)  # by the caption
    if said or len(links) > _MOST_LABELS:
        return []
    parts = []
    crossing = 0
    for link in links:
        a, b = centres[link.ends[0]], centres[link.ends[1]]
        share = 0.5
        if not _beside(len(centres), links, link):
            # Of the two that cross in a square, one has its text above and one below the middle.
            share = 0.66 if len(centres) <= 4 and crossing % 2 else 0.34
            crossing += 1
        at = Point(a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share)
        for offset, words in (
            (-3.0, f"{link.gb_per_s:.4g} GB/s"),
            (10.0, f"{link.latency_ns:.4g} ns"),
        ):
            wide = len(words) * 6.2 + 4
            place = Point(at.x, at.y + offset)
            parts.append(
                f'  <rect class="behind" x="{at.x - wide / 2:.1f}" y="{place.y - 10:.1f}" '
                f'width="{wide:.1f}" height="13"/>'
            )
            parts.append(_text(place, words, "label"))
    return parts


def _beside(count: int, links: Sequence[Link], link: Link) -> bool:
    """Whether the ends of a link are neighbours on the circle."""
    order = square_order(count, links) if count <= 4 else tuple(range(count))
    apart = abs(order.index(link.ends[0]) - order.index(link.ends[1]))
    return apart in (1, max(count, 4) - 1)


def _line(a: Point, b: Point) -> str:
    return f'  <line class="link" x1="{a.x:.1f}" y1="{a.y:.1f}" x2="{b.x:.1f}" y2="{b.y:.1f}"/>'


def _box(centre: Point, lines: Sequence[str], wide: float, high: float) -> list[str]:
    left, top = centre.x - wide / 2, centre.y - high / 2
    parts = [
        f'  <rect class="box" x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" '
        f'height="{high:.1f}" rx="8"/>'
    ]
    for number, line in enumerate(lines):
        place = Point(centre.x, top + 8 + _LINE * (number + 0.72))
        parts.append(_text(place, line, "strong" if number == 0 else "plain"))
    return parts


def _text(place: Point, text: str, style: str) -> str:
    return f'  <text class="{style}" x="{place.x:.1f}" y="{place.y:.1f}">{escape(text)}</text>'
