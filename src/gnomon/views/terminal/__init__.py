"""Blocks in a terminal: plain and whole in a pipe, as wide as the screen and coloured on one.

`lines` makes lines of blocks for a `Screen`, the one place where lines are made harmless, cut
and coloured. In tables that do not fit texts are cut first, then columns go by their rank; numbers
are never cut. Charts, graphs and compositions have modules of their own.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TextIO

from gnomon import units
from gnomon.views import blocks as b
from gnomon.views.blocks import SIGNS, Cell, Tone, missing
from gnomon.views.shared import NOTHING, Strip, captioned, said, strips

CODES = {Tone.PLAIN: "", Tone.GOOD: "32", Tone.BAD: "31", Tone.DOUBT: "33", Tone.FAINT: "2"}
_CLOSE = (b.Finding, b.Text, b.Fold)  # no blank line between two of these
_PICTURE = 100  # columns of a picture in a pipe
_COURSE = 40  # characters of the course of a value
_PIPE_TEXT = 60  # columns of a text in a pipe, which has no width
_LEAST, _GOOD = 12, 36  # columns that a text must have, and that it should have
_NICE = 5  # from here on `drop` means: only where texts have room enough
_BAR = 12
_GAP = "  "
ROWS_BELOW = 55  # columns, below which a row is written as `name: value`
BOLD, DIM, CHOSEN = "1", "2", "7"

_NARROW = re.compile(
    "[\x00-\u02ff\u2010-\u2027\u202f-\u205e\u2190-\u22ff\u2500-\u25fc\u2800-\u28ff]*"
).fullmatch
"""Matches texts of characters that take one column each, without looking each of them up."""

Span = tuple[str, str]
"""A text and the code of its colour."""
Line = Sequence[Span]

_SUBSTITUTES = str.maketrans(
    "█▓▒░×µ–−…→✓✗•●○│┊─├┤┼┌┐└┘╱╲╳≈·▏▎▍▌▋▊▉▁▂▃▄▅▆▇",
    "#=-.xu--~>+x*oo|:-+++++++/\\X~.----===_.,-=+*",
) | str.maketrans({"±": "+/-", "∞": "inf"})
"""What stands for our signs where there is no Unicode."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What lines are made for: `columns` is None in a pipe, where nothing is dropped for room.

    `widths` keeps how wide columns have been, so that a table that is drawn again and again
    stands still: widths only grow.
    """

    columns: int | None = None
    colour: bool = False
    everything: bool = False
    encoding: str = "utf-8"
    widths: dict[str, int] | None = None

    def clean(self, text: str) -> str:
        """Return a text that does nothing to a terminal and that its stream can write."""
        if not text.isprintable():
            text = "".join(c if _harmless(c) else repr(c)[1:-1] for c in text)
        if self.encoding == "utf-8" or text.isascii():
            return text
        text = text.translate(_SUBSTITUTES)
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)

    def finish(self, line: Line) -> str:
        """Return a line: harmless, no longer than there is room for, and in its colours."""
        room = self.columns
        parts = []
        for raw, code in line:
            text = self.clean(raw)
            if room is not None:
                if width(text) > room:
                    text = self.clean(cut(text, room))  # without Unicode there is no … either
                room -= width(text)
            parts.append(f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text)
        return "".join(parts).rstrip(" ")


def screen_of(stream: TextIO, *, everything: bool = False, colour: str = "auto") -> Screen:
    """Return what a stream is: a pipe has no width and, unless told so, no colour."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-")
    encoding = "utf-8" if encoding in ("utf8", "utf-8") else encoding
    if not stream.isatty():
        return Screen(None, colour == "always", everything, encoding)
    import shutil

    wanted = colour == "always" or (
        colour == "auto" and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )
    columns = max(shutil.get_terminal_size().columns, 1)
    return Screen(columns, wanted, everything, encoding)


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii() or _NARROW(text):
        return len(text)
    return sum(map(_width, text))


def cut(text: str, most: int) -> str:
    """Return a text that is at most so wide; where something is missing it ends with …."""
    if width(text) <= most:
        return text
    return f"{_beginning(text, most - 1).rstrip()}…" if most > 0 and text.strip() else ""


