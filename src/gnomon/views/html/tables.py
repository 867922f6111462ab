"""Tables of a page: numbers with their units, intervals beside them, bars and shades in cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gnomon import units
from gnomon.views.blocks import SIGNS, Cell, Table, Tone, missing, numeric
from gnomon.views.shared import Strip, captioned, reason, strips

from .markup import THIN, classes, element, escape, percent, plain, sign, words

MOST = 5000  # rows of a page, which a browser can still sort
MOST_IN_NOTEBOOK = 25
_COURSE = 60  # bars of the course of a value
_SEARCHED = 12  # rows from which on searching is faster than reading
_STRONGEST = 0.34  # of the heat of the greatest number: ink stays readable on it
_WIDEST = 28  # characters of the names at the side, whatever their length


def table(block: Table, most: int = MOST) -> str:
    """Return a table; columns without anything in them are left out."""
    found = strips(block)
    if not found:
        return ""
    shown = min(most, len(block.rows))
    greatest = max((each.greatest for each in found[1:]), default=0.0)
    signed = any(tone in SIGNS for tone in block.tones)
    body = []
    for number in range(shown):
        tone = block.tones[number] if number < len(block.tones) else Tone.PLAIN
        cells = "".join(
            _cell(each, number, tone, first=not place, signed=signed, greatest=greatest)
            for place, each in enumerate(found)
        )
        body.append(element("tr", cells, class_=tone or None))
    caption = captioned(block, found)
    searched = shown >= _SEARCHED and not block.heat
    longest = max(len(str(cell.value or "")) for cell in found[0].cells[:shown])
    made = element(
        "table",
        f"<thead><tr>{''.join(map(_head, found))}</tr></thead><tbody>{''.join(body)}</tbody>",
        class_=classes("matrix" if block.heat else "data", "searched" * searched),
        style=None if found[0].numbers else f"--n:{min(longest, _WIDEST)}ch",
    )
    label = caption or ", ".join(each.column.heading for each in found[:3]) or "table"
    box = element("div", made, class_="scroll", tabindex="0", role="region", aria_label=label)
    rest = f"The first {shown:,} of {len(block.rows):,} rows. All of them are in the JSON."
    note = f'<p class="note">{rest}</p>' if shown < len(block.rows) else ""
    return (f"<h3>{words(caption)}</h3>" if caption else "") + box + note


def _head(strip: Strip) -> str:
    right = "r" if strip.numbers else None
    made = element("th", escape(strip.heading), scope="col", class_=right)
    if strip.column.bar and strip.numbers:
        made += '<td class="bar"></td>'
    if strip.intervals:
        made += element("th", escape(strip.column.interval), scope="col", class_="r")
    return made


def _cell(strip: Strip, row: int, tone: Tone, *, first: bool, signed: bool, greatest: float) -> str:
    """Return the cells of a column in a row: its value, its bar, its interval."""
    cell = strip.cells[row]
    value, interval = cell.number, _interval(cell, strip.scale)
    style, hint = None, cell.hint
    heat = strip.matrix and greatest > 0 and not first and value is not None
    if heat and value is not None:
        style = f"--h:{percent(_STRONGEST * math.sqrt(abs(value) / greatest))}"
        hint = hint if strip.intervals else f"{hint} {_interval(cell, None)}".strip()
    tones = [tone] * (first and signed) + [cell.tone] * (cell.tone != tone)
    before = "".join(sign(each) + THIN for each in tones if each in SIGNS)
    head = first and not strip.numbers
    made = element(
        "th" if head else "td",
        before + _body(cell, strip),
        scope="row" if head else None,
        class_=classes(cell.tone, "r" * bool(strip.numbers), "heat" * heat),
        data_v=None if value is None else repr(value),
        style=style,
        title=hint or None,
    )
    if strip.column.bar and strip.numbers:
        made += _bar(cell, strip)
    return made + f'<td class="r u">{words(interval)}</td>' * strip.intervals


def _body(cell: Cell, strip: Strip) -> str:
    if cell.course:
        return _sparkline(cell.course)
    value = cell.value
    if missing(value):
        return f'<span class="u why">{escape(reason(cell))}</span>'
    if isinstance(value, str) or value is None:
        return words(str(value))
    figure, unit = units.parts(
        value,
        cell.unit or strip.column.unit,
        within=cell.within if strip.scale is None else None,
        scale=strip.scale,
        digits=strip.column.digits,
    )
    name = f'{THIN}<span class="u">{escape(unit)}</span>' if unit else ""
    return ("~" + THIN) * cell.estimated + escape(figure) + name


def _interval(cell: Cell, scale: units.Scale | None) -> str:
    if cell.within is None:
        return ""
    return units.interval(*cell.within, cell.unit, value=cell.number, scale=scale)


def _bar(cell: Cell, strip: Strip) -> str:
    """Return a bar as long as the share, or as the part of the greatest number of its column."""
    share = (cell.unit or strip.column.unit) == "%"
    greatest = max(1.0, strip.greatest) if share else strip.greatest
    long = min(abs(cell.number or 0.0) / (greatest or 1.0), 1.0)
    bar = f'<i style="--w:{percent(long)}"></i>' if long else ""
    return f'<td class="bar">{bar}</td>'


def _sparkline(course: Sequence[float | None]) -> str:
    """Return little bars from zero; where there was no reading there is none."""
    size = -(-len(course) // _COURSE)
    pieces = (course[i : i + size] for i in range(0, len(course), size))
    tops = [max(filter(numeric, piece), default=None) for piece in pieces]
    found = {i: value for i, value in enumerate(tops) if value is not None}
    greatest = max(found.values(), default=0.0) or 1.0
    steps = "".join(
        f"M{i + 0.5} 20V{plain(20 - max(18 * min(value / greatest, 1.0), 0.6))}"
        for i, value in found.items()
    )
    return (
        f'<svg class="course" viewBox="0 0 {len(tops)} 20" preserveAspectRatio="none" role="img" '
        f'aria-label="course over time, {len(found)} readings"><path d="{steps}"/></svg>'
    )
