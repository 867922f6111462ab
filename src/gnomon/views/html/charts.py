"""A chart as a figure: axes, what the reader needs to know them by, and layers on top."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gnomon import units
from gnomon.views.blocks import Axis, Chart, Kind, Layer, Value

from . import frame
from .axes import MOST_ROWS, scale_of
from .layers import LETTER, MOST_TITLED, Look, Plot, drawn
from .markup import element, escape, glued, lettering, missing, plain, said, word

_HEIGHT = 250.0  # of an area whose y has numbers
_COLOURS = ("s1", "s2", "s3")
_DASHES = ("", "dashed", "dotted", "dashdot")
_SERIES = {Kind.LINE, Kind.STEPS}


def figure(chart: Chart) -> str:
    """Return a chart with its legend and caption; empty where no layer has anything to draw."""
    layers = [layer for layer in chart.layers if layer.x or layer.y or layer.low]
    if not layers:
        return ""
    looks = _looks(layers)
    plot = _plot(chart, layers)
    ends = _direct(plot, layers)
    bodies = _drawn(plot, layers, looks)
    notes = _notes(plot, chart)
    picture = _picture(chart, plot, layers, bodies, ends, looks)
    legend = _legend(chart, layers, looks, direct=bool(ends))
    caption = "".join(
        f"<figcaption>{escape(glued(text))}</figcaption>" for text in (chart.caption, notes) if text
    )
    zoomed = "zoomable" if _zoomable(plot, layers) else None
    return element(
        "figure", legend + picture + caption, class_=" ".join(filter(None, ("chart", zoomed)))
    )


def _zoomable(plot: Plot, layers: Sequence[Layer]) -> bool:
    """Whether there is more along x than the width of a chart shows well."""
    return not plot.x.names and max(max(len(each.x), len(each.y)) for each in layers) > 60


# ---- laying out -----------------------------------------------------------------------------


def _looks(layers: Sequence[Layer]) -> dict[str, Look]:
    """Return what each series is known by; the same name is one series. A is hollow, B filled."""
    names = list(dict.fromkeys(layer.name for layer in layers))
    if names and set(names) <= {"A", "B", ""}:
        return {name: Look("s1", name == "A", "dashed" * (name == "A")) for name in names}
    found = {}
    for number, name in enumerate(names):
        turn = number // len(_COLOURS)
        found[name] = Look(
            _COLOURS[number % len(_COLOURS)], turn % 2 == 1, _DASHES[turn % len(_DASHES)]
        )
    return found


def _look_of(layer: Layer, looks: dict[str, Look]) -> Look:
    look = looks[layer.name]
    return replace(look, hollow=True, dash="dotted") if layer.reported else look


def _plot(chart: Chart, layers: Sequence[Layer]) -> Plot:
    rows = bool(chart.y.names) or any(isinstance(v, str) for each in layers for v in each.y)
    x = scale_of(
        _axis(chart.x, layers, rows, across=True), _values(chart, layers, rows, across=True)
    )
    y = scale_of(
        _axis(chart.y, layers, rows, across=False),
        _values(chart, layers, rows, across=False),
        most=MOST_ROWS,
    )
    plot = Plot(x, y, 10.0, _HEIGHT)
    points = sum(max(len(each.x), len(each.y)) for each in layers if each.kind not in _SERIES)
    plot.titled = points <= MOST_TITLED or all(each.kind is Kind.SPANS for each in layers)
    plot.bare = any(each.kind is Kind.DOTS for each in layers)
    if y.names:
        plot.height = len(y.names) * _row_height(plot, layers)
    return plot


def _axis(axis: Axis, layers: Sequence[Layer], rows: bool, *, across: bool) -> Axis:
    """Bars begin at their base, so their axis must hold it: unless that is logarithmic."""
    bars = any(each.kind is Kind.BARS and each.base == 0 for each in layers)
    return replace(axis, zero=True) if bars and across == rows and not axis.log else axis


def _values(chart: Chart, layers: Sequence[Layer], rows: bool, *, across: bool) -> Iterator[Value]:
    for layer in layers:
        yield from layer.x if across else layer.y
        ends = (layer.low, layer.high)
        if layer.kind is Kind.ARROWS:
            yield from ends[0] if across else ends[1]
        elif layer.kind is Kind.SPANS:
            yield from (*ends[0], *ends[1]) if across else ()
        elif layer.kind is Kind.BARS:
            yield from (*ends[0], *ends[1]) if across and not rows else ()
            if across == rows:
                yield layer.base
        elif across == (rows and layer.kind is Kind.RANGES):
            yield from (*ends[0], *ends[1])
    if any(each.kind is Kind.BARS and each.stack for each in layers) and across == rows:
        yield from _sums(layers, rows)
    which = "x" if across else "y"
    yield from (mark.at for mark in chart.marks if mark.axis == which)


def _sums(layers: Sequence[Layer], rows: bool) -> Iterator[float]:
    sums: dict[tuple[str, Value, bool], float] = {}
    for layer in layers:
        if layer.kind is Kind.BARS and layer.stack:
            values, slots = (layer.x, layer.y) if rows else (layer.y, layer.x)
            for slot, value in zip(slots, values, strict=True):
                if isinstance(value, (int, float)) and not missing(value):
                    key = layer.stack, slot, value < 0
                    sums[key] = sums.get(key, layer.base) + value
    return iter(sums.values())


def _row_height(plot: Plot, layers: Sequence[Layer]) -> float:
    if any(layer.kind is Kind.HEAT for layer in layers):
        return 22.0 if len(plot.y.names) <= 64 else 6.0
    if len(plot.y.names) > 100:
        return 14.0
    beside = len({each.stack or each.name for each in layers if each.kind is Kind.BARS})
    piled = 0
    for layer in layers:
        if layer.kind is Kind.DOTS and len(layer.x) <= MOST_TITLED:
            columns: dict[tuple[Value, int], int] = {}
            for x, y in zip(layer.x, layer.y, strict=True):
                place = plot.x.at(x)
                if place is not None:
                    key = y, round(place * 90)
                    columns[key] = columns.get(key, 0) + 1
            piled = max(piled, *columns.values(), 0)
    return max(26.0, 14.0 * beside + 8, 19.0 * piled)


def _drawn(plot: Plot, layers: Sequence[Layer], looks: dict[str, Look]) -> list[str]:
    """Return layers from the back to the front: areas, bars and lines before points."""
    groups = list(
        dict.fromkeys(each.stack or each.name for each in layers if each.kind is Kind.BARS)
    )
    order = {Kind.BAND: 0, Kind.HEAT: 0, Kind.BARS: 1, Kind.SPANS: 1}
    made = []
    for layer in sorted(layers, key=lambda each: order.get(each.kind, 2)):
        place = (
            (groups.index(layer.stack or layer.name), len(groups))
            if layer.kind is Kind.BARS
            else (0, 1)
        )
        single = _labelled(layer, layers, plot)
        made.append(drawn(plot, single, _look_of(layer, looks), place))
    return made


def _labelled(layer: Layer, layers: Sequence[Layer], plot: Plot) -> Layer:
    """Return bars in rows with their values at their ends, where nothing else stands there."""
    alone = len(layers) == 1 and layer.kind is Kind.BARS and not layer.texts and not layer.stack
    if not (alone and plot.y.names) or len(layer.x) > 60:
        return layer
    return replace(layer, texts=tuple(said(value, plot.x.unit) for value in layer.x))


# ---- the picture ----------------------------------------------------------------------------


def _picture(
    chart: Chart,
    plot: Plot,
    layers: Sequence[Layer],
    bodies: Sequence[str],
    ends: Sequence[tuple[float, str]],
    looks: dict[str, Look],
) -> str:
    above, rows, _ = frame.above(chart, plot)
    shift = rows * frame.LINE + (frame.LINE + 4 if plot.y.label() and not plot.y.names else 0)
    low, angle = frame.room_below(plot)
    left = frame.room_left(plot)
    right = max(14.0, *(len(text) * LETTER + 10 for _, text in ends), _room_at_right(plot, layers))
    total = shift + plot.top + plot.height + low
    body = (
        frame.across(plot, angle, fine=_zoomable(plot, layers))
        + "".join(frame.zones(chart, plot))
        + "".join(bodies)
        + "".join(frame.marks(chart, plot))
        + "".join(
            lettering(text, "100%", y + 4, f"label end {looks[text].colour}", dx=8)
            for y, text in ends
        )
    )
    inner = element("svg", body + above, class_="x", width="100%", height=total, overflow="visible")
    inner = element(
        "svg", inner, class_="clip", width="100%", height=total, y=shift, overflow="visible"
    )
    behind = element(
        "svg", frame.down(plot), width="100%", height=total, y=shift, overflow="visible"
    )
    heading = ""
    if plot.y.label() and not plot.y.names:
        heading = lettering(plot.y.label(), -left + 2, 11)
    if plot.x.label():
        heading += lettering(plot.x.label(), "100%", total - 4, anchor="end")
    picture = element(
        "svg",
        behind + inner + heading,
        class_="plot",
        role="img",
        aria_label=_sentence(chart, plot, layers),
        width="100%",
        height=total,
    )
    return element("div", picture, class_="area", style=f"--l:{plain(left)}px;--r:{plain(right)}px")


def _room_at_right(plot: Plot, layers: Sequence[Layer]) -> float:
    """Return the room that values at the ends of bars need: the longest bar has all the width."""
    if not plot.y.names:
        return 0.0
    texts = [
        text
        for layer in layers
        if layer.kind is Kind.BARS
        for text in _labelled(layer, layers, plot).texts
    ]
    return min(max((len(text) for text in texts), default=0) * LETTER + 8, 130.0)


def _direct(plot: Plot, layers: Sequence[Layer]) -> list[tuple[float, str]]:
    """Return names to write at the ends of lines, where all of them have room there."""
    lines = [layer for layer in layers if layer.kind in _SERIES]
    names = {layer.name for layer in layers if layer.name}
    if (
        len(names) < 2
        or names != {layer.name for layer in lines}
        or any(len(n) > 14 for n in names)
    ):
        return []
    ends = []
    for layer in lines:
        last = next((i for i in reversed(range(len(layer.x))) if plot.across(layer.x[i]) is not None
                     and plot.down(layer.y[i]) is not None), None)  # fmt: skip
        if last is None or (plot.across(layer.x[last]) or 0) < 80:
            return []
        ends.append((plot.down(layer.y[last]) or 0.0, layer.name))
    ends.sort()
    moved: list[tuple[float, str]] = []
    for y, name in ends:
        free = moved[-1][0] + frame.LINE if moved else -math.inf
        moved.append((max(y, free), name))
    return moved if all(b[0] - a[0] < frame.LINE for a, b in zip(ends, moved, strict=True)) else []


# ---- words ----------------------------------------------------------------------------------


def _legend(chart: Chart, layers: Sequence[Layer], looks: dict[str, Look], *, direct: bool) -> str:
    made = []
    bare = any(layer.kind is Kind.DOTS for layer in layers)
    names = list(dict.fromkeys(layer.name for layer in layers if layer.name))
    if len(names) > 1 and not direct:
        for name in names:
            layer = next(each for each in layers if each.name == name)
            look = _look_of(layer, looks)
            text = f"{name} (reported)" if layer.reported and "report" not in name else name
            made.append(_entry(_swatch(layer.kind, look.classes, bare=bare), text, name))
    used = {tone for layer in layers for tone in layer.tones}
    for tone, text in chart.key:
        if tone in used:
            kind = next(each.kind for each in layers if tone in each.tones)
            made.append(_entry(_swatch(kind, word(tone) or "s1"), text))
    if any(layer.kind is Kind.HEAT for layer in layers):
        made.append('<li><span class="k">least <i class="ramp"></i> greatest</span></li>')
    return f'<ul class="legend">{"".join(made)}</ul>' if made else ""


def _entry(swatch: str, text: str, series: str | None = None) -> str:
    return element(
        "li", element("span", swatch + escape(glued(text)), class_="k"), data_series=series
    )


def _swatch(kind: Kind, classes: str, *, bare: bool = False) -> str:
    point = "" if bare else '<circle cx="11" cy="7" r="3.5"/>'
    inner = {
        Kind.LINE: f'<path class="line" d="M0 7H22"/>{point}',
        Kind.STEPS: '<path class="line" d="M0 11H11V3H22"/>',
        Kind.DOTS: '<circle cx="11" cy="7" r="4.2"/>',
        Kind.RANGES: '<path class="range" d="M1 7H21"/><circle cx="11" cy="7" r="4.2"/>',
        Kind.BAND: '<path class="fill" d="M0 2H22V12H0Z"/>',
        Kind.ARROWS: '<path class="arrow" d="M1 7H20"/>',
    }.get(kind, '<rect x="4" y="1" width="13" height="12"/>')
    group = element("g", inner, class_=f"{kind} {classes}")
    return f'<svg class="swatch plot" width="22" height="14" aria-hidden="true">{group}</svg>'


def _notes(plot: Plot, chart: Chart) -> str:
    """Return what is not drawn, which a reader could not see otherwise."""
    notes = []
    if plot.thinned:
        notes.append(f"{plot.thinned:,} points are not drawn: others lie close to them.")
    if plot.shorter:
        notes.append(f"{plot.shorter:,} shorter arrows are not drawn.")
    if plot.left_out:
        notes.append(
            f"{plot.left_out:,} point{'s lie' if plot.left_out > 1 else ' lies'} outside the axes."
        )
    unnamed = frame.above(chart, plot)[2]
    if unnamed:
        notes.append(f"Also marked, left to right: {', '.join(unnamed)}.")
    names = len(set(chart.y.names)) - MOST_ROWS
    if names > 0:
        notes.append(f"{names:,} more rows are not drawn.")
    return " ".join(notes)


def _sentence(chart: Chart, plot: Plot, layers: Sequence[Layer]) -> str:
    """Return what the picture shows, for those who do not see it."""
    parts = [chart.caption.rstrip(".")] if chart.caption else []
    along, over = (plot.x, plot.y) if plot.y.names else (plot.y, plot.x)
    for layer in layers[:6]:
        values = layer.x if plot.y.names else layer.y
        found = [v for v in values if isinstance(v, (int, float)) and not missing(v)]
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
