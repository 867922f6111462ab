"""Layers of a chart as SVG: one function for each kind.

Along x everything stands at a share of the width, down y at a pixel: so a chart fits any width
without its texts, points and lines being stretched. Paths are stretched, inside of a nested SVG
that is 1,000 wide; their strokes are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gnomon import units
from gnomon.views.blocks import Kind, Layer, Tone, Value

from . import thin
from .axes import Scale
from .markup import element, escape, lettering, missing, percent, plain, said, word

WIDE = 1000  # of a stretched path
MOST_TITLED = 400  # points of a chart that have a text of their own on hover
DOT = 4.2
LETTER = 7.0  # pixels of a character at the size of labels, on average
NARROW = 330.0  # pixels of the area on a telephone: labels must fit there as well
_MANY_CELLS = 2000  # of a heat map: from here on they have no texts on hover
_BESIDE = 6  # points whose texts stand beside rather than above them


@dataclass(frozen=True, slots=True)
class Look:
    """How a series is told from others: by colour, then by hollow points and broken lines."""

    colour: str = "s1"
    hollow: bool = False
    dash: str = ""

    @property
    def classes(self) -> str:
        """The classes of its group."""
        return " ".join(filter(None, (self.colour, "hollow" * self.hollow, self.dash)))


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

    def across(self, value: Value) -> float | None:
        """Return a place along x in per cent."""
        place = self.x.inside(value)
        return None if place is None else 100 * place

    def down(self, value: Value) -> float | None:
        """Return a place along y in pixels; names go from top to bottom, numbers upwards."""
        place = self.y.inside(value)
        return None if place is None else self.pixel(place)

    def pixel(self, place: float) -> float:
        """Return the pixel of a share of y."""
        return self.top + self.height * (place if self.y.names else 1 - place)

    @property
    def row(self) -> float:
        """The height of the row of a name."""
        return self.height * self.y.slot


def drawn(plot: Plot, layer: Layer, look: Look, place: tuple[int, int]) -> str:
    """Return a layer; `place` is which of how many layers of bars stand beside each other."""
    if layer.kind is Kind.BARS:
        body = "".join(_bars(plot, layer, place))
    else:
        body = "".join(_DRAWN[layer.kind](plot, layer))
    series = layer.name or None
    return element("g", body, class_=f"{layer.kind} {look.classes}", data_series=series)


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
    return element("title", escape(title(layer, plot, i))) if plot.titled else ""


def _tone(layer: Layer, i: int) -> str | None:
    tone = layer.tones[i] if i < len(layer.tones) else Tone.PLAIN
    return word(tone) or None


def path(steps: str, plot: Plot, class_: str, style: str | None = None) -> str:
    """Return a path that is stretched over the width of the chart."""
    high = plot.top + plot.height
    inner = element("path", class_=class_, d=steps, style=style)
    return (
        f'<svg class="stretch" viewBox="0 0 {WIDE} {plain(high)}" preserveAspectRatio="none" '
        f'width="100%" height="{plain(high)}">{inner}</svg>'
    )


def _line(plot: Plot, layer: Layer) -> Iterator[str]:
    xs = [plot.x.at(v) for v in layer.x]
    ys = [plot.y.at(v) for v in layer.y]
    kept = thin.course(xs, ys)
    plot.thinned += len(xs) - len(kept)
    steps, pen = [], "M"
    before = 0.0
    for i in kept:
        x, y = xs[i], ys[i]
        if x is None or y is None:
            pen = "M"
            continue
        across, down = plain(WIDE * x), plain(plot.pixel(y))
        if layer.kind is Kind.STEPS and pen == "L":
            steps.append(f"L{across} {plain(before)}")
        steps.append(f"{pen}{across} {down}")
        before, pen = plot.pixel(y), "L"
    if steps:
        yield path("".join(steps), plot, "line")
    if plot.titled and not plot.bare and len(kept) <= 100 and layer.kind is Kind.LINE:
        yield from _points(plot, layer, kept, DOT if len(kept) <= 20 else 3.0)


def _dots(plot: Plot, layer: Layer) -> Iterator[str]:
    xs = [plot.x.inside(v) for v in layer.x]
    ys = [plot.y.inside(v) for v in layer.y]
    there = sum(x is not None and y is not None for x, y in zip(xs, ys, strict=True))
    plot.left_out += (
        sum(not missing(x) and not missing(y) for x, y in zip(layer.x, layer.y, strict=True))
        - there
    )
    kept = thin.dots(xs, ys)
    plot.thinned += there - len(kept)
    if plot.titled:
        yield from _points(plot, layer, kept, DOT)
        return
    tones: dict[str, list[str]] = {}
    for i in kept:  # too many for elements of their own
        x, y = xs[i], ys[i]
        if x is not None and y is not None:
            at = f"M{plain(WIDE * x)} {plain(plot.pixel(y))}h0"
            tones.setdefault(_tone(layer, i) or "", []).append(at)
    for tone, steps in tones.items():
        yield path("".join(steps), plot, f"many {tone}".strip())


def _points(plot: Plot, layer: Layer, kept: Sequence[int], size: float) -> Iterator[str]:
    places = [(layer.x[i], layer.y[i]) for i in kept]
    lifted = piled(plot, places) if layer.kind is Kind.DOTS else {}
    longest = max((len(layer.texts[i]) for i in kept if layer.texts), default=0)
    crowded = len(kept) * (longest * LETTER + 6) > NARROW
    for number, i in enumerate(kept):
        x, y = plot.across(layer.x[i]), plot.down(layer.y[i])
        if x is None or y is None:
            continue
        y -= lifted.get(number, 0.0)
        inner, tone = _titled(plot, layer, i), _tone(layer, i)
        yield element("circle", inner, class_=tone, cx=percent(x), cy=y, r=size)
        if layer.texts and layer.texts[i]:
            if len(kept) > _BESIDE and not plot.y.names:
                look = "label wide" if crowded and number % 2 and not tone else "label"
                yield lettering(layer.texts[i], percent(x), y - size - 5, look, "middle")
            else:
                yield beside(x, y, layer.texts[i], size)


def beside(x: float, y: float, text: str, size: float = DOT) -> str:
    """Return a text beside a point, on the side where there is room."""
    left = x > 70
    aside = -size - 4 if left else size + 4
    return lettering(text, percent(x), y + 4, "label", "end" if left else None, dx=aside)


def piled(plot: Plot, points: Sequence[tuple[Value, Value]]) -> dict[int, float]:
    """Return how far to lift dots in the row of a name, so that none hides another."""
    if not plot.y.names or len(points) > MOST_TITLED:
        return {}
    lifted: dict[int, float] = {}
    columns: dict[tuple[Value, int], int] = {}
    for i in sorted(range(len(points)), key=lambda i: plot.x.at(points[i][0]) or 0.0):
        x = plot.x.at(points[i][0])
        if x is not None:
            column = points[i][1], round(x * 90)
            lifted[i] = 9.5 * columns.get(column, 0)
            columns[column] = columns.get(column, 0) + 1
    return lifted


def _band(plot: Plot, layer: Layer) -> Iterator[str]:
    there = [
        (x, plot.pixel(low), plot.pixel(high))
        for x, low, high in (
            (plot.x.at(v), plot.y.at(a), plot.y.at(b))
            for v, a, b in zip(layer.x, layer.low, layer.high, strict=True)
        )
        if x is not None and low is not None and high is not None
    ]
    if not there:
        return
    xs = [x for x, _, __ in there]
    kept = {*thin.course(xs, [a for _, a, __ in there]), *thin.course(xs, [b for *_, b in there])}
    some = [there[i] for i in sorted(kept)]
    out = "L".join(f"{plain(WIDE * x)} {plain(high)}" for x, _, high in some)
    back = "L".join(f"{plain(WIDE * x)} {plain(low)}" for x, low, _ in reversed(some))
    yield path(f"M{out}L{back}Z", plot, "fill")


def _ranges(plot: Plot, layer: Layer) -> Iterator[str]:
    level = bool(plot.y.names)
    along = plot.x if level else plot.y
    for i, (x, y) in enumerate(zip(layer.x, layer.y, strict=True)):
        low = along.clamped(layer.low[i] if layer.low else None)
        high = along.clamped(layer.high[i] if layer.high else None)
        across, down = plot.across(x), plot.down(y)
        tone = _tone(layer, i)
        line = ""
        if level and down is not None and low is not None and high is not None:
            line = element(
                "line", class_="range", x1=percent(100 * low), x2=percent(100 * high),
                y1=down, y2=down,
            )  # fmt: skip
        elif not level and across is not None and low is not None and high is not None:
            line = element(
                "line", class_="range", x1=percent(across), x2=percent(across),
                y1=plot.pixel(low), y2=plot.pixel(high),
            )  # fmt: skip
        middle = ""
        if across is not None and down is not None:
            middle = element("circle", cx=percent(across), cy=down, r=5.0)
        if line or middle:
            yield element("g", _titled(plot, layer, i) + line + middle, class_=tone)
            if layer.texts and layer.texts[i] and across is not None and down is not None:
                end = 100 * high if level and high is not None and across <= 70 else across
                yield beside(end, down, layer.texts[i], 5.0)


def _spans(plot: Plot, layer: Layer) -> Iterator[str]:
    rows = [plot.y.inside(v) for v in layer.y]
    lows = [plot.x.clamped(v) for v in layer.low]
    highs = [plot.x.clamped(v) for v in layer.high]
    high = min(18.0, plot.row * 0.7) if plot.y.names else 14.0
    kept = thin.stretches(rows, lows, highs)
    plot.thinned += len(rows) - len(kept)
    for i in kept:
        row, low, end = rows[i], lows[i], highs[i]
        if row is None or low is None or end is None:
            continue
        text = layer.texts[i] if layer.texts else ""
        wide = 100 * abs(end - low)
        body = _titled(plot, layer, i) + '<rect width="100%" height="100%"/>'
        if text and wide > 2:
            body += lettering(text, 3, high / 2 + 4, "")
        yield element(
            "svg", body, class_=f"span {_tone(layer, i) or ''}".strip(),
            x=percent(100 * min(low, end)), y=plot.pixel(row) - high / 2,
            width=percent(max(wide, 0.1)), height=high,
        )  # fmt: skip


def _arrows(plot: Plot, layer: Layer) -> Iterator[str]:
    kept = list(range(len(layer.x)))
    if len(kept) > thin.COLUMNS:  # the longest are those that a reader looks for
        reach = [
            abs((plot.x.at(a) or 0) - (plot.x.at(b) or 0))
            for a, b in zip(layer.x, layer.low, strict=True)
        ]
        kept = sorted(sorted(kept, key=lambda i: -reach[i])[: thin.COLUMNS])
        plot.shorter += len(layer.x) - len(kept)
    for i in kept:
        x, y = plot.across(layer.x[i]), plot.down(layer.y[i])
        to, at = plot.across(layer.low[i]), plot.down(layer.high[i])
        if x is None or y is None or to is None or at is None:
            plot.left_out += 1
            continue
        yield element(
            "line",
            _titled(plot, layer, i),
            class_=f"arrow {_tone(layer, i) or ''}".strip(),
            x1=percent(x),
            y1=y,
            x2=percent(to),
            y2=at,
            marker_end="url(#gnomon-arrow)",
        )
        if layer.texts and layer.texts[i]:
            yield beside(to, at - 8, layer.texts[i], 1)


def _heat(plot: Plot, layer: Layer) -> Iterator[str]:
    wide, high = 100 * _cell(plot.x, layer.x), plot.height * _cell(plot.y, layer.y)
    shades: dict[int, list[str]] = {}
    many = len(layer.x) > _MANY_CELLS
    for i, (x, y) in enumerate(zip(layer.x, layer.y, strict=True)):
        across, down = plot.across(x), plot.down(y)
        if across is None or down is None:
            plot.left_out += 1
            continue
        shade = layer.shades[i] if i < len(layer.shades) else None
        if shade is None or missing(shade):  # never an empty or a pale cell
            if not many:
                name = element("title", escape(title(layer, plot, i) + ", no reading"))
                yield element("g", name + lettering("–", percent(across), down + 4, "m", "middle"))
            continue
        strength = round(100 * min(max(shade, 0.0), 1.0))
        left, top = across - wide / 2, down - high / 2
        if many:
            size = (
                f"{plain(WIDE * left / 100)} {plain(top)}h{plain(WIDE * wide / 100)}v{plain(high)}"
            )
            shades.setdefault(strength // 5 * 5, []).append(f"M{size}h{plain(-WIDE * wide / 100)}z")
            continue
        yield element(
            "rect",
            _titled(plot, layer, i),
            style=f"--h:{strength}%",
            x=percent(left),
            y=top,
            width=percent(wide),
            height=high,
        )
    for strength, steps in sorted(shades.items()):
        yield path("".join(steps), plot, f"cells h{strength}", f"--h:{strength}%")


def _cell(scale: Scale, values: Sequence[Value]) -> float:
    """Return the share of an axis that a cell of a heat map has."""
    return scale.slot or _gap(scale, values) or 0.02


# ---- bars -----------------------------------------------------------------------------------


def _bars(plot: Plot, layer: Layer, place: tuple[int, int]) -> Iterator[str]:
    level = bool(plot.y.names) and not plot.x.names
    values, slots = (layer.x, layer.y) if level else (layer.y, layer.x)
    along = plot.x if level else plot.y
    width = _slot_width(plot, slots, level=level)
    shown: Sequence[int] = range(len(values))
    if len(values) > thin.COLUMNS:
        size = -(-len(values) // thin.COLUMNS)
        shown = [max(piece, key=lambda i: _size(values[i])) for piece in _pieces(len(values), size)]
        plot.thinned += len(values) - len(shown)
    for i in shown:
        value = values[i]
        if not isinstance(value, (int, float)) or missing(value):
            continue
        begin = layer.base
        if layer.stack:
            key = layer.stack, slots[i], value < 0
            begin = plot.stacks.get(key, layer.base)
            plot.stacks[key] = value = begin + value
        start, end = along.clamped(begin), along.clamped(value)
        start = 0.0 if start is None else start  # a bar on a logarithmic axis has no zero
        if end is None:
            continue
        if layer.low and not level:
            left, right = plot.x.clamped(layer.low[i]), plot.x.clamped(layer.high[i])
            if left is None or right is None:
                continue
        else:
            scale = plot.y if level else plot.x
            middle = scale.at(slots[i])
            if middle is None:
                plot.left_out += 1
                continue
            left = middle - width / 2 + place[0] * width / place[1]
            right = left + width / place[1]
        yield _bar(plot, layer, i, (left, right), (start, end), level=level)


def _bar(
    plot: Plot,
    layer: Layer,
    i: int,
    slot: tuple[float, float],
    reach: tuple[float, float],
    *,
    level: bool,
) -> str:
    inner, tone, text = _titled(plot, layer, i), _tone(layer, i), layer.texts[i : i + 1]
    along = plot.x if level else plot.y
    if level:
        x, wide = 100 * min(reach), 100 * abs(reach[1] - reach[0])
        y, high = plot.pixel(slot[0]), max((slot[1] - slot[0]) * plot.height - 1, 1.0)
        end = 100 * reach[1], y + high / 2
    else:
        x, wide = 100 * slot[0], 100 * (slot[1] - slot[0])
        y = min(plot.pixel(reach[0]), plot.pixel(reach[1]))
        high = max(abs(plot.pixel(reach[0]) - plot.pixel(reach[1])), 0.5)
        end = x + wide / 2, plot.pixel(reach[1])
    if along.log:  # the length of a bar would mean nothing
        mark = element("circle", inner, class_=tone, cx=percent(end[0]), cy=end[1], r=DOT)
    else:
        mark = element(
            "rect", inner, class_=tone, x=percent(x), y=y, width=percent(wide), height=high
        )
    if not text or not text[0]:
        return mark
    if level:
        return mark + lettering(text[0], percent(x + wide), y + high / 2 + 4, "label", dx=6)
    return mark + lettering(text[0], percent(end[0]), y - 5, "label", "middle")


def _slot_width(plot: Plot, slots: Sequence[Value], *, level: bool) -> float:
    scale = plot.y if level else plot.x
    return 0.72 * scale.slot if scale.names else 0.8 * (_gap(scale, slots) or 0.1)


def _gap(scale: Scale, values: Sequence[Value]) -> float:
    """Return the least distance of two values; 0 where there are no two."""
    places = sorted({place for place in map(scale.at, values) if place is not None})
    return min((b - a for a, b in itertools.pairwise(places)), default=0.0)


def _pieces(count: int, size: int) -> Iterator[range]:
    return (range(i, min(i + size, count)) for i in range(0, count, size))


def _size(value: Value) -> float:
    return abs(value) if isinstance(value, (int, float)) and not missing(value) else -1.0


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
