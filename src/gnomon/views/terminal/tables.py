"""Tables that fit: texts are cut first, then columns go by their rank; numbers are never cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gnomon import units
from gnomon.views.blocks import Cell, Column, Table, Tone
from gnomon.views.terminal import (
    BOLD,
    CHOSEN,
    CODES,
    DIM,
    Line,
    Screen,
    cut,
    cut_middle,
    pad,
    width,
    wrapped,
)

_PIPE_TEXT = 60  # columns of a text in a pipe, which has no width
_LEAST, _GOOD = 12, 36  # columns that a text must have, and that it should have
NICE = 5  # from here on `drop` means: only where texts have room enough
_BAR = 12
_COURSE = 40
_GAP = "  "
ROWS_BELOW = 55  # columns, below which a row is written as `name: value`
_COUNTED = ("", "counted")
_NOTHING = ("", units.MISSING, "-")


def cell_text(cell: Cell, screen: Screen, scale: units.Scale | None = None, digits: int = 0) -> str:
    """Return a cell as text: ~ marks what was not counted outright; what is missing says why."""
    if cell.course:
        from gnomon.views.sparkline import sparkline

        return screen.clean(sparkline(cell.course, _COURSE))
    value = cell.value
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return screen.clean(cell.status if cell.status not in _COUNTED else units.MISSING)
    if isinstance(value, str):
        return screen.clean(value)
    within = cell.within if scale is None else None
    text = units.number(value, cell.unit, within=within, scale=scale, digits=digits)
    text = text if cell.status in _COUNTED else f"~ {text}"
    return text if screen.unicode else screen.clean(text)


def interval_text(cell: Cell, screen: Screen) -> str:
    """Return the ends of a cell's interval, or nothing where it has none."""
    if cell.within is None:
        return ""
    value = cell.value if isinstance(cell.value, int | float) else None
    return screen.clean(units.interval(*cell.within, cell.unit, value=value))


