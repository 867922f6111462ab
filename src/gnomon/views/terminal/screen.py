"""What lines are made for, and the one place where they are made harmless, cut and coloured."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from gnomon.views.blocks import Tone

CODES = {Tone.PLAIN: "", Tone.GOOD: "32", Tone.BAD: "31", Tone.DOUBT: "33", Tone.FAINT: "2"}
BOLD, DIM, CHOSEN = "1", "2", "7"

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
    if text.isascii():
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
