"""Writing markup: the one function that every text of a page goes through, and elements."""

from __future__ import annotations

import html
import re

from gnomon.views.blocks import SIGNS, Tone

THIN = "\u202f"  # a narrow space that no line is broken at: between a number and its unit
# Control characters, marks that turn the direction of writing, and halves of surrogate pairs.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
_CODE = re.compile(r"`([^`]+)`")
_UNITS = re.compile(r"(?<=\d) (?=(?:[mµn]?s|min|[KMGT]i?B(?:/s)?|B|B/s|[kMGT]|%)(?:\W|$))")


def escape(text: str) -> str:
    """Return a text that is neither markup nor control characters, in texts and in attributes."""
    return html.escape(_HARMFUL.sub(lambda found: f"\\x{ord(found[0]):02x}", text))


def words(text: str) -> str:
    """Return an escaped text whose numbers stay on one line with their units."""
    return escape(_UNITS.sub(THIN, text))


def prose(text: str) -> str:
    """Return words in which what stands between backticks is something to type."""
    return _CODE.sub(r"<code>\1</code>", words(text))


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


def percent(share: float) -> str:
    """Return a share of the width of a drawing as an attribute has it."""
    return f"{plain(100 * share)}%"


def lettering(
    text: str,
    x: float | str,
    y: float,
    look: str = "m",
    anchor: str | None = None,
    **more: str | float | None,
) -> str:
    """Return a text of a drawing; `look` is its class, `m` for what is muted."""
    return element("text", words(text), class_=look or None, x=x, y=y, text_anchor=anchor, **more)


def circle(x: float, y: float, radius: float, body: str = "", look: str = "") -> str:
    """Return a circle at a share of the width and a pixel."""
    return element("circle", body, class_=look or None, cx=percent(x), cy=y, r=radius)


def rectangle(
    x: float, y: float, wide: float, high: float, body: str = "", **more: str | None
) -> str:
    """Return a rectangle: shares of the width across, pixels down."""
    left, width = percent(x), percent(wide)
    return element("rect", body, **more, x=left, y=y, width=width, height=high)


def title(text: str) -> str:
    """Return what a browser shows under the pointer."""
    return element("title", escape(text)) if text else ""


def fold(brief: str, body: str) -> str:
    """Return what is folded away below a line."""
    return f"<details><summary>{words(brief)}</summary>{body}</details>"


def classes(*found: str) -> str | None:
    """Return classes as an attribute has them; None for none."""
    return " ".join(filter(None, found)) or None


def sign(tone: Tone, look: str = "sign") -> str:
    """Return the sign of a tone, or nothing where it has none."""
    return f'<span class="{look}">{SIGNS[tone]}</span>' if tone in SIGNS else ""