def cut_middle(text: str, most: int) -> str:
    """Return a text without its middle, where the names of events differ least."""
    if width(text) <= most:
        return text
    end = min(8, most // 2)
    last = _beginning(text[::-1], end)[::-1]
    return f"{_beginning(text, most - 1 - width(last))}…{last}"


def pad(text: str, wide: int, *, right: bool = False) -> str:
    """Return a text that fills so many columns."""
    gap = " " * (wide - width(text))
    return gap + text if right else text + gap


def wrapped(text: str, screen: Screen, *, first: str = "", rest: str = "") -> Iterator[str]:
    """Yield lines of words; in a pipe a sentence is one line, so that grep finds it whole."""
    text = screen.clean(text)
    if screen.columns is None:
        yield first + text
        return
    room = max(screen.columns, len(rest) + 12)
    line, begun = first, False
    for word in text.split(" "):
        if begun and width(line) + 1 + width(word) > room:
            yield line
            line, begun = rest, False
        line += f" {word}" if begun else word
        begun = True
        while width(line) > room:  # a word that is longer than a line
            head = _beginning(line, room)
            yield head
            line = rest + line[len(head) :]
    if line.strip():
        yield line


def _beginning(text: str, most: int) -> str:
    if text.isascii():
        return text[: max(most, 0)]
    taken = 0
    for place, character in enumerate(text):
        taken += _width(character)
        if taken > most:
            return text[:place]
    return text


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 1 + (unicodedata.east_asian_width(character) in "WF")


def _harmless(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


# ---- blocks ---------------------------------------------------------------------------------


def lines(blocks: Iterable[b.Block], screen: Screen | None = None) -> Iterator[str]:
    """Yield the lines of blocks; a blank one stands between those that are not of one kind."""
    screen = screen or Screen()
    before: type | None = None
    waiting: list[str] = []  # a heading, until something stands below it
    folded, findings = False, 0
    for block in blocks:
        sign = ""
        if isinstance(block, b.Finding) and block.tone is Tone.PLAIN:
            findings += 1
            sign = f"{findings} "
        made = [screen.finish(each) for each in _lines_of(block, screen, sign)]
        if isinstance(block, b.Section):
            waiting = made
        elif made:
            close = not waiting and type(block) in _CLOSE and before in _CLOSE
            if before is not None and not close:
                yield ""
            yield from waiting
            yield from made
            waiting, before = [], type(block)
            folded |= isinstance(block, b.Fold) and bool(block.blocks)
    if folded and not screen.everything:
        yield from map(screen.finish, paragraph("(--all shows what is folded away)", screen, DIM))


def paragraph(
    text: str, screen: Screen, code: str = "", *, first: str = "", rest: str = ""
) -> Iterator[Line]:
    """Yield the lines of a text in one colour; none where there is no text."""
    for line in wrapped(text, screen, first=first, rest=rest) if text else ():
        yield ((line, code),)


def _lines_of(block: b.Block, screen: Screen, sign: str) -> Iterator[Line]:
    match block:
        case b.Headline():
            yield from paragraph(block.title, screen, BOLD)
            for text in block.lines:
                yield from paragraph(text, screen, rest="  ")
        case b.Section():
            yield ((block.title, BOLD),)
        case b.Finding():
            yield from _finding(block, screen, sign)
        case b.Text():
            yield from paragraph(block.text, screen, CODES[block.tone])
        case b.Facts():
            yield from _facts(block, screen)
        case b.Fold():
            yield from paragraph(block.brief, screen, rest="  ")
            if screen.everything:
                room = None if screen.columns is None else max(screen.columns - 2, 1)
                inner = replace(screen, columns=room, colour=False)
                yield from (
                    ((f"  {each}" if each else "", ""),) for each in lines(block.blocks, inner)
                )
        case b.Table():
            yield from _table(block, screen)
        case b.Chart() if not (block.alone or screen.everything):
            return  # a table has its numbers
        case b.Picture():
            yield from paragraph(block.caption, screen)
            yield from (((line, ""),) for line in block.lines(screen.columns or _PICTURE))
        case _:
            module, function = _ELSEWHERE[type(block)]
            yield from getattr(import_module(f"{__name__}.{module}"), function)(block, screen)


_ELSEWHERE: dict[type, tuple[str, str]] = {
    b.Chart: ("charts", "chart_lines"),
    b.Graph: ("graph", "graph_lines"),
    b.Composition: ("composition", "composition_lines"),
}


def _finding(block: b.Finding, screen: Screen, sign: str) -> Iterator[Line]:
    """What a reader should conclude, with a sign or a number, and what to do about it."""
    if block.tone in SIGNS:
        sign = screen.clean(f"{SIGNS[block.tone]} ")
    yield from paragraph(block.text, screen, CODES[block.tone], first=sign, rest=" " * len(sign))
    arrow = "" if block.remedy.startswith("$ ") else screen.clean("→ ")
    yield from paragraph(block.remedy, screen, first=f"  {arrow}", rest="    ")


def _facts(block: b.Facts, screen: Screen) -> Iterator[Line]:
    told = [(screen.clean(name), cell, cell_text(cell, screen)) for name, cell in block.cells]
    told = [row for row in told if row[2]]
    if block.caption and told:
        yield ((block.caption, BOLD),)
    widest = max((width(name) for name, _, _ in told), default=0)
    indent = " " * (widest + 2 if screen.columns and screen.columns > widest + 30 else 2)
    for name, cell, text in told:
        first = f"{pad(name, widest)}  "
        yield from paragraph(text, screen, CODES[cell.tone], first=first, rest=indent)


def cell_text(cell: Cell, screen: Screen, scale: units.Scale | None = None, digits: int = 0) -> str:
    """Return a cell as text: ~ marks what was not counted outright; what is missing says why."""
    if cell.course:
        from gnomon.views.terminal.charts import sparkline

        return screen.clean(sparkline(cell.course, _COURSE))
    value = cell.value
    if value is None or isinstance(value, str) or missing(value):
        return screen.clean(said(cell))
    within = cell.within if scale is None else None
    text = units.number(value, cell.unit, within=within, scale=scale, digits=digits)
    return screen.clean(f"~ {text}" if cell.estimated else text)


# ---- tables ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Strand:
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


def _strips_of(found: Strip, screen: Screen) -> Iterator[Strand]:
    """Yield a column as texts, then its intervals and its bars."""
    column, cells, numeric = found.column, found.cells, bool(found.numbers)
    texts = [cell_text(cell, screen, found.scale, column.digits) for cell in cells]
    if not numeric:  # in a column of words, nothing is nothing
        texts = ["" if text in NOTHING else text for text in texts]
    tones = [CODES[cell.tone] for cell in cells] if any(cell.tone for cell in cells) else []
    heading = screen.clean(found.heading)
    yield Strand(heading, texts, column.drop, numeric, column.flex, words=not numeric, tones=tones)
    if found.intervals:
        ends = [
            screen.clean(units.interval(*cell.within, cell.unit, value=cell.number))
            if cell.within
            else ""
            for cell in cells
        ]
        yield Strand(screen.clean(column.interval), ends, column.drop)
    if column.bar and screen.columns is not None:
        bars = [screen.clean(units.bar(cell.number or 0.0, _BAR)) for cell in cells]
        yield Strand("", bars, _NICE + column.drop, bar=True)


def _table(block: b.Table, screen: Screen) -> Iterator[Line]:
    """Yield the lines of a table, and what there was no room for."""
    most = None if screen.everything or screen.columns is None else block.most
    shown = block if most is None else block._replace(rows=block.rows[:most])
    known = strips(shown)
    found = [strip for each in known for strip in _strips_of(each, screen) if any(strip.texts)]
    if not found:
        return
    yield from paragraph(captioned(block, known) if block.caption else "", screen)
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


def _codes(table: b.Table) -> Iterator[str]:
    """Yield the colour of each row."""
    for number in range(len(table.rows)):
        tone = table.tones[number] if table.tones else Tone.PLAIN
        yield CHOSEN if number == table.chosen else CODES[tone]


def _grid(table: b.Table, found: list[Strand], screen: Screen) -> Iterator[Line]:
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


def _records(table: b.Table, found: list[Strand], screen: Screen) -> Iterator[Line]:
    """Write rows as `name: value`, where a table would not be readable."""
    first, rest = found[0], [each for each in found[1:] if not each.bar]
    for number, code in enumerate(_codes(table)):
        yield from paragraph(first.texts[number] or "–", screen, code or BOLD, rest="  ")
        for each in rest:
            text = each.texts[number]
            if text not in NOTHING:
                label = f"{each.heading}: " if each.heading else ""
                yield from paragraph(label + text, screen, code, first="  ", rest="    ")


def _fit(found: list[Strand], columns: int | None) -> tuple[list[Strand], list[str]]:
    """Cut texts, then drop columns, the least important first, until the rest fits."""
    dropped: list[str] = []
    while columns is not None:
        flexible = [each for each in found if each.flex]
        rigid = sum(each.wide + len(_GAP) for each in found if not each.flex)
        room = columns + len(_GAP) - rigid - len(_GAP) * len(flexible)
        last = max(found, key=lambda each: each.drop)
        wanted = _GOOD if last.drop >= _NICE else _LEAST
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


def _squeezed(found: list[Strand], columns: int) -> list[Strand]:
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


def _side_by_side(found: list[Strand], columns: int | None) -> Iterator[list[Strand]]:
    """Yield the columns that fit beside each other, below the ones before: a wide matrix."""
    held = found[:1]
    for each in found[1:]:
        wide = sum(strip.wide + len(_GAP) for strip in held) + each.wide
        if columns is not None and len(found) > 2 and len(held) > 1 and wide > columns:
            yield held
            held = found[:1]
        held.append(each)
    yield held
