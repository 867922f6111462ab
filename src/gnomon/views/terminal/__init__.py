"""Blocks in a terminal: plain and whole in a pipe, as wide as the screen and coloured on one.

`lines` makes lines of blocks for a `Screen`, the one place where lines are made harmless, cut
and coloured. Tables, charts, graphs and compositions have modules of their own.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from gnomon.views.blocks import (
    Block,
    Cell,
    Chart,
    Composition,
    Facts,
    Finding,
    Fold,
    Graph,
    Headline,
    Picture,
    Section,
    Table,
    Text,
    Tone,
)

CODES = {Tone.PLAIN: "", Tone.GOOD: "32", Tone.BAD: "31", Tone.DOUBT: "33", Tone.FAINT: "2"}
_SIGNS = {Tone.GOOD: "✓ ", Tone.BAD: "✗ ", Tone.DOUBT: "! "}
_CLOSE = (Finding, Text, Fold)  # no blank line between two of these
_PICTURE = 100  # columns of a picture in a pipe
BOLD, DIM, CHOSEN = "1", "2", "7"

_NARROW = re.compile(
    "[\x00-\u02ff\u2010-\u2027\u202f-\u205e\u2190-\u22ff\u2500-\u25fc\u2800-\u28ff]*"
).fullmatch
"""Matches texts of characters that take one column each, without looking each of them up."""

Span = tuple[str, str]
"""A text and the code of its colour."""
Line = Sequence[Span]

_SUBSTITUTES = str.maketrans(
    {
        "█": "#",
        "▓": "=",
        "▒": "-",
        "░": ".",
        "×": "x",
        "µ": "u",
        "–": "-",
        "−": "-",
        "…": "~",
        "→": ">",
        "✓": "+",
        "✗": "x",
        "•": "*",
        "●": "o",
        "○": "o",
        "│": "|",
        "┊": ":",
        "─": "-",
        "├": "+",
        "┤": "+",
        "┼": "+",
        "┌": "+",
        "┐": "+",
        "└": "+",
        "┘": "+",
        "╱": "/",
        "╲": "\\",
        "╳": "X",
        "≈": "~",
        "±": "+/-",
        "∞": "inf",
        "·": ".",
        **dict.fromkeys("▏▎▍▌", "-"),
        **dict.fromkeys("▋▊▉", "="),
        **dict(zip("▁▂▃▄▅▆▇", "_.,-=+*", strict=True)),
    }
)
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

    @property
    def unicode(self) -> bool:
        """Whether all characters can be written."""
        return self.encoding == "utf-8"

    def clean(self, text: str) -> str:
        """Return a text that does nothing to a terminal and that its stream can write."""
        if not text.isprintable():
            text = "".join(c if _harmless(c) else _escaped(c) for c in text)
        if self.unicode or text.isascii():
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
                text = self.clean(cut(text, room))  # without Unicode there is no … either
                room -= width(text)
            parts.append(f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text)
        return "".join(parts).rstrip(" ")


def screen_of(
    stream: TextIO, *, everything: bool = False, colour: str = "auto", live: bool = False
) -> Screen:
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
    return Screen(columns, wanted, everything, encoding, {} if live else None)


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


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# ---- blocks ---------------------------------------------------------------------------------


def lines(blocks: Iterable[Block], screen: Screen | None = None) -> Iterator[str]:
    """Yield the lines of blocks; a blank one stands between those that are not of one kind."""
    screen = screen or Screen()
    before: type | None = None
    waiting: list[str] = []  # a heading, until something stands below it
    folded, findings = False, 0
    for block in blocks:
        if isinstance(block, Finding) and block.tone is Tone.PLAIN:
            findings += 1
            made = [screen.finish(each) for each in _finding(block, screen, f"{findings} ")]
        else:
            made = [screen.finish(each) for each in _RENDERERS[type(block)](block, screen)]
        if isinstance(block, Section):
            waiting = made
        elif made:
            close = not waiting and type(block) in _CLOSE and before in _CLOSE
            if before is not None and not close:
                yield ""
            yield from waiting
            yield from made
            waiting, before = [], type(block)
            folded |= isinstance(block, Fold) and bool(block.blocks)
    if folded and not screen.everything:
        for line in wrapped("(--all shows what is folded away)", screen):
            yield screen.finish(((line, DIM),))


def _headline(block: Headline, screen: Screen) -> Iterator[Line]:
    for line in wrapped(block.title, screen):
        yield ((line, BOLD),)
    for text in block.lines:
        for line in wrapped(text, screen, rest="  "):
            yield ((line, ""),)


def _section(block: Section, screen: Screen) -> Iterator[Line]:
    yield ((screen.clean(block.title), BOLD),)


def _finding(block: Finding, screen: Screen, sign: str = "") -> Iterator[Line]:
    """What a reader should conclude, with a sign or a number, and what to do about it."""
    sign = screen.clean(sign or _SIGNS.get(block.tone, ""))
    code = CODES[block.tone]
    for line in wrapped(block.text, screen, first=sign, rest=" " * len(sign)):
        yield ((line, code),)
    if block.remedy:
        arrow = "" if block.remedy.startswith("$ ") else screen.clean("→ ")
        for line in wrapped(block.remedy, screen, first=f"  {arrow}", rest="    "):
            yield ((line, ""),)


def _text(block: Text, screen: Screen) -> Iterator[Line]:
    for line in wrapped(block.text, screen):
        yield ((line, CODES[block.tone]),)


def _facts(block: Facts, screen: Screen) -> Iterator[Line]:
    from gnomon.views.terminal.tables import cell_text

    rows = [
        (screen.clean(name), cell if isinstance(cell, Cell) else Cell(cell))
        for name, cell in block.rows
    ]
    said = [(name, cell, cell_text(cell, screen)) for name, cell in rows]
    said = [row for row in said if row[2]]
    if block.caption and said:
        yield ((screen.clean(block.caption), BOLD),)
    widest = max((width(name) for name, _, _ in said), default=0)
    for name, cell, text in said:
        indent = " " * (widest + 2 if screen.columns and screen.columns > widest + 30 else 2)
        for line in wrapped(text, screen, first=f"{pad(name, widest)}  ", rest=indent):
            yield ((line, CODES[cell.tone]),)


def _table(block: Table, screen: Screen) -> Iterator[Line]:
    from gnomon.views.terminal.tables import table_lines

    yield from table_lines(block, screen)


def _fold(block: Fold, screen: Screen) -> Iterator[Line]:
    for line in wrapped(block.brief, screen, rest="  "):
        yield ((line, ""),)
    if screen.everything:
        room = None if screen.columns is None else max(screen.columns - 2, 1)
        for each in lines(block.blocks, replace(screen, columns=room, colour=False)):
            yield ((f"  {each}" if each else "", ""),)


def _chart(block: Chart, screen: Screen) -> Iterator[Line]:
    """Draw a chart whose shape is the message; of the others a table has the numbers."""
    if block.alone or screen.everything:
        from gnomon.views.terminal.charts import chart_lines

        yield from chart_lines(block, screen)


def _graph(block: Graph, screen: Screen) -> Iterator[Line]:
    from gnomon.views.terminal.graph import graph_lines

    yield from graph_lines(block, screen)


def _composition(block: Composition, screen: Screen) -> Iterator[Line]:
    from gnomon.views.terminal.composition import composition_lines

    yield from composition_lines(block, screen)


def _picture(block: Picture, screen: Screen) -> Iterator[Line]:
    for line in wrapped(block.caption, screen) if block.caption else ():
        yield ((line, ""),)
    for line in block.lines(screen.columns or _PICTURE):
        yield ((line, ""),)


_RENDERERS: dict[type, Callable[[Any, Screen], Iterator[Line]]] = {  # Any: the block of that type
    Headline: _headline,
    Section: _section,
    Finding: _finding,
    Text: _text,
    Facts: _facts,
    Fold: _fold,
    Table: _table,
    Chart: _chart,
    Graph: _graph,
    Composition: _composition,
    Picture: _picture,
}
