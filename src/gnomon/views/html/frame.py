"""What stands around the layers of a chart: lines and labels of both axes, marks and zones."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gnomon import units
from gnomon.views.blocks import Chart, Mark

from .layers import LETTER, NARROW, Plot
from .markup import element, escape, lettering, percent, rectangle, title

LINE = 15.0  # pixels of a line of labels
_LEAST, _MOST_LEFT = 26, 190  # pixels beside the area
_NAME, _SHORT = 26, 12  # characters of a name beside the area, and on a narrow screen
_WIDE = 800.0  # pixels of the area on a wide screen, at least
_LONGEST = 18  # characters of a name below the area
_FEW = 16  # names below the area that are all written, whatever the width
_MOST_ROWS = 4  # of labels above the area


def room_left(plot: Plot) -> float:
    """Return the room that labels of y need beside the area."""
    if plot.y.names:
        longest = min(max(map(len, plot.y.names)), _NAME)
        return min(max(longest * LETTER + 12, _LEAST), _MOST_LEFT)
    longest = max((len(text) for _, text in plot.y.ticks(_ticks_down(plot))), default=0)
    return max(longest * LETTER + 12, _LEAST)


def _ticks_down(plot: Plot) -> int:
    return max(3, round(plot.height / 44))


def down(plot: Plot) -> str:
    """Return the lines and labels of y."""
    made = []
    for place, text in plot.y.ticks(_ticks_down(plot)):
        y = plot.pixel(place)
        made += [_level(y), lettering(text, -8, y + 4, anchor="end")]
    every = max(1, math.ceil(LINE / (plot.row or LINE)))
    for number, name in enumerate(plot.y.names):
        y = plot.pixel((number + 0.5) * plot.y.slot)
        if number % every == 0:
            made.append(_beside(name, y))
        if len(plot.y.names) <= 100:
            made.append(_level(y + plot.row / 2))
    return "".join(made)


def _level(y: float, look: str = "grid", body: str = "") -> str:
    return element("line", body, class_=look, x1="0", x2="100%", y1=y, y2=y)


def _upright(plot: Plot, place: float, look: str = "grid", body: str = "") -> str:
    x, bottom = percent(place), plot.top + plot.height
    return element("line", body, class_=look, x1=x, x2=x, y1=plot.top, y2=bottom)


def _beside(name: str, y: float) -> str:
    """Return the name of a row; a long one is cut for narrow screens, in a text of its own."""
    if len(name) <= _SHORT:
        return lettering(name, -8, y + 4, "", "end")
    made = ""
    for most, look in ((_NAME, "wide"), (_SHORT, "narrow")):
        text = title(name) * (len(name) > most) + escape(_middle(name, most))
        made += element("text", text, class_=look, x=-8, y=y + 4, text_anchor="end")
    return made


def _longest_across(plot: Plot) -> int:
    return min(max(map(len, plot.x.names)), _LONGEST)


def room_below(plot: Plot) -> tuple[float, bool]:
    """Return the room that labels of x need below the area, and whether they are turned."""
    label = LINE + 3 if plot.x.label() else 4.0
    if not plot.x.names:
        return 20.0 + label, False
    wide = _longest_across(plot) * LETTER
    room = NARROW if len(plot.x.names) <= _FEW else _WIDE
    turned = wide + 6 > room * plot.x.slot
    return (wide * 0.62 + 16 if turned else 20.0) + label, turned


def across(plot: Plot, *, fine: bool) -> Iterator[str]:
    """Yield the lines and labels of x; `fine` ones appear when a part of x fills the width."""
    bottom = plot.top + plot.height
    ticks = plot.x.ticks(6)
    for place, text in plot.x.ticks(36) if fine else ():
        if (place, text) not in ticks:
            yield lettering(text, percent(place), bottom + 16, "m fine", "middle")
    crowded = sum(len(text) * LETTER + 10 for _, text in ticks) > NARROW
    for number, (place, text) in enumerate(ticks):
        yield _upright(plot, place)
        look = "m wide" if crowded and number % 2 else "m"
        yield lettering(text, percent(place), bottom + 16, look, "middle")
    yield from _names_across(plot, bottom) if plot.x.names else ()
    if not plot.y.names:
        yield _level(bottom, "base")


def _names_across(plot: Plot, bottom: float) -> Iterator[str]:
    """Yield as many names of x as there is room for, and fewer on a narrow screen."""
    turned = room_below(plot)[1]
    wide = LINE if turned else _longest_across(plot) * LETTER + 6
    every = max(1, math.ceil(wide / (_WIDE * plot.x.slot)))
    narrow = every * max(1, math.ceil(wide / (NARROW * plot.x.slot * every)))
    for number in range(0, len(plot.x.names), every):
        text, x = _middle(plot.x.names[number], _LONGEST), percent((number + 0.5) * plot.x.slot)
        look = "m wide" if number % narrow else "m"
        if turned:
            label = lettering(text, 0, 0, look, "end", transform="rotate(-38)")
            yield element("svg", label, x=x, y=bottom + 12, overflow="visible")
        else:
            yield lettering(text, x, bottom + 16, look, "middle")


def _middle(text: str, most: int) -> str:
    """Cut a name in its middle: names of events differ least there."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[-tail:]}"


