"""Writing markup: the one function that every text of a page goes through, and elements."""

from __future__ import annotations

import html
import math
import re

from gnomon import units
from gnomon.views.blocks import Cell, Tone, Value

THIN = "\u202f"  # a narrow space that no line is broken at: between a number and its unit
# Control characters, marks that turn the direction of writing, and halves of surrogate pairs.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
_COUNTED = ("", "counted")
_CODE = re.compile(r"`([^`]+)`")
_TEXTS = {Tone.GOOD: "good", Tone.BAD: "bad", Tone.DOUBT: "doubt", Tone.FAINT: "faint"}
SIGNS = {Tone.GOOD: "✓", Tone.BAD: "✗", Tone.DOUBT: "!"}


def escape(text: str) -> str:
    """Return a text that is neither markup nor control characters, in texts and in attributes."""
    return html.escape(_HARMFUL.sub(lambda found: f"\\x{ord(found[0]):02x}", text))


def prose(text: str) -> str:
    """Return a text in which what stands between backticks is something to type."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def element(name: str, body: str = "", /, **attributes: str | float | bool | None) -> str:
    """Return an element; attributes are escaped, False and None leave them out.

    A trailing underscore is dropped from names (`class_`), others become hyphens.
    """
    found = ""
    for key, value in attributes.items():
        if value is not None and value is not False:
            text = "" if value is True else plain(value) if isinstance(value, float) else str(value)
            found += f' {key.rstrip("_").replace("_", "-")}="{escape(text)}"'
    return f"<{name}{found}>{body}</{name}>"


def plain(number: float) -> str:
    """Return a number of a drawing: a hundredth of a pixel or of a per cent is enough."""
    text = f"{number:.2f}"
    return text.rstrip("0").rstrip(".") if text != "-0.00" else "0"


def percent(number: float) -> str:
    """Return a share of the width of a drawing, given in per cent."""
    return f"{plain(number)}%"


def lettering(
    words: str,
    x: float | str,
    y: float,
    look: str = "m",
    anchor: str | None = None,
    **more: str | float | None,
) -> str:
    """Return a text of a drawing; `look` is its class, `m` for what is muted."""
    return element(
        "text", escape(glued(words)), class_=look or None, x=x, y=y, text_anchor=anchor, **more
    )


def word(tone: Tone) -> str:
    """Return the class of a tone; empty for a plain one."""
    return _TEXTS.get(tone, "")


def said(value: Cell | Value, unit: str = "") -> str:
    """Return a value as text with its unit and what is known of it, not yet escaped."""
    cell = value if isinstance(value, Cell) else Cell(value, unit)
    if missing(cell.value):
        return reason(cell)
    if isinstance(cell.value, str) or cell.value is None:
        return str(cell.value)
    if cell.within:
        return approximate(cell) + units.with_interval(cell.value, *cell.within, cell.unit)
    return approximate(cell) + units.number(cell.value, cell.unit)


def approximate(cell: Cell) -> str:
    """Return the sign of what was not simply counted."""
    return "~" + THIN if cell.status not in _COUNTED else ""


def reason(cell: Cell) -> str:
    """Return why there is no value, or a dash."""
    return units.MISSING if cell.status in _COUNTED else cell.status


def missing(value: Value) -> bool:
    """Whether there is no value: none, or not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def glued(text: str) -> str:
    """Return a text whose numbers stay on one line with their units."""
    return re.sub(
        r"(?<=\d) (?=(?:[mµn]?s|min|[KMGT]i?B(?:/s)?|B|B/s|[kMGT]|%)(?:\W|$))", THIN, text
    )
