"""Layers of a chart as SVG: one function for each kind.

Along x everything stands at a share of the width, down y at a pixel: so a chart fits any width
without its texts, points and lines being stretched. Paths are stretched, inside of a nested SVG
that is 1,000 wide; their strokes are not.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gnomon import units
from gnomon.views.axes import Scale
from gnomon.views.blocks import Kind, Layer, Value, missing, numeric
from gnomon.views.shared import said

from . import thin
from .markup import circle, classes, element, lettering, percent, plain, rectangle
from .markup import title as hover

WIDE = 1000  # of a stretched path
MOST_TITLED = 400  # points of a chart that have a text of their own on hover
DOT = 4.2
LETTER = 7.0  # pixels of a character at the size of labels, on average
NARROW = 330.0  # pixels of the area on a telephone: labels must fit there as well
_MANY_CELLS = 2000  # of a heat map: from here on they have no texts on hover
_BESIDE = 6  # points whose texts stand beside rather than above them


@dataclass(slots=True)
class Plot:
    """The area that layers are drawn in."""

    x: Scale
    y: Scale
    top: float
    height: float
    titled: bool = True  # whether points are few enough for texts on hover
    bare: bool = False  # whether lines are drawn without points, as those beside dots are
    stacks: dict[tuple[str, Value, bool], float] = field(default_factory=dict)
    left_out: int = 0  # points outside the limits
    thinned: int = 0  # points that others stand for
    shorter: int = 0  # arrows that are shorter than all that are drawn

    def down(self, value: Value) -> float | None:
        """Return a place along y in pixels; names go from top to bottom, numbers upwards."""
        place = self.y.inside(value)
        return None if place is None else self.pixel(place)

    def point(self, x: Value, y: Value) -> tuple[float, float] | None:
        """Return the share of the width and the pixel of a point inside the limits."""
        across, down = self.x.inside(x), self.down(y)
        return None if across is None or down is None else (across, down)

    def pixel(self, place: float) -> float:
        """Return the pixel of a share of y."""
        return self.top + self.height * (place if self.y.names else 1 - place)

    @property
    def row(self) -> float:
        """The height of the row of a name."""
        return self.height * self.y.slot


def drawn(plot: Plot, layer: Layer, look: str, place: tuple[int, int]) -> str:
    """Return a layer; `place` is which of how many layers of bars stand beside each other."""
    made = _bars(plot, layer, place) if layer.kind is Kind.BARS else _DRAWN[layer.kind](plot, layer)
    return element(
        "g", "".join(made), class_=f"{layer.kind} {look}", data_series=layer.name or None
    )


def title(layer: Layer, plot: Plot, i: int) -> str:
    """Return what a point is, as the text that a browser shows under the pointer."""
    parts = [layer.name] if layer.name else []
    said_already = {label for label, _ in layer.hover}
    for scale, values in ((plot.x, layer.x), (plot.y, layer.y)):
        label = scale.axis.label
        if i < len(values) and label not in said_already and not missing(values[i]):
            text = said(values[i], scale.unit)
            parts.append(f"{label} {text}" if label and not scale.names else text)
    if layer.low and layer.high and layer.kind in (Kind.RANGES, Kind.SPANS, Kind.BAND):
        along = plot.x if layer.kind is Kind.SPANS or plot.y.names else plot.y
        low, high = layer.low[i], layer.high[i]
        if isinstance(low, (int, float)) and isinstance(high, (int, float)):
            parts.append(units.interval(low, high, along.unit))
    parts += [f"{label} {said(values[i])}" for label, values in layer.hover if i < len(values)]
    if layer.texts and layer.texts[i] not in ("", layer.name) and layer.kind is Kind.SPANS:
        parts.insert(0, layer.texts[i])
    return ", ".join(parts)


def _titled(plot: Plot, layer: Layer, i: int) -> str:
    return hover(title(layer, plot, i)) if plot.titled else ""


def _tone(layer: Layer, i: int) -> str:
    return layer.tones[i].value if i < len(layer.tones) else ""


def _text(layer: Layer, i: int) -> str:
    return layer.texts[i] if i < len(layer.texts) else ""


def path(steps: str, plot: Plot, class_: str, style: str | None = None) -> str:
    """Return a path that is stretched over the width of the chart."""
    high = plain(plot.top + plot.height)
    inner = element("path", class_=class_, d=steps, style=style)
    return (
        f'<svg class="stretch" viewBox="0 0 {WIDE} {high}" preserveAspectRatio="none" '
        f'width="100%" height="{high}">{inner}</svg>'
    )


def _line(plot: Plot, layer: Layer) -> Iterator[str]:
    xs, ys = [*map(plot.x.at, layer.x)], [*map(plot.y.at, layer.y)]
    kept = thin.course(xs, ys)
    plot.thinned += len(xs) - len(kept)
    steps, pen, before = [], "M", ""
    for i in kept:
        x, y = xs[i], ys[i]
        if x is None or y is None:
            pen = "M"
            continue
        across, down = plain(WIDE * x), plain(plot.pixel(y))
        if layer.kind is Kind.STEPS and pen == "L":
            steps.append(f"L{across} {before}")
        steps.append(f"{pen}{across} {down}")
        before, pen = down, "L"
    if steps:
        yield path("".join(steps), plot, "line")
    if plot.titled and not plot.bare and len(kept) <= 100 and layer.kind is Kind.LINE:
        yield from _points(plot, layer, kept, DOT if len(kept) <= 20 else 3.0)


def _dots(plot: Plot, layer: Layer) -> Iterator[str]:
    xs, ys = [*map(plot.x.inside, layer.x)], [*map(plot.y.inside, layer.y)]
    known = sum(not missing(x) and not missing(y) for x, y in zip(layer.x, layer.y, strict=True))
    there = sum(x is not None and y is not None for x, y in zip(xs, ys, strict=True))
    kept = thin.dots(xs, ys)
    plot.left_out += known - there
    plot.thinned += there - len(kept)
    if plot.titled:
        yield from _points(plot, layer, kept, DOT)
        return
    tones: dict[str, list[str]] = {}
    for i in kept:  # too many for elements of their own
        at = f"M{plain(WIDE * (xs[i] or 0.0))} {plain(plot.pixel(ys[i] or 0.0))}h0"
        tones.setdefault(_tone(layer, i), []).append(at)
    for tone, steps in tones.items():
        yield path("".join(steps), plot, f"many {tone}".strip())


def _points(plot: Plot, layer: Layer, kept: Sequence[int], size: float) -> Iterator[str]:
    lifted = piled(plot, layer, kept) if layer.kind is Kind.DOTS else {}
    longest = max((len(_text(layer, i)) for i in kept), default=0)
    crowded = len(kept) * (longest * LETTER + 6) > NARROW
    for number, i in enumerate(kept):
        place = plot.point(layer.x[i], layer.y[i])
        if place is None:
            continue
        x, y = place[0], place[1] - 9.5 * lifted.get(i, 0)
        text, tone = _text(layer, i), _tone(layer, i)
        yield circle(x, y, size, _titled(plot, layer, i), tone)
        if text and len(kept) > _BESIDE and not plot.y.names:
            look = "label wide" if crowded and number % 2 and not tone else "label"
            yield lettering(text, percent(x), y - size - 5, look, "middle")
        elif text:
            yield _beside(x, y, text, size)


def _beside(x: float, y: float, text: str, size: float = DOT) -> str:
    """Return a text beside a point, on the side where there is room."""
    left = x > 0.7
    aside = -size - 4 if left else size + 4
    return lettering(text, percent(x), y + 4, "label", "end" if left else None, dx=aside)


def piled(plot: Plot, layer: Layer, kept: Sequence[int]) -> dict[int, int]:
    """Return on how many others each dot in the row of a name stands, so that none is hidden."""
    if not plot.y.names or len(kept) > MOST_TITLED:
        return {}
    columns: Counter[tuple[Value, int]] = Counter()
    found = {}
    places = [(x, i) for i in kept if (x := plot.x.at(layer.x[i])) is not None]
    for x, i in sorted(places):
        column = layer.y[i], round(x * 90)
        found[i] = columns[column]
        columns[column] += 1
    return found


def _band(plot: Plot, layer: Layer) -> Iterator[str]:
    there = [
        (x, plot.pixel(low), plot.pixel(high))
        for v, a, b in zip(layer.x, layer.low, layer.high, strict=True)
        if (x := plot.x.at(v)) is not None
        and (low := plot.y.at(a)) is not None
        and (high := plot.y.at(b)) is not None
    ]
    if there:
        xs, lows, highs = zip(*there, strict=True)
        some = [there[i] for i in sorted({*thin.course(xs, lows), *thin.course(xs, highs)})]
        out = "L".join(f"{plain(WIDE * x)} {plain(high)}" for x, _, high in some)
        back = "L".join(f"{plain(WIDE * x)} {plain(low)}" for x, low, _ in reversed(some))
        yield path(f"M{out}L{back}Z", plot, "fill")


def _ranges(plot: Plot, layer: Layer) -> Iterator[str]:
    level = bool(plot.y.names)
    along, over = (plot.x, plot.y) if level else (plot.y, plot.x)
    for i, (x, y) in enumerate(zip(layer.x, layer.y, strict=True)):
        low, high = (along.clamped(v[i] if v else None) for v in (layer.low, layer.high))
        slot, middle = over.inside(y if level else x), plot.point(x, y)
        made = ""
        if slot is not None and low is not None and high is not None:
            ends = ((low, slot), (high, slot)) if level else ((slot, low), (slot, high))
            start, end = ((at, plot.pixel(down)) for at, down in ends)
            made = _stroke("range", start, end)
        if middle is not None:
            made += circle(*middle, 5.0)
        if made:
            yield element("g", _titled(plot, layer, i) + made, class_=_tone(layer, i) or None)
        if middle is not None and (text := _text(layer, i)):
            aside = high if level and high is not None and middle[0] <= 0.7 else middle[0]
            yield _beside(aside, middle[1], text, 5.0)


def _stroke(
    look: str, start: tuple[float, float], end: tuple[float, float], body: str = "", **more: str
) -> str:
    """Return a line between two places, each a share of the width and a pixel."""
    (x1, y1), (x2, y2) = start, end
    return element("line", body, class_=look, x1=percent(x1), y1=y1, x2=percent(x2), y2=y2, **more)


def _spans(plot: Plot, layer: Layer) -> Iterator[str]:
    rows = [*map(plot.y.inside, layer.y)]
    lows, highs = [*map(plot.x.clamped, layer.low)], [*map(plot.x.clamped, layer.high)]
    high = min(18.0, plot.row * 0.7) if plot.y.names else 14.0
    kept = thin.stretches(rows, lows, highs)
    plot.thinned += len(rows) - len(kept)
    for i in kept:
        row, low, end = rows[i], lows[i], highs[i]
        if row is None or low is None or end is None:
            continue
        wide = abs(end - low)
        body = _titled(plot, layer, i) + '<rect width="100%" height="100%"/>'
        if (text := _text(layer, i)) and wide > 0.02:
            body += lettering(text, 3, high / 2 + 4, "")
        yield element(
            "svg", body, class_=classes("span", _tone(layer, i)), x=percent(min(low, end)),
            y=plot.pixel(row) - high / 2, width=percent(max(wide, 0.001)), height=high,
        )  # fmt: skip


def _arrows(plot: Plot, layer: Layer) -> Iterator[str]:
    kept = list(range(len(layer.x)))
    if len(kept) > thin.COLUMNS:  # the longest are those that a reader looks for
        ends = zip(map(plot.x.at, layer.x), map(plot.x.at, layer.low), strict=True)
        reach = [abs((a or 0) - (b or 0)) for a, b in ends]
        kept = sorted(sorted(kept, key=lambda i: -reach[i])[: thin.COLUMNS])
        plot.shorter += len(layer.x) - len(kept)
    for i in kept:
        start = plot.point(layer.x[i], layer.y[i])
        end = plot.point(layer.low[i], layer.high[i])
        if start is None or end is None:
            plot.left_out += 1
            continue
        look = classes("arrow", _tone(layer, i)) or ""
        head = "url(#gnomon-arrow)"
        yield _stroke(look, start, end, _titled(plot, layer, i), marker_end=head)
        if text := _text(layer, i):
            yield _beside(end[0], end[1] - 8, text, 1)


def _heat(plot: Plot, layer: Layer) -> Iterator[str]:
    wide = plot.x.slot or _gap(plot.x, layer.x) or 0.02
    high = plot.height * (plot.y.slot or _gap(plot.y, layer.y) or 0.02)
    shades: dict[int, list[str]] = {}
    many = len(layer.x) > _MANY_CELLS
    for i, (x, y) in enumerate(zip(layer.x, layer.y, strict=True)):
        place = plot.point(x, y)
        if place is None:
            plot.left_out += 1
            continue
        shade = layer.shades[i] if i < len(layer.shades) else None
        left, top = place[0] - wide / 2, place[1] - high / 2
        strength = 0 if shade is None or missing(shade) else round(100 * min(max(shade, 0.0), 1.0))
        if shade is None or missing(shade):  # never an empty or a pale cell
            if not many:
                dash = lettering("–", percent(place[0]), place[1] + 4, "m", "middle")
                yield element("g", hover(f"{title(layer, plot, i)}, no reading") + dash)
        elif many:
            across = plain(WIDE * wide)
            step = f"M{plain(WIDE * left)} {plain(top)}h{across}v{plain(high)}h-{across}z"
            shades.setdefault(strength // 5 * 5, []).append(step)
        else:
            body = _titled(plot, layer, i)
            yield rectangle(left, top, wide, high, body, style=f"--h:{strength}%")
    for strength, steps in sorted(shades.items()):
        yield path("".join(steps), plot, f"cells h{strength}", f"--h:{strength}%")


# ---- bars -----------------------------------------------------------------------------------


def _bars(plot: Plot, layer: Layer, place: tuple[int, int]) -> Iterator[str]:
    level = bool(plot.y.names) and not plot.x.names
    values, slots = (layer.x, layer.y) if level else (layer.y, layer.x)
    along, over = (plot.x, plot.y) if level else (plot.y, plot.x)
    width = 0.72 * over.slot if over.names else 0.8 * (_gap(over, slots) or 0.1)
    size = -(-len(values) // thin.COLUMNS)  # of the pieces of which the greatest bar is drawn
    pieces = (range(i, min(i + size, len(values))) for i in range(0, len(values), size or 1))
    shown = [max(piece, key=lambda i: _size(values[i])) for piece in pieces]
    plot.thinned += len(values) - len(shown)
    for i in shown:
        value, begin, middle = values[i], layer.base, over.at(slots[i])
        if not numeric(value):
            continue
        if layer.stack:
            key = layer.stack, slots[i], value < 0
            begin = plot.stacks.get(key, layer.base)
            plot.stacks[key] = value = begin + value
        start, end = along.clamped(begin) or 0.0, along.clamped(value) or 0.0
        sides: Sequence[float | None] = ()
        if layer.low and not level:
            sides = plot.x.clamped(layer.low[i]), plot.x.clamped(layer.high[i])
        elif middle is not None:
            left = middle - width / 2 + place[0] * width / place[1]
            sides = left, left + width / place[1]
        else:
            plot.left_out += 1
        first, last = sides or (None, None)
        if first is None or last is None:
            continue
        if level:
            x, wide = min(start, end), abs(end - start)
            y, high = plot.pixel(first), max((last - first) * plot.height - 1, 1.0)
            tip = end, y + high / 2
        else:
            y, bottom = sorted((plot.pixel(start), plot.pixel(end)))
            x, wide, high = first, last - first, max(bottom - y, 0.5)
            tip = x + wide / 2, plot.pixel(end)
        inner, tone = _titled(plot, layer, i), _tone(layer, i)
        if along.log:  # the length of a bar would mean nothing
            yield circle(*tip, DOT, inner, tone)
        else:
            yield rectangle(x, y, wide, high, inner, class_=tone or None)
        text = _text(layer, i)
        if text and level:
            yield lettering(text, percent(x + wide), tip[1] + 4, "label", dx=6)
        elif text:
            yield lettering(text, percent(tip[0]), y - 5, "label", "middle")


def _gap(scale: Scale, values: Sequence[Value]) -> float:
    """Return the least distance of two values; 0 where there are no two."""
    places = sorted({place for place in map(scale.at, values) if place is not None})
    return min((b - a for a, b in itertools.pairwise(places)), default=0.0)


def _size(value: Value) -> float:
    return abs(value) if numeric(value) else -1.0


_DRAWN: dict[Kind, Callable[[Plot, Layer], Iterator[str]]] = {
    Kind.LINE: _line,
    Kind.STEPS: _line,
    Kind.DOTS: _dots,
    Kind.BAND: _band,
    Kind.RANGES: _ranges,
    Kind.SPANS: _spans,
    Kind.ARROWS: _arrows,
    Kind.HEAT: _heat,
}