def above(chart: Chart, plot: Plot) -> tuple[str, int, list[str]]:
    """Return the labels of marks and zones in rows above the area, none over another.

    With them come the number of rows, and the labels that found no place.
    """
    rows: list[float] = []
    made, rest = [], []
    for place, text, look in sorted(_labels(chart, plot)):
        half = len(text) * LETTER / 2 / NARROW
        left = min(max(place - half, 0.0), max(1 - 2 * half, 0.0))
        row = next((i for i, end in enumerate(rows) if end < left), len(rows))
        if row == _MOST_ROWS:
            rest.append(text)
            continue
        rows[row : row + 1] = [left + 2 * half + 0.02]
        anchor = "start" if place < half else "end" if place > 1 - half else "middle"
        x = percent({"start": 0.0, "end": 1.0}.get(anchor, place))
        made.append(lettering(text, x, plot.top - 5 - row * LINE, look, anchor))
    return "".join(made), len(rows), rest


def _labels(chart: Chart, plot: Plot) -> Iterator[tuple[float, str, str]]:
    """Yield what is to be written above the area: where, what, and in which look."""
    for zone in chart.zones:
        start, end = plot.x.clamped(zone.start), plot.x.clamped(zone.end)
        if zone.label and start is not None and end is not None:
            yield (start + end) / 2, zone.label, "m"
    named: set[str] = set()
    for mark in chart.marks:
        place = plot.x.inside(mark.at) if mark.axis == "x" else None
        if mark.label and place is not None and mark.label not in named:
            named.add(mark.label)
            yield place, mark.label, "label"


def zones(chart: Chart, plot: Plot) -> Iterator[str]:
    """Yield the stretches of x that have names."""
    for number, zone in enumerate(chart.zones):
        start, end = plot.x.clamped(zone.start), plot.x.clamped(zone.end)
        if start is not None and end is not None:
            name, look, wide = title(zone.label), f"zone z{number % 2}", max(end - start, 0)
            yield rectangle(start, plot.top, wide, plot.height, name, class_=look)


def marks(chart: Chart, plot: Plot) -> Iterator[str]:
    """Yield the lines across the chart; those along y have their labels with them."""
    named: set[str] = set()
    for mark in chart.marks:
        look, name = "mark dotted" if mark.reported else "mark", title(_mark_text(mark, plot))
        if mark.axis == "x":
            place = plot.x.inside(mark.at)
            if place is not None:
                yield _upright(plot, place, look, name)
        elif (y := plot.down(mark.at)) is not None:
            yield _level(y, look, name)
            if mark.label and mark.label not in named:
                named.add(mark.label)
                yield lettering(mark.label, "100%", y - 5, "label", "end", dx=-4)


def _mark_text(mark: Mark, plot: Plot) -> str:
    scale = plot.x if mark.axis == "x" else plot.y
    return f"{mark.label} {units.number(mark.at, scale.unit)}{', reported' * mark.reported}".strip()
