"""A chart as a figure: axes, what the reader needs to know them by, and layers on top."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gnomon import units
from gnomon.views.axes import MOST_ROWS, scales_of
from gnomon.views.blocks import Chart, Kind, Layer
from gnomon.views.shared import said

from . import frame
from .layers import LETTER, MOST_TITLED, Plot, drawn, piled
from .markup import classes, element, lettering, plain, words

_HEIGHT = 250.0  # of an area whose y has numbers
_COLOURS = ("s1", "s2", "s3")
_DASHES = ("", "dashed", "dotted", "dashdot")
_SERIES = {Kind.LINE, Kind.STEPS}
_BEHIND = {Kind.BAND: 0, Kind.HEAT: 0, Kind.BARS: 1, Kind.SPANS: 1}  # other layers are above
_SWATCHES = {
    Kind.LINE: '<path class="line" d="M0 7H22"/>',
    Kind.STEPS: '<path class="line" d="M0 11H11V3H22"/>',
    Kind.DOTS: '<circle cx="11" cy="7" r="4.2"/>',
    Kind.RANGES: '<path class="range" d="M1 7H21"/><circle cx="11" cy="7" r="4.2"/>',
    Kind.BAND: '<path class="fill" d="M0 2H22V12H0Z"/>',
    Kind.ARROWS: '<path class="arrow" d="M1 7H20"/>',
}
_POINT = '<circle cx="11" cy="7" r="3.5"/>'
_BLOCK = '<rect x="4" y="1" width="13" height="12"/>'


def figure(chart: Chart) -> str:
    """Return a chart with its legend and caption; empty where no layer has anything to draw."""
    layers = [layer for layer in chart.layers if layer.x or layer.y or layer.low]
    if not layers:
        return ""
    looks = _looks(layers)
    plot = _plot(chart, layers)
    layers = [_labelled(layer, layers, plot) for layer in layers]
    ends = _direct(plot, layers)
    bodies = _drawn(plot, layers, looks)
    above, rows, unnamed = frame.above(chart, plot)
    zoomable = not plot.x.names and max(max(len(each.x), len(each.y)) for each in layers) > 60
    inside = (
        *frame.across(plot, fine=zoomable),
        *frame.zones(chart, plot),
        *bodies,
        *frame.marks(chart, plot),
        *(
            lettering(text, "100%", y + 4, f"label end {looks[text].split()[0]}", dx=8)
            for y, text in ends
        ),
        above,
    )
    right = max(14.0, *(len(text) * LETTER + 10 for _, text in ends), _room_at_right(plot, layers))
    picture = _picture(plot, "".join(inside), rows, right, _sentence(chart, plot, layers))
    legend = _legend(chart, layers, looks, direct=bool(ends))
    notes = (chart.caption, _notes(plot, chart, unnamed))
    caption = "".join(f"<figcaption>{words(text)}</figcaption>" for text in notes if text)
    look = classes("chart", "zoomable" * zoomable)
    return element("figure", legend + picture + caption, class_=look)


# ---- laying out -----------------------------------------------------------------------------


def _looks(layers: Sequence[Layer]) -> dict[str, str]:
    """Return the classes that each series is known by; the same name is one series.

    They are told apart by colour, then by hollow points and broken lines. A is hollow, B filled.
    """
    names = list(dict.fromkeys(layer.name for layer in layers))
    if set(names) <= {"A", "B", ""}:
        return {name: "s1 hollow dashed" if name == "A" else "s1" for name in names}
    found = {}
    for number, name in enumerate(names):
        turn, colour = divmod(number, len(_COLOURS))
        dash = _DASHES[turn % len(_DASHES)]
        found[name] = classes(_COLOURS[colour], "hollow" * (turn % 2), dash) or ""
    return found


def _look_of(layer: Layer, looks: dict[str, str]) -> str:
    look = looks[layer.name]
    return f"{look.split()[0]} hollow dotted" if layer.reported else look


def _plot(chart: Chart, layers: Sequence[Layer]) -> Plot:
    x, y = scales_of(chart, layers)
    plot = Plot(x, y, 10.0, _HEIGHT)
    points = sum(max(len(each.x), len(each.y)) for each in layers if each.kind not in _SERIES)
    plot.titled = points <= MOST_TITLED or all(each.kind is Kind.SPANS for each in layers)
    plot.bare = any(each.kind is Kind.DOTS for each in layers)
    if y.names:
        plot.height = len(y.names) * _row_height(plot, layers)
    return plot


def _row_height(plot: Plot, layers: Sequence[Layer]) -> float:
    if any(layer.kind is Kind.HEAT for layer in layers):
        return 22.0 if len(plot.y.names) <= 64 else 6.0
    if len(plot.y.names) > 100:
        return 14.0
    dots = (layer for layer in layers if layer.kind is Kind.DOTS)
    piles = (piled(plot, layer, range(len(layer.x))).values() for layer in dots)
    high = 1 + max((number for pile in piles for number in pile), default=-1)
    return max(26.0, 14.0 * len(_groups(layers)) + 8, 19.0 * high)


def _groups(layers: Sequence[Layer]) -> list[str]:
    """Return the bars that stand beside each other; those of one stack are one."""
    bars = (each for each in layers if each.kind is Kind.BARS)
    return list(dict.fromkeys(each.stack or each.name for each in bars))


def _drawn(plot: Plot, layers: Sequence[Layer], looks: dict[str, str]) -> list[str]:
    """Return layers from the back to the front: areas, bars and lines before points."""
    groups = _groups(layers)
    made = []
    for layer in sorted(layers, key=lambda each: _BEHIND.get(each.kind, 2)):
        bars = layer.kind is Kind.BARS
        place = (groups.index(layer.stack or layer.name), len(groups)) if bars else (0, 1)
        made.append(drawn(plot, layer, _look_of(layer, looks), place))
    return made


def _labelled(layer: Layer, layers: Sequence[Layer], plot: Plot) -> Layer:
    """Return bars in rows with their values at their ends, where nothing else stands there."""
    alone = len(layers) == 1 and layer.kind is Kind.BARS and not layer.texts and not layer.stack
    if not (alone and plot.y.names) or len(layer.x) > 60:
        return layer
    return layer._replace(texts=tuple(said(value, plot.x.unit) for value in layer.x))


def _room_at_right(plot: Plot, layers: Sequence[Layer]) -> float:
    """Return the room that values at the ends of bars need: the longest bar has all the width."""
    if not plot.y.names:
        return 0.0
    bars = (layer for layer in layers if layer.kind is Kind.BARS)
    longest = max((len(text) for layer in bars for text in layer.texts), default=0)
    return min(longest * LETTER + 8, 130.0)


def _direct(plot: Plot, layers: Sequence[Layer]) -> list[tuple[float, str]]:
    """Return names to write at the ends of lines, where all of them have room there."""
    lines = [layer for layer in layers if layer.kind in _SERIES]
    names = {layer.name for layer in layers if layer.name}
    known = names == {layer.name for layer in lines}
    if len(names) < 2 or not known or any(len(name) > 14 for name in names):
        return []
    ends = []
    for layer in lines:
        points = map(plot.point, reversed(layer.x), reversed(layer.y))
        last = next((point for point in points if point is not None), None)
        if last is None or last[0] < 0.8:
            return []
        ends.append((last[1], layer.name))
    ends.sort()
    moved: list[tuple[float, str]] = []
    for y, name in ends:
        free = moved[-1][0] + frame.LINE if moved else -math.inf
        moved.append((max(y, free), name))
    near = all(b[0] - a[0] < frame.LINE for a, b in zip(ends, moved, strict=True))
    return moved if near else []


def _picture(plot: Plot, inside: str, rows: int, right: float, sentence: str) -> str:
    """Return the area with what stands around it; `rows` of labels are above."""
    upright = plot.y.label() if not plot.y.names else ""
    shift = rows * frame.LINE + (frame.LINE + 4 if upright else 0)
    left = frame.room_left(plot)
    total = shift + plot.top + plot.height + frame.room_below(plot)[0]

    def sheet(body: str, **more: str | float) -> str:
        return element("svg", body, width="100%", height=total, **more)

    inner = sheet(inside, class_="x", overflow="visible")
    body = sheet(frame.down(plot), y=shift, overflow="visible")
    body += sheet(inner, class_="clip", y=shift, overflow="visible")
    if upright:
        body += lettering(upright, -left + 2, 11)
    if plot.x.label():
        body += lettering(plot.x.label(), "100%", total - 4, anchor="end")
    picture = sheet(body, class_="plot", role="img", aria_label=sentence)
    return element("div", picture, class_="area", style=f"--l:{plain(left)}px;--r:{plain(right)}px")


# ---- words ----------------------------------------------------------------------------------


def _legend(chart: Chart, layers: Sequence[Layer], looks: dict[str, str], *, direct: bool) -> str:
    made = []
    bare = any(layer.kind is Kind.DOTS for layer in layers)
    first = {layer.name: layer for layer in reversed(layers) if layer.name}
    if len(first) > 1 and not direct:
        for name, layer in reversed(first.items()):
            text = f"{name} (reported)" if layer.reported and "report" not in name else name
            swatch = _swatch(layer.kind, _look_of(layer, looks), bare=bare)
            made.append(_entry(swatch + words(text), name))
    kinds = {tone: layer.kind for layer in reversed(layers) for tone in layer.tones}
    for tone, text in chart.key:
        if tone in kinds:
            made.append(_entry(_swatch(kinds[tone], tone.value or "s1") + words(text)))
    if any(layer.kind is Kind.HEAT for layer in layers):
        made.append(_entry('least <i class="ramp"></i> greatest'))
    return f'<ul class="legend">{"".join(made)}</ul>' if made else ""


def _entry(body: str, series: str | None = None) -> str:
    return element("li", element("span", body, class_="k"), data_series=series)


def _swatch(kind: Kind, look: str, *, bare: bool = False) -> str:
    inner = _SWATCHES.get(kind, _BLOCK) + _POINT * (kind is Kind.LINE and not bare)
    group = element("g", inner, class_=f"{kind} {look}")
    return f'<svg class="swatch plot" width="22" height="14" aria-hidden="true">{group}</svg>'


def _notes(plot: Plot, chart: Chart, unnamed: Sequence[str]) -> str:
    """Return what is not drawn, which a reader could not see otherwise."""
    more = len(set(chart.y.names)) - MOST_ROWS
    lie = "s lie" if plot.left_out > 1 else " lies"
    notes = (
        (plot.thinned, f"{plot.thinned:,} points are not drawn: others lie close to them."),
        (plot.shorter, f"{plot.shorter:,} shorter arrows are not drawn."),
        (plot.left_out, f"{plot.left_out:,} point{lie} outside the axes."),
        (len(unnamed), f"Also marked, left to right: {', '.join(unnamed)}."),
        (more, f"{more:,} more rows are not drawn."),
    )
    return " ".join(text for number, text in notes if number > 0)


def _sentence(chart: Chart, plot: Plot, layers: Sequence[Layer]) -> str:
    """Return what the picture shows, for those who do not see it."""
    parts = [chart.caption.rstrip(".")] if chart.caption else []
    along, over = (plot.x, plot.y) if plot.y.names else (plot.y, plot.x)
    for layer in layers[:6]:
        values = layer.x if plot.y.names else layer.y
        found = [v for v in values if isinstance(v, (int, float)) and v == v]  # noqa: PLR0124
        name = layer.name or along.axis.label or "values"
        if found:
            low, high = units.number(min(found), along.unit), units.number(max(found), along.unit)
            parts.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
    text = "; ".join(dict.fromkeys(parts))
    return f"{text}; {over.axis.label} along the other axis." if over.axis.label else f"{text}."


ARROWHEAD = (
    '<svg class="defs" width="0" height="0" aria-hidden="true"><defs><marker id="gnomon-arrow" '
    'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0.5 8 4 0 7.5z"/></marker></defs></svg>'
)
"""What arrows end in; once in a page that has any."""
