"""Tables of a page: numbers with their units, intervals beside them, bars and shades in cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gnomon import units
from gnomon.views.blocks import Cell, Column, Table, Tone

from .markup import SIGNS, THIN, approximate, element, escape, glued, missing, plain, reason, word

MOST = 5000  # rows of a page, which a browser can still sort
MOST_IN_NOTEBOOK = 25
_COURSE = 60  # bars of the course of a value
_SEARCHED = 12  # rows from which on searching is faster than reading
_STRONGEST = 34  # per cent of the heat of the greatest number: ink stays readable on it


@dataclass(frozen=True, slots=True)
class Strip:
    """A column as it is shown: what its cells have in common."""

    place: int
    column: Column
    numeric: bool
    scale: units.Scale | None
    intervals: bool
    greatest: float  # of the numbers, for bars and shades

    @property
    def heading(self) -> str:
        """The heading, with the unit where that is the same for all cells."""
        named = f" [{self.scale.name}]" if self.scale and self.scale.name else ""
        return self.column.heading + named


def table(block: Table, most: int = MOST) -> str:
    """Return a table; columns without anything in them are left out."""
    strips = _strips(block)
    if not strips:
        return ""
    shown = block.rows[:most]
    signed = any(word(tone) and tone in SIGNS for tone in block.tones)
    body = []
    for number, row in enumerate(shown):
        tone = block.tones[number] if number < len(block.tones) else Tone.PLAIN
        cells = "".join(_cells(row, strips, block, tone, signed=signed))
        classes = " ".join(filter(None, (word(tone), "chosen" * (number == block.chosen))))
        body.append(f'<tr class="{classes}">{cells}</tr>' if classes else f"<tr>{cells}</tr>")
    heads = "".join(_head(each, matrix=block.heat) for each in strips)
    caption = _caption(block, strips)
    kind = "matrix" if block.heat else "data"
    searched = " searched" if len(shown) >= _SEARCHED and not block.heat else ""
    text = f"<h3>{escape(glued(caption))}</h3>" if caption else ""
    made = (
        f'<table class="{kind}{searched}"{_widest(strips[0], shown)}>'
        f"<thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>"
    )
    label = caption or ", ".join(each.column.heading for each in strips[:3]) or "table"
    box = element("div", made, class_="scroll", tabindex="0", role="region", aria_label=label)
    return text + box + _rest(block, len(shown))


def _rest(block: Table, shown: int) -> str:
    more = len(block.rows) - shown
    if not more:
        return ""
    count = f"The first {shown:,} of {len(block.rows):,} rows."
    return f'<p class="note">{count} All of them are in the JSON.</p>'


def _caption(block: Table, strips: Sequence[Strip]) -> str:
    """Return the caption; a matrix has one scale for all of its cells, named there."""
    scale = next((each.scale for each in strips if each.scale), None) if block.heat else None
    if scale is None or not scale.name:
        return block.caption
    return f"{block.caption.rstrip('.')}, in {scale.name}" if block.caption else f"in {scale.name}"


def _strips(block: Table) -> list[Strip]:
    everything = [_number(cell) for row in block.rows for cell in row[1:]] if block.heat else []
    numbers_of_all = [value for value in everything if value is not None]
    largest = max(map(abs, numbers_of_all), default=0.0)
    shared: dict[str, units.Scale | None] = {}  # of a matrix: looked for once, not per column
    found = []
    for place, column in enumerate(block.columns):
        cells = [row[place] for row in block.rows]
        if not any(_there(cell) for cell in cells):
            continue
        numbers = [value for value in map(_number, cells) if value is not None]
        unit = column.unit or next((cell.unit for cell in cells if cell.unit), "")
        scale = None
        if column.common and numbers and block.heat:
            if unit not in shared:
                shared[unit] = units.Scale.of(numbers_of_all, unit)
            scale = shared[unit]
        elif column.common and numbers:
            scale = units.Scale.of(numbers, unit)
        size = largest if block.heat else max(map(abs, numbers), default=0.0)
        intervals = bool(column.interval) and any(cell.within for cell in cells)
        found.append(Strip(place, column, bool(numbers), scale, intervals, size))
    return found


def _number(cell: Cell) -> float | None:
    value = cell.value
    if isinstance(value, str) or value is None or not math.isfinite(value):
        return None
    return value


def _there(cell: Cell) -> bool:
    if missing(cell.value) or cell.value == "":
        return bool(cell.course) or reason(cell) != units.MISSING
    return True


def _head(strip: Strip, *, matrix: bool) -> str:
    text = escape(strip.column.heading if matrix else strip.heading)
    made = f'<th scope="col"{_class("r" * strip.numeric)}>{text}</th>'
    if strip.column.bar and strip.numeric:
        made += '<td class="bar"></td>'
    if strip.intervals:
        made += f'<th scope="col" class="r">{escape(strip.column.interval)}</th>'
    return made


def _widest(strip: Strip, rows: Sequence[tuple[Cell, ...]]) -> str:
    """Return how wide the names at the side would like to be, within reason."""
    if strip.numeric:
        return ""
    longest = max((len(str(row[strip.place].value or "")) for row in rows), default=0)
    return f' style="--n:{min(longest, 28)}ch"'


def _class(*words: str) -> str:
    found = " ".join(filter(None, words))
    return f' class="{found}"' if found else ""


def _cells(
    row: Sequence[Cell], strips: Sequence[Strip], block: Table, tone: Tone, *, signed: bool
) -> list[str]:
    made = []
    for number, strip in enumerate(strips):
        cell = row[strip.place]
        sign = _sign(tone) if number == 0 and signed else ""
        if cell.tone in SIGNS and cell.tone != tone:
            sign += _sign(cell.tone)
        made.append(_cell(cell, strip, sign, first=number == 0, heat=block.heat))
        if strip.column.bar and strip.numeric:
            made.append(_bar(cell, strip))
        if strip.intervals:
            made.append(f'<td class="r u">{escape(glued(_interval(cell, strip.scale)))}</td>')
    return made


def _sign(tone: Tone) -> str:
    return f'<span class="sign">{SIGNS[tone]}</span>{THIN}' if tone in SIGNS else ""


def _cell(cell: Cell, strip: Strip, sign: str, *, first: bool, heat: bool) -> str:
    value = _number(cell)
    classes = [word(cell.tone), "r" if strip.numeric else ""]
    attributes = f' data-v="{value!r}"' if value is not None else ""
    hint = cell.hint
    if heat and value is not None and strip.greatest and not first:
        share = _STRONGEST * math.sqrt(abs(value) / strip.greatest)
        attributes += f' style="--h:{plain(share)}%"'
        classes.append("heat")
        if not strip.intervals and cell.within:
            hint = f"{hint} {_interval(cell, None)}".strip()
    if hint:
        attributes += f' title="{escape(hint)}"'
    if first and not strip.numeric:
        return f'<th scope="row"{_class(*classes)}{attributes}>{sign}{_body(cell, strip)}</th>'
    return f"<td{_class(*classes)}{attributes}>{sign}{_body(cell, strip)}</td>"


def _body(cell: Cell, strip: Strip) -> str:
    if cell.course:
        return _sparkline(cell.course)
    value = cell.value
    if missing(value):
        return f'<span class="u why">{escape(reason(cell))}</span>'
    if isinstance(value, str) or value is None:
        return escape(glued(str(value)))
    figure, unit = units.parts(
        value,
        cell.unit or strip.column.unit,
        within=cell.within if strip.scale is None else None,
        scale=strip.scale,
        digits=strip.column.digits,
    )
    name = f'{THIN}<span class="u">{escape(unit)}</span>' if unit else ""
    return approximate(cell) + escape(figure) + name


def _interval(cell: Cell, scale: units.Scale | None) -> str:
    if cell.within is None:
        return ""
    value = _number(cell)
    return units.interval(*cell.within, cell.unit, value=value, scale=scale)


def _bar(cell: Cell, strip: Strip) -> str:
    """Return a bar as long as the share, or as the part of the greatest number of its column."""
    value = _number(cell)
    unit = cell.unit or strip.column.unit
    greatest = max(1.0, strip.greatest) if unit == "%" else strip.greatest
    if not value or not greatest:
        return '<td class="bar"></td>'
    return (
        f'<td class="bar"><i style="--w:{plain(min(abs(value) / greatest, 1.0) * 100)}%"></i></td>'
    )


def _sparkline(course: Sequence[float | None]) -> str:
    """Return little bars from zero; where there was no reading there is none."""
    size = -(-len(course) // _COURSE)
    pieces = [course[i : i + size] for i in range(0, len(course), size)]
    tops = [
        max((v for v in piece if v is not None and not missing(v)), default=None)
        for piece in pieces
    ]
    found = [value for value in tops if value is not None]
    greatest = max(found, default=0.0) or 1.0
    steps = "".join(
        f"M{i + 0.5} 20V{plain(20 - max(18 * min(value / greatest, 1.0), 0.6))}"
        for i, value in enumerate(tops)
        if value is not None
    )
    return (
        f'<svg class="course" viewBox="0 0 {len(tops)} 20" preserveAspectRatio="none" role="img" '
        f'aria-label="course over time, {len(found)} readings"><path d="{steps}"/></svg>'
    )
