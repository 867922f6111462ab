"""Charts in characters: bars, dots and lines, ranges, lanes and shades."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gnomon import units
from gnomon.views.blocks import Axis, Chart, Kind, Layer, Value
from gnomon.views.terminal import DIM, Line, Screen, cut_middle, pad, width, wrapped

_PIPE = 72  # columns in a pipe, which has no width
_MOST = 100
_ROWS = 12
_NAME = 24
_MARKERS = "●×+*o#%@&="
_SHADES = " ░▒▓█"
_POINTS = (Kind.LINE, Kind.DOTS, Kind.STEPS, Kind.BAND)
_LANES = 64


@dataclass(frozen=True, slots=True)
class Ruler:
    """An axis as a stretch of characters."""

    low: float
    high: float
    room: int
    log: bool

    @classmethod
    def of(cls, axis: Axis, values: Sequence[float], room: int) -> Ruler | None:
        """Return the axis for these values; None where there are none."""
        if axis.names:
            return cls(-0.5, len(axis.names) - 0.5, room, False)
        log = bool(axis.log)
        known = [v for v in values if math.isfinite(v) and not (log and v <= 0)]
        known += [0.0] if axis.zero and not log and known else []
        if not known:
            return None
        low = axis.low if axis.low is not None else min(known)
        high = axis.high if axis.high is not None else max(known)
        if high <= low:
            low, high = (low / 2, low * 2) if log else (low - 0.5, low + 0.5)
        return cls(low, high, room, log)

    def at(self, value: float) -> int | None:
        """Return the character of a value; None for one that the axis does not have."""
        if not math.isfinite(value) or (self.log and value <= 0):
            return None
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        share = (value - low) / (high - low)
        if not -1e-9 <= share <= 1 + 1e-9:
            return None
        return min(max(round(share * (self.room - 1)), 0), self.room - 1)

    def clipped(self, value: float) -> int:
        """Return the character of a value, or the end of the axis that it lies beyond."""
        found = self.at(value)
        if found is not None:
            return found
        return 0 if not value > self.low else self.room - 1


def chart_lines(chart: Chart, screen: Screen) -> Iterator[Line]:
    """Yield the lines of a chart, or none where it has nothing to show."""
    room = min(screen.columns or _PIPE, _MOST)
    drawn = list(_drawn(chart, room, screen))
    if not drawn:
        return
    for line in wrapped(chart.caption, screen) if chart.caption else ():
        yield ((line, ""),)
    yield from drawn
    marks = dict.fromkeys(mark.label for mark in chart.marks if mark.label)
    zones = dict.fromkeys(zone.label for zone in chart.zones if zone.label)
    for what, names in (("lines", marks), ("stretches", zones)):
        if names:
            for line in wrapped(f"{what}: {', '.join(names)}", screen):
                yield ((line, DIM),)


def _drawn(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    kinds = {layer.kind for layer in chart.layers}
    if Kind.HEAT in kinds:
        yield from _heat(chart, room, screen)
    elif kinds & {Kind.SPANS, Kind.ARROWS} or (Kind.RANGES in kinds and chart.y.names):
        yield from _lanes(chart, room, screen)
    elif Kind.BARS in kinds and (chart.x.names or chart.y.names):
        yield from _bars(chart, room, screen)
    else:
        yield from _plot(chart, room, screen)


def _numbers(values: Sequence[Value], names: Sequence[str] = ()) -> list[float]:
    """Return values as places on an axis: those of names by their order."""
    at = {name: place for place, name in enumerate(names)}
    return [
        float(at.get(str(v), math.nan) if names and isinstance(v, str) else v)
        if v is not None and (names or not isinstance(v, str))
        else math.nan
        for v in values
    ]


# ---- bars -----------------------------------------------------------------------------------


def _bars(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    """Bars lie on their side, a line each, with their numbers."""
    upright = bool(chart.x.names)
    axis = chart.y if upright else chart.x
    layers = [layer for layer in chart.layers if layer.kind is Kind.BARS]
    several = len({layer.name for layer in layers}) > 1
    names = chart.x.names or chart.y.names
    held: list[list[tuple[str, float]]] = [[] for _ in names]
    for layer in layers:
        places = _numbers(layer.x if upright else layer.y, names)
        values = _numbers(layer.y if upright else layer.x)
        for where, value in zip(places, values, strict=True):
            if math.isfinite(where) and math.isfinite(value):
                held[int(where)].append((layer.name, value))
    rows = [
        (f"{name} {series}" if several else name, value, axis.unit)
        for name, bars in zip(names, held, strict=True)
        for series, value in bars
    ]
    if not rows:
        return
    texts = [screen.clean(units.number(value, unit)) for _, value, unit in rows]
    labels = [cut_middle(screen.clean(name), _NAME) for name, _, _ in rows]
    widest, digits = max(map(width, labels)), max(map(width, texts))
    space = max(room - widest - digits - 4, 4)
    top = max(abs(value) for _, value, _ in rows) or 1.0
    for label, (_, value, _), text in zip(labels, rows, texts, strict=True):
        drawn = units.bar(abs(value) / top, space) if screen.columns is not None else ""
        yield ((f"{pad(label, widest)}  {pad(text, digits, right=True)}  {drawn}", ""),)


# ---- lanes: ranges, spans and arrows --------------------------------------------------------


def _lanes(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    """A line for each name of y: ranges with their middle, stretches with their letters."""
    names = chart.y.names
    ends = [
        end
        for layer in chart.layers
        for values in (layer.x, layer.low, layer.high)
        for end in _numbers(values)
        if not (values is layer.x and layer.kind is Kind.SPANS)
    ]
    labels = [cut_middle(screen.clean(name), _NAME) for name in names]
    widest = max(map(width, labels), default=0)
    ruler = Ruler.of(chart.x, [*ends, *(m.at for m in chart.marks if m.axis == "x")], 1)
    if ruler is None or not names:
        return
    ruler = Ruler(ruler.low, ruler.high, max(room - widest - 2, 8), ruler.log)
    shown = names if screen.everything else names[:_LANES]
    held = [_by_lane(layer, names) for layer in chart.layers]
    for place, label in enumerate(labels[: len(shown)]):
        cells = [" "] * ruler.room
        for mark in chart.marks:
            at = ruler.at(mark.at) if mark.axis == "x" else None
            if at is not None:
                cells[at] = "│"
        for layer, points in zip(chart.layers, held, strict=True):
            for number in points.get(place, ()):
                _lay(layer, number, ruler, cells)
        yield ((f"{pad(label, widest)}  {''.join(cells)}".rstrip(), ""),)
    if len(shown) < len(names):
        yield ((f"… {len(names) - len(shown)} more: --all shows them", DIM),)
    yield from _axis_lines(ruler, chart.x, widest + 2)


def _by_lane(layer: Layer, names: Sequence[str]) -> dict[float, list[int]]:
    held: dict[float, list[int]] = {}
    for number, lane in enumerate(_numbers(layer.y, names)):
        held.setdefault(lane, []).append(number)
    return held


def _lay(layer: Layer, number: int, ruler: Ruler, cells: list[str]) -> None:
    """Put one point of a layer on its lane."""
    reaches = number < len(layer.low) and number < len(layer.high)
    low, high = _numbers((layer.low[number], layer.high[number])) if reaches else (0.0, 0.0)
    if layer.kind is Kind.SPANS:
        first, last = ruler.clipped(low), ruler.clipped(high)
        text = layer.texts[number] if number < len(layer.texts) else ""
        sign = text[:1] if text[:1].isprintable() and text[:1].strip() else "█"
        cells[first : last + 1] = sign * (last + 1 - first)
        return
    if layer.kind is Kind.RANGES and reaches:
        for at in range(ruler.clipped(low), ruler.clipped(high) + 1):
            cells[at] = "─"
    (x,) = _numbers((layer.x[number],))
    found = ruler.at(x)
    if found is not None:
        cells[found] = "○" if layer.reported else ">" if layer.kind is Kind.ARROWS else "●"


def _axis_lines(ruler: Ruler, axis: Axis, indent: int) -> Iterator[Line]:
    """Yield the line of an axis, and what it shows: beside its ticks, or else below them."""
    text = _ticks(ruler, axis)
    if axis.label and width(text) + width(axis.label) + 2 <= ruler.room:
        yield ((f"{' ' * indent}{text}  {axis.label}", DIM),)
        return
    yield ((" " * indent + text, DIM),)
    if axis.label:
        yield ((" " * indent + pad(axis.label, ruler.room, right=True), DIM),)


def _ticks(ruler: Ruler, axis: Axis) -> str:
    """Return the labels of an axis where their values are."""
    cells = [" "] * ruler.room
    end = -2
    if axis.names:
        marks = [(float(i), name) for i, name in enumerate(axis.names)]
    else:
        base = axis.log if ruler.log else 0
        found = units.ticks(
            ruler.low, ruler.high, axis.unit, log=base, most=max(ruler.room // 9, 2)
        )
        marks = [(value, units.tick(value, axis.unit, log=base)) for value in found]
    for value, label in marks:
        at = ruler.at(value)
        if at is None:
            continue
        at = min(max(at - len(label) // 2, 0), ruler.room - len(label))
        if at > end + 1:
            cells[at : at + len(label)] = label
            end = at + len(label) - 1
    return "".join(cells).rstrip()


# ---- points and lines -----------------------------------------------------------------------


def _plot(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    """Points over two axes; a column of characters shows its least and its greatest value."""
    layers = [layer for layer in chart.layers if layer.kind in (*_POINTS, Kind.RANGES, Kind.BARS)]
    xs = [v for layer in layers for v in _numbers(layer.x, chart.x.names)]
    ys = [
        v
        for layer in layers
        for values in (layer.y, layer.low, layer.high)
        for v in _numbers(values, chart.y.names)
        if not (layer.kind is Kind.BARS and values is not layer.y)
    ]
    down = Ruler.of(chart.y, ys, _ROWS)
    if down is None:
        return
    base = chart.y.log if down.log else 0
    labels: dict[int, str] = {}
    for value in units.ticks(down.low, down.high, chart.y.unit, log=base, most=5):
        at = down.at(value)
        if at is not None:
            labels.setdefault(at, screen.clean(units.tick(value, chart.y.unit, log=base)))
    widest = max(map(width, labels.values()), default=0)
    across = Ruler.of(chart.x, xs, max(room - widest - 3, 8))
    if across is None:
        return
    cells = [[" "] * across.room for _ in range(_ROWS)]
    for mark in chart.marks:
        at = across.at(mark.at) if mark.axis == "x" else None
        for row in cells if at is not None else ():
            row[at or 0] = "┊"
    names = list(dict.fromkeys(layer.name for layer in layers))
    for layer in layers:
        marker = _MARKERS[names.index(layer.name) % len(_MARKERS)] if layer.name else _MARKERS[0]
        _put(layer, chart, across, down, cells, marker)
    if chart.y.label:
        yield ((screen.clean(chart.y.label), DIM),)
    for number in range(_ROWS - 1, -1, -1):
        label = pad(labels.get(number, ""), widest, right=True)
        yield ((f"{label} │{''.join(cells[number]).rstrip()}", ""),)
    yield from _axis_lines(across, chart.x, widest + 2)
    named = [name for name in names if name]
    if len(named) > 1:
        legend = "   ".join(
            f"{_MARKERS[names.index(name) % len(_MARKERS)]} {name}" for name in named
        )
        for line in wrapped(legend, screen):
            yield ((line, ""),)


def _put(
    layer: Layer, chart: Chart, across: Ruler, down: Ruler, cells: list[list[str]], marker: str
) -> None:
    """Mark the points of a layer; lines join the levels of neighbouring columns."""
    xs, ys = _numbers(layer.x, chart.x.names), _numbers(layer.y, chart.y.names)
    lows, highs = _numbers(layer.low), _numbers(layer.high)
    columns: dict[int, tuple[int, int]] = {}
    for number, x in enumerate(xs):
        at = across.at(x)
        ends = [ys[number]] if number < len(ys) else []
        if layer.kind in (Kind.BAND, Kind.RANGES) and number < len(lows):
            ends += [lows[number], highs[number]]
        if layer.kind is Kind.BARS:
            ends.append(max(layer.base, down.low))
        levels = [down.clipped(end) for end in ends if math.isfinite(end)]
        if at is None or not levels:
            continue
        before = columns.get(at)
        least, most = min(levels), max(levels)
        columns[at] = (
            (least, most) if before is None else (min(before[0], least), max(before[1], most))
        )
    previous: tuple[int, int, int] | None = None
    sign = {Kind.BARS: "█", Kind.BAND: "░"}.get(layer.kind, marker)
    for at in sorted(columns):
        least, most = columns[at]
        if layer.kind in (Kind.LINE, Kind.STEPS) and previous is not None:
            _join(previous, (at, least, most), cells, steps=layer.kind is Kind.STEPS)
        for level in range(least, most + 1):
            cells[level][at] = sign
        previous = (at, least, most)


def _join(
    a: tuple[int, int, int], b: tuple[int, int, int], cells: list[list[str]], *, steps: bool
) -> None:
    """Draw a faint line between two columns that are not neighbours."""
    start, end = (a[1] + a[2]) / 2, (b[1] + b[2]) / 2
    for at in range(a[0] + 1, b[0]):
        share = 0.0 if steps else (at - a[0]) / (b[0] - a[0])
        level = round(start + share * (end - start))
        if cells[level][at] == " ":
            cells[level][at] = "·"


# ---- heat -----------------------------------------------------------------------------------


def _heat(chart: Chart, room: int, screen: Screen) -> Iterator[Line]:
    layer = next(each for each in chart.layers if each.kind is Kind.HEAT)
    xs, ys = _numbers(layer.x, chart.x.names), _numbers(layer.y, chart.y.names)
    down = Ruler.of(chart.y, ys, len(chart.y.names) or _ROWS)
    if down is None:
        return
    if chart.y.names:
        labels = {
            at: cut_middle(screen.clean(name), _NAME) for at, name in enumerate(chart.y.names)
        }
    else:
        base = chart.y.log if down.log else 0
        ticks = units.ticks(down.low, down.high, chart.y.unit, log=base, most=5)
        labels = {
            down.clipped(v): screen.clean(units.tick(v, chart.y.unit, log=base)) for v in ticks
        }
    widest = max(map(width, labels.values()), default=0)
    across = Ruler.of(chart.x, xs, max(room - widest - 3, 8))
    if across is None:
        return
    if chart.x.names:
        across = Ruler(across.low, across.high, min(across.room, 2 * len(chart.x.names)), False)
    cells: dict[tuple[int, int], float] = {}
    for x, y, shade in zip(xs, ys, layer.shades or [1.0] * len(xs), strict=False):
        column, row = across.at(x), down.at(y)
        if column is not None and row is not None and shade is not None:
            cells[row, column] = max(cells.get((row, column), 0.0), shade)
    order = range(down.room) if chart.y.names else range(down.room - 1, -1, -1)
    for row in order:
        drawn = "".join(_shade(cells.get((row, column))) for column in range(across.room))
        yield ((f"{pad(labels.get(row, ''), widest, right=True)} │{drawn}".rstrip(), ""),)
    if not chart.x.names:
        yield from _axis_lines(across, chart.x, widest + 2)


def _shade(share: float | None) -> str:
    if share is None or not share > 0:
        return _SHADES[0]
    return _SHADES[min(1 + int(share * (len(_SHADES) - 1)), len(_SHADES) - 1)]