@dataclass(slots=True)
class Strip:
    """A column as it is shown: one of the table, its bars, or the interval beside it."""

    heading: str
    texts: list[str]
    right: bool
    drop: int
    flex: bool
    words: bool = True  # which may be cut; a number that is cut is a lie
    bar: bool = False
    tones: list[str] = field(default_factory=list)
    wide: int = 0

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Find out how wide it is."""
        self.wide = max(width(self.heading), max(map(width, self.texts), default=0))

    def cut_to(self, most: int) -> None:
        """Cut its texts at their ends."""
        self.texts = [cut(text, most) for text in self.texts]
        self.measure()


def strips(table: Table, screen: Screen) -> list[Strip]:
    """Return the columns that have something in them, as texts."""
    scale_of_all = units.Scale.of(_numbers(table), _unit_of_all(table)) if table.heat else None
    found: list[Strip] = []
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        found += _strips_of(column, cells, screen, table, scale_of_all if place else None)
    return [each for each in found if any(text not in _NOTHING for text in each.texts)]


def _strips_of(
    column: Column,
    cells: list[Cell],
    screen: Screen,
    table: Table,
    scale: units.Scale | None,
) -> Iterator[Strip]:
    numbers = [cell.value for cell in cells if _is_number(cell)]
    if column.common and not table.heat:
        unit = column.unit or next((cell.unit for cell in cells if cell.unit), "")
        scale = units.Scale.of(numbers, unit)  # type: ignore[arg-type]
    named = f" [{scale.name}]" if scale and scale.name and not table.heat else ""
    texts = [cell_text(cell, screen, scale, column.digits) for cell in cells]
    if not numbers:  # in a column of words, nothing is nothing
        texts = ["" if text in _NOTHING else text for text in texts]
    yield Strip(
        screen.clean(column.heading) + screen.clean(named),
        texts,
        bool(numbers),
        column.drop,
        column.flex,
        not numbers,
        False,
        [CODES[cell.tone] for cell in cells] if any(cell.tone for cell in cells) else [],
    )
    if column.interval:
        texts = [interval_text(cell, screen) for cell in cells]
        yield Strip(screen.clean(column.interval), texts, False, column.drop, False, False)
    if column.bar and screen.columns is not None:
        shares = [
            units.bar(float(cell.value), _BAR) if isinstance(cell.value, int | float) else ""
            for cell in cells
        ]
        drawn = [*map(screen.clean, shares)]
        yield Strip("", drawn, False, NICE + column.drop, False, words=False, bar=True)


def table_lines(block: Table, screen: Screen) -> Iterator[Line]:
    """Yield the lines of a table, and what there was no room for."""
    most = None if screen.everything or screen.columns is None else block.most
    shown = block if most is None else replace(block, rows=block.rows[:most])
    found = strips(shown, screen)
    if not found:
        return
    for line in wrapped(_caption_of(block), screen) if block.caption else ():
        yield ((line, ""),)
    if screen.columns is not None and screen.columns < ROWS_BELOW:
        yield from _records(shown, found, screen)
        dropped: list[str] = []
    else:
        found, dropped = _fit(found, screen.columns)
        for place, each in enumerate(_side_by_side(found, screen.columns)):
            if place:
                yield ()
            yield from _grid(shown, each, screen)
    left = len(block.rows) - len(shown.rows)
    if left:
        yield ((f"{screen.clean('…')} {left:,} more rows: --all shows them", DIM),)
    if dropped:
        text = f"… no room for {', '.join(dropped)}: see --csv or --html"
        for line in wrapped(text, screen):
            yield ((line, DIM),)


def _grid(table: Table, found: list[Strip], screen: Screen) -> Iterator[Line]:
    wide = [each.wide for each in found]
    if screen.widths is not None:
        keys = [f"{table.name}/{each.heading}" for each in found]
        wide = [max(w, screen.widths.get(key, 0)) for w, key in zip(wide, keys, strict=True)]
        screen.widths.update(zip(keys, wide, strict=True))
    if any(each.heading for each in found):
        heads = zip(found, wide, strict=True)
        text = _GAP.join(pad(each.heading, w, right=each.right) for each, w in heads)
        yield ((text.rstrip(), BOLD),)
    for number in range(len(table.rows)):
        tone = table.tones[number] if table.tones else Tone.PLAIN
        code = CHOSEN if number == table.chosen else CODES[tone]
        spans: list[tuple[str, str]] = []
        for place, (each, w) in enumerate(zip(found, wide, strict=True)):
            text = each.texts[number]
            gap = " " * (w - width(text))
            own = each.tones[number] if each.tones and not code else ""
            padded = gap + text if each.right else text + gap
            spans.append((f"{_GAP if place else ''}{padded}", own or code))
        yield spans


def _records(table: Table, found: list[Strip], screen: Screen) -> Iterator[Line]:
    """Write rows as `name: value`, where a table would not be readable."""
    first, rest = found[0], found[1:]
    for number in range(len(table.rows)):
        tone = table.tones[number] if table.tones else Tone.PLAIN
        code = CHOSEN if number == table.chosen else CODES[tone]
        for line in wrapped(first.texts[number] or "–", screen, rest="  "):
            yield ((line, code or BOLD),)
        for each in rest:
            text = each.texts[number]
            if text not in _NOTHING and not each.bar:
                label = f"{each.heading}: " if each.heading else ""
                for line in wrapped(label + text, screen, first="  ", rest="    "):
                    yield ((line, code),)


def _caption_of(table: Table) -> str:
    """Return the caption; a matrix has its unit there."""
    scale = units.Scale.of(_numbers(table), _unit_of_all(table)) if table.heat else None
    if scale is None or not scale.name:
        return table.caption
    return f"{table.caption.rstrip('.')}, in {scale.name}"


def _is_number(cell: Cell) -> bool:
    return isinstance(cell.value, int | float) and cell.value == cell.value


def _numbers(table: Table) -> list[float]:
    return [
        cell.value  # type: ignore[misc]
        for row in table.rows
        for cell in row[1:]
        if _is_number(cell)
    ]


def _unit_of_all(table: Table) -> str:
    return next((cell.unit for row in table.rows for cell in row[1:] if cell.unit), "")


def _fit(found: list[Strip], columns: int | None) -> tuple[list[Strip], list[str]]:
    """Cut texts, then drop columns, the least important first, until the rest fits."""
    if columns is None:
        for each in found:
            if each.flex:
                each.cut_to(_PIPE_TEXT)
        return found, []
    dropped: list[str] = []
    while True:
        flexible = [each for each in found if each.flex]
        rigid = sum(each.wide + len(_GAP) for each in found if not each.flex)
        room = columns + len(_GAP) - rigid - len(_GAP) * len(flexible)
        last = max(found, key=lambda each: each.drop)
        wanted = _GOOD if last.drop >= NICE else _LEAST
        needed = sum(min(each.wide, max(wanted, width(each.heading))) for each in flexible)
        if room >= needed:
            for place, each in enumerate(sorted(flexible, key=lambda each: each.wide)):
                each.cut_to(max(room // (len(flexible) - place), width(each.heading)))
                room -= each.wide
            return found, dropped
        if last.drop == 0:
            return _squeezed(found, columns), dropped
        dropped += [each.heading for each in found if each.drop == last.drop and each.heading]
        found = [each for each in found if each.drop != last.drop]


def _squeezed(found: list[Strip], columns: int) -> list[Strip]:
    """Cut the widest texts in the middle when no column may go any more."""
    while (over := sum(each.wide + len(_GAP) for each in found) - len(_GAP) - columns) > 0:
        texts = [each for each in found if each.words and each.wide > _LEAST]
        if not texts:
            return found
        widest = max(texts, key=lambda each: each.wide)
        most = max(widest.wide - over, _LEAST)
        widest.texts = [cut_middle(text, most) for text in widest.texts]
        widest.heading = cut(widest.heading, most)
        widest.measure()
    return found


def _side_by_side(found: list[Strip], columns: int | None) -> Iterator[list[Strip]]:
    """Yield the columns that fit beside each other, below the ones before: a wide matrix."""
    if columns is None or len(found) < 3:
        yield found
        return
    first, rest = found[0], found[1:]
    held: list[Strip] = [first]
    for each in rest:
        if len(held) > 1 and sum(s.wide + len(_GAP) for s in held) + each.wide > columns:
            yield held
            held = [first]
        held.append(each)
    yield held
