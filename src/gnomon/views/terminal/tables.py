"""Tables that fit: texts are cut first, then columns go by their rank; numbers are never cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gnomon import units
from gnomon.views import shared
from gnomon.views.blocks import Table, Tone
from gnomon.views.terminal import (
    BOLD,
    CHOSEN,
    CODES,
    DIM,
    Line,
    Screen,
    cell_text,
    cut,
    cut_middle,
    pad,
    paragraph,
    width,
)

_PIPE_TEXT = 60  # columns of a text in a pipe, which has no width
_LEAST, _GOOD = 12, 36  # columns that a text must have, and that it should have
NICE = 5  # from here on `drop` means: only where texts have room enough
_BAR = 12
_GAP = "  "
ROWS_BELOW = 55  # columns, below which a row is written as `name: value`


@dataclass(slots=True)
class Strip:
    """A column as it is shown: one of the table, its bars, or the interval beside it."""

    heading: str
    texts: list[str]
    drop: int
    right: bool = False
    flex: bool = False
    words: bool = False  # which may be cut; a number that is cut is a lie
    bar: bool = False
    tones: list[str] = field(default_factory=list)
    wide: int = 0

    def __post_init__(self) -> None:
        self.wide = max(width(self.heading), max(map(width, self.texts), default=0))

    def cut_to(self, most: int) -> None:
        """Cut its texts at their ends."""
        self.texts = [cut(text, most) for text in self.texts]
        self.__post_init__()


def _strips_of(found: shared.Strip, screen: Screen) -> Iterator[Strip]:
    """Yield a column as texts, then its intervals and its bars."""
    column, cells, numeric = found.column, found.cells, bool(found.numbers)
    texts = [cell_text(cell, screen, found.scale, column.digits) for cell in cells]
    if not numeric:  # in a column of words, nothing is nothing
        texts = ["" if text in shared.NOTHING else text for text in texts]
    tones = [CODES[cell.tone] for cell in cells] if any(cell.tone for cell in cells) else []
    heading = screen.clean(found.heading)
    yield Strip(heading, texts, column.drop, numeric, column.flex, words=not numeric, tones=tones)
    if found.intervals:
        ends = [
            screen.clean(units.interval(*cell.within, cell.unit, value=cell.number))
            if cell.within
            else ""
            for cell in cells
        ]
        yield Strip(screen.clean(column.interval), ends, column.drop)
    if column.bar and screen.columns is not None:
        bars = [screen.clean(units.bar(cell.number or 0.0, _BAR)) for cell in cells]
        yield Strip("", bars, NICE + column.drop, bar=True)


def table_lines(block: Table, screen: Screen) -> Iterator[Line]:
    """Yield the lines of a table, and what there was no room for."""
    most = None if screen.everything or screen.columns is None else block.most
    shown = block if most is None else replace(block, rows=block.rows[:most])
    known = shared.strips(shown)
    found = [strip for each in known for strip in _strips_of(each, screen) if any(strip.texts)]
    if not found:
        return
    yield from paragraph(shared.captioned(block, known) if block.caption else "", screen)
    dropped: list[str] = []
    if screen.columns is not None and screen.columns < ROWS_BELOW:
        yield from _records(shown, found, screen)
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
        yield from paragraph(text, screen, DIM)


def _codes(table: Table) -> Iterator[str]:
    """Yield the colour of each row."""
    for number in range(len(table.rows)):
        tone = table.tones[number] if table.tones else Tone.PLAIN
        yield CHOSEN if number == table.chosen else CODES[tone]


def _grid(table: Table, found: list[Strip], screen: Screen) -> Iterator[Line]:
    wide = [each.wide for each in found]
    if screen.widths is not None:
        keys = [f"{table.name}/{each.heading}" for each in found]
        wide = [max(w, screen.widths.get(key, 0)) for w, key in zip(wide, keys, strict=True)]
        screen.widths.update(zip(keys, wide, strict=True))
    columns = list(zip(found, wide, strict=True))
    if any(each.heading for each in found):
        heads = _GAP.join(pad(each.heading, w, right=each.right) for each, w in columns)
        yield ((heads.rstrip(), BOLD),)
    for number, code in enumerate(_codes(table)):
        spans: list[tuple[str, str]] = []
        for each, w in columns:
            text = pad(each.texts[number], w, right=each.right)
            own = each.tones[number] if each.tones and not code else ""
            spans.append((_GAP + text if spans else text, own or code))
        yield spans


def _records(table: Table, found: list[Strip], screen: Screen) -> Iterator[Line]:
    """Write rows as `name: value`, where a table would not be readable."""
    first, rest = found[0], [each for each in found[1:] if not each.bar]
    for number, code in enumerate(_codes(table)):
        yield from paragraph(first.texts[number] or "–", screen, code or BOLD, rest="  ")
        for each in rest:
            text = each.texts[number]
            if text not in shared.NOTHING:
                label = f"{each.heading}: " if each.heading else ""
                yield from paragraph(label + text, screen, code, first="  ", rest="    ")


def _fit(found: list[Strip], columns: int | None) -> tuple[list[Strip], list[str]]:
    """Cut texts, then drop columns, the least important first, until the rest fits."""
    dropped: list[str] = []
    while columns is not None:
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
    for each in found:
        if each.flex:
            each.cut_to(_PIPE_TEXT)
    return found, dropped


def _squeezed(found: list[Strip], columns: int) -> list[Strip]:
    """Cut the widest texts in the middle when no column may go any more."""
    while (over := sum(each.wide + len(_GAP) for each in found) - len(_GAP) - columns) > 0:
        texts = [each for each in found if each.words and each.wide > _LEAST]
        if not texts:
            break
        widest = max(texts, key=lambda each: each.wide)
        most = max(widest.wide - over, _LEAST)
        widest.texts = [cut_middle(text, most) for text in widest.texts]
        widest.heading = cut(widest.heading, most)
        widest.__post_init__()
    return found


def _side_by_side(found: list[Strip], columns: int | None) -> Iterator[list[Strip]]:
    """Yield the columns that fit beside each other, below the ones before: a wide matrix."""
    held = found[:1]
    for each in found[1:]:
        wide = sum(strip.wide + len(_GAP) for strip in held) + each.wide
        if columns is not None and len(found) > 2 and len(held) > 1 and wide > columns:
            yield held
            held = found[:1]
        held.append(each)
    yield held
