"""Charts in characters: bars, dots and lines, ranges, lanes and shades."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gnomon import units
from gnomon.views.axes import Scale, scales_of
from gnomon.views.blocks import Chart, Kind, Layer, Mark, Value, numeric
from gnomon.views.terminal import DIM, Line, Screen, cut_middle, pad, paragraph, width

_PIPE = 72  # columns in a pipe, which has no width
_MOST = 100
_ROWS = 12
_NAME = 24
_MARKERS = "●×+*o#%@&="
_SHADES = " ░▒▓█"
_LANES = 64
_LEVELS, _GAP = "▁▂▃▄▅▆▇█", "·"
_NOT_PLOTTED = (Kind.SPANS, Kind.ARROWS, Kind.HEAT)


@dataclass(frozen=True, slots=True)
class Ruler:
    """An axis as a stretch of characters."""

    scale: Scale
    room: int

    def at(self, value: Value) -> int | None:
        """Return the character of a value; None for one that the axis does not have."""
        return self._character(self.scale.inside(value))

    def clipped(self, value: Value) -> int | None:
        """Return the character of a value, or the end of the axis that it lies beyond."""
        return self._character(self.scale.clamped(value))

    def _character(self, place: float | None) -> int | None:
        if place is None:
            return None
        return min(max(round(place * (self.room - 1)), 0), self.room - 1)

    def labels(self, most: int) -> dict[int, str]:
        """Return what is written at which character: names, or else ticks."""
        if self.scale.names:
            return {self.at(name) or 0: name for name in self.scale.names}
        found: dict[int, str] = {}
        for place, text in self.scale.ticks(most):
            found.setdefault(self._character(place) or 0, text)
        return found


def chart_lines(chart: Chart, screen: Screen) -> Iterator[Line]:
    """Yield the lines of a chart, or none where it has nothing to show."""
    drawn = list(_drawn(chart, min(screen.columns or _PIPE, _MOST), screen))
    if not drawn:
        return
    yield from paragraph(chart.caption, screen)
    yield from drawn
    for what, named in (("lines", chart.marks), ("stretches", chart.zones)):
        names = ", ".join(dict.fromkeys(each.label for each in named if each.label))
        yield from paragraph(f"{what}: {names}" if names else "", screen, DIM)


def _drawn(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    kinds = {layer.kind for layer in chart.layers}
    if Kind.HEAT in kinds:
        return _heat(chart, room, screen)
    if Kind.BARS in kinds and (chart.x.names or chart.y.names):
        return _bars(chart, room, screen)
    if chart.y.names:
        return _lanes(chart, room, screen)
    return _plot(chart, room, screen)


def _rulers(chart: Chart, layers: Sequence[Layer]) -> tuple[Ruler, Ruler] | None:
    """Return both axes, of no length yet; None where there is nothing to draw."""
    known = (v for each in layers for values in (each.x, each.y, each.low) for v in values)
    if not any(isinstance(v, str) or (v is not None and math.isfinite(v)) for v in known):
        return None
    x, y = scales_of(chart, layers, padding=0.0)
    return Ruler(x, 1), Ruler(y, len(y.names) or _ROWS)


def _labels(found: dict[int, str], screen: Screen) -> tuple[dict[int, str], int]:
    """Return labels beside a chart and the room that they need."""
    texts = {at: cut_middle(screen.clean(text), _NAME) for at, text in found.items()}
    return texts, max(map(width, texts.values()), default=0)


def _named(value: Value, names: Sequence[str]) -> str | None:
    """Return the name that a value stands at, which may be given by its number."""
    if value is None or isinstance(value, str):
        return value
    return names[int(value)] if 0 <= value < len(names) else None


# ---- bars -----------------------------------------------------------------------------------


def _bars(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    """Bars lie on their side, a line each, with their numbers."""
    axis, names = (chart.y, chart.x.names) if chart.x.names else (chart.x, chart.y.names)
    layers = [layer for layer in chart.layers if layer.kind is Kind.BARS]
    several = len({layer.name for layer in layers}) > 1
    held: dict[Value, list[tuple[str, float]]] = {name: [] for name in names}
    for layer in layers:
        slots, values = (layer.x, layer.y) if chart.x.names else (layer.y, layer.x)
        for slot, value in zip(slots, values, strict=True):
            if numeric(value) and math.isfinite(value):
                held.setdefault(_named(slot, names), []).append((layer.name, value))
    rows = [
        (f"{name} {series}" if several else str(name), value)
        for name, bars in held.items()
        for series, value in bars
        if name is not None
    ]
    texts = [screen.clean(units.number(value, axis.unit)) for _, value in rows]
    labels, widest = _labels({i: name for i, (name, _) in enumerate(rows)}, screen)
    digits = max(map(width, texts), default=0)
    space = max(room - widest - digits - 4, 4)
    top = max((abs(value) for _, value in rows), default=0.0) or 1.0
    for number, ((_, value), text) in enumerate(zip(rows, texts, strict=True)):
        drawn = units.bar(abs(value) / top, space) if screen.columns is not None else ""
        yield ((f"{pad(labels[number], widest)}  {pad(text, digits, right=True)}  {drawn}", ""),)


# ---- lanes: ranges, spans and arrows --------------------------------------------------------


def _lanes(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    """A line for each name of y: ranges with their middle, stretches with their letters."""
    rulers = _rulers(chart, chart.layers)
    if rulers is None:
        return
    names = tuple(dict.fromkeys(chart.y.names))
    labels, widest = _labels(dict(enumerate(names)), screen)
    ruler = replace(rulers[0], room=max(room - widest - 2, 8))
    held: dict[Value, list[tuple[Layer, int]]] = {}
    for layer in chart.layers:
        for number, lane in enumerate(layer.y):
            held.setdefault(_named(lane, chart.y.names), []).append((layer, number))
    shown = len(labels) if screen.everything else _LANES
    for place, name in enumerate(names[:shown]):
        cells = _marked(chart.marks, ruler, "│")
        for layer, number in held.get(name, ()):
            _lay(layer, number, ruler, cells)
        yield ((f"{pad(labels[place], widest)}  {''.join(cells)}".rstrip(), ""),)
    if shown < len(labels):
        yield ((f"… {len(labels) - shown} more: --all shows them", DIM),)
    yield from _axis_lines(ruler, widest + 2)


def _marked(marks: Sequence[Mark], ruler: Ruler, sign: str) -> list[str]:
    """Return a row of characters with the lines that cross it."""
    places = {ruler.at(mark.at) for mark in marks if mark.axis == "x"}
    return [sign if at in places else " " for at in range(ruler.room)]


def _lay(layer: Layer, number: int, ruler: Ruler, cells: list[str]) -> None:
    """Put one point of a layer on its lane."""
    ends = [ruler.clipped(v[number]) for v in (layer.low, layer.high) if number < len(v)]
    if layer.kind in (Kind.SPANS, Kind.RANGES) and len(ends) == 2:
        text = layer.texts[number : number + 1] if layer.kind is Kind.SPANS else ()
        letter = text[0][:1] if text and text[0][:1].isprintable() else ""
        sign = "─" if layer.kind is Kind.RANGES else letter.strip() or "█"
        first, last = ends
        if first is not None and last is not None:
            cells[first : last + 1] = sign * (last + 1 - first)
    found = ruler.at(layer.x[number]) if layer.kind is not Kind.SPANS else None
    if found is not None:
        cells[found] = "○" if layer.reported else ">" if layer.kind is Kind.ARROWS else "●"


def _axis_lines(ruler: Ruler, indent: int) -> Iterator[Line]:
    """Yield the line of an axis, and what it shows: beside its ticks, or else below them."""
    cells, end = [" "] * ruler.room, -2
    for place, text in ruler.labels(max(ruler.room // 9, 2)).items():
        at = min(max(place - len(text) // 2, 0), max(ruler.room - len(text), 0))
        if at > end + 1:
            cells[at : at + len(text)] = text
            end = at + len(text) - 1
    ticks, label, margin = "".join(cells).rstrip(), ruler.scale.axis.label, " " * indent
    if label and width(ticks) + width(label) + 2 <= ruler.room:
        yield ((f"{margin}{ticks}  {label}", DIM),)
        return
    yield ((margin + ticks, DIM),)
    if label:
        yield ((margin + pad(label, ruler.room, right=True), DIM),)


# ---- points and lines -----------------------------------------------------------------------


def _plot(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    """Points over two axes; a column of characters shows its least and its greatest value."""
    layers = [layer for layer in chart.layers if layer.kind not in _NOT_PLOTTED]
    rulers = _rulers(chart, layers)
    if rulers is None:
        return
    down = rulers[1]
    labels, widest = _labels(down.labels(5), screen)
    across = replace(rulers[0], room=max(room - widest - 3, 8))
    cells = [_marked(chart.marks, across, "┊") for _ in range(_ROWS)]
    names = list(dict.fromkeys(layer.name for layer in layers))
    markers = {name: _MARKERS[i % len(_MARKERS)] for i, name in enumerate(names)}
    for layer in layers:
        _put(layer, across, down, cells, markers[layer.name] if layer.name else _MARKERS[0])
    if chart.y.label:
        yield ((chart.y.label, DIM),)
    for number in range(_ROWS - 1, -1, -1):
        label = pad(labels.get(number, ""), widest, right=True)
        yield ((f"{label} │{''.join(cells[number]).rstrip()}", ""),)
    yield from _axis_lines(across, widest + 2)
    legend = "   ".join(f"{marker} {name}" for name, marker in markers.items() if name)
    yield from paragraph(legend if sum(map(bool, names)) > 1 else "", screen)


def _put(layer: Layer, across: Ruler, down: Ruler, cells: list[list[str]], marker: str) -> None:
    """Mark the points of a layer; lines join the levels of neighbouring columns."""
    ends = (
        (layer.y, layer.low, layer.high) if layer.kind in (Kind.BAND, Kind.RANGES) else (layer.y,)
    )
    columns: dict[int, list[int]] = {}
    for number, x in enumerate(layer.x):
        at = across.at(x)
        found = [down.clipped(values[number]) for values in ends if number < len(values)]
        if layer.kind is Kind.BARS:
            found.append(down.clipped(max(layer.base, down.scale.low)))
        if at is not None:
            columns.setdefault(at, []).extend(level for level in found if level is not None)
    previous: tuple[int, float] | None = None
    sign = {Kind.BARS: "█", Kind.BAND: "░"}.get(layer.kind, marker)
    for at, levels in sorted((at, levels) for at, levels in columns.items() if levels):
        middle = (min(levels) + max(levels)) / 2
        if layer.kind in (Kind.LINE, Kind.STEPS) and previous is not None:
            _join(previous, (at, middle), cells, steps=layer.kind is Kind.STEPS)
        for level in range(min(levels), max(levels) + 1):
            cells[level][at] = sign
        previous = at, middle


def _join(
    a: tuple[int, float], b: tuple[int, float], cells: list[list[str]], *, steps: bool
) -> None:
    """Draw a faint line between two columns that are not neighbours."""
    for at in range(a[0] + 1, b[0]):
        share = 0.0 if steps else (at - a[0]) / (b[0] - a[0])
        level = round(a[1] + share * (b[1] - a[1]))
        if cells[level][at] == " ":
            cells[level][at] = "·"


# ---- heat -----------------------------------------------------------------------------------


def _heat(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    layer = next(each for each in chart.layers if each.kind is Kind.HEAT)
    rulers = _rulers(chart, [layer])
    if rulers is None:
        return
    down, names = rulers[1], bool(rulers[1].scale.names)
    labels, widest = _labels(down.labels(5), screen)
    wide = max(room - widest - 3, 8)
    if rulers[0].scale.names:
        wide = min(wide, 2 * len(rulers[0].scale.names))
    across = replace(rulers[0], room=wide)
    cells: dict[tuple[int | None, int | None], float] = {}
    for x, y, shade in zip(layer.x, layer.y, layer.shades or [1.0] * len(layer.x), strict=False):
        place = down.at(y), across.at(x)
        cells[place] = max(cells.get(place, 0.0), shade or 0.0)
    for row in range(down.room) if names else range(down.room - 1, -1, -1):
        drawn = "".join(_shade(cells.get((row, column), 0.0)) for column in range(across.room))
        yield ((f"{pad(labels.get(row, ''), widest, right=True)} │{drawn}".rstrip(), ""),)
    if not across.scale.names:
        yield from _axis_lines(across, widest + 2)


def _shade(share: float) -> str:
    return _SHADES[min(1 + int(share * 4), 4) if share > 0 else 0]


# ---- a series in a cell ---------------------------------------------------------------------


def sparkline(series: Sequence[float | None], columns: int = 60) -> str:
    """Return a series in at most so many characters; what is missing shows as a dot.

    Neighbours that share a character are averaged, so that the area stays true. The
    scale starts at zero.
    """
    columns = min(columns, len(series))
    ends = [i * len(series) // columns for i in range(columns + 1)] if columns > 0 else []
    pieces = ([v for v in series[a:b] if v is not None] for a, b in pairwise(ends))
    means = [sum(known) / len(known) if known else None for known in pieces]
    top = max((mean for mean in means if mean and mean > 0), default=1.0)
    levels = (0.0 if mean is None else max(mean, 0.0) / top * len(_LEVELS) for mean in means)
    signs = (_LEVELS[min(int(level), len(_LEVELS) - 1)] for level in levels)
    return "".join(_GAP if m is None else sign for m, sign in zip(means, signs, strict=True))
