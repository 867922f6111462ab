"""A whole as one bar: every part has its letter and, where there is colour, its state's colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon import units
from gnomon.views.blocks import Composition, Part
from gnomon.views.terminal import Line, Screen, Span, cut, width, wrapped

STATES = {
    "user": ("█", 33),
    "system": ("▓", 25),
    "runnable": ("▒", 136),
    "disk": ("D", 160),
    "network": ("N", 35),
    "pagefault": ("F", 88),
    "lock": ("l", 133),
    "thread": ("t", 60),
    "child": ("c", 60),
    "pipe": ("p", 60),
    "sleep": ("z", 245),
    "other": ("?", 245),
}
"""The letter and the colour (of 256) of each state in which time goes."""

_BETWEEN = "   "


def composition_lines(block: Composition, screen: Screen) -> Iterator[Line]:
    """Yield the bar, which a pipe has not, and what each of its parts is."""
    parts = [part for part in block.parts if part.value > 0]
    if not parts or block.whole <= 0:
        return
    for line in wrapped(block.caption, screen) if block.caption else ():
        yield ((line, ""),)
    if screen.columns is not None and screen.columns > len(parts):
        yield _bar(parts, block.whole, screen)
    legend: list[Span] = []
    for place, part in enumerate(parts):
        spans = [*_named(part, block, screen)]
        tied = place > 0 and parts[place - 1].tied
        between = screen.clean(" ≈ ") if tied else _BETWEEN
        so_far = sum(width(text) for text, _ in legend)
        wide = len(between) + sum(width(text) for text, _ in spans)
        if legend and screen.columns is not None and so_far + wide > screen.columns:
            yield legend
            legend = spans
        else:
            legend += [(between, ""), *spans] if legend else spans
    yield legend
    if screen.everything:
        for part in parts:
            if part.parts:
                finer = ", ".join(_figures(each, block) for each in part.parts if each.value > 0)
                for line in wrapped(f"{part.name}: {finer}", screen, first="  ", rest="    "):
                    yield ((line, ""),)


def glyph(part: Part, screen: Screen) -> str:
    """Return the one character that stands for a part."""
    letter = part.letter or STATES.get(part.tone, (part.name[:1] or "?", 0))[0]
    return cut(screen.clean(letter), 1) or "?"


def colour(part: Part) -> str:
    """Return the code of the colour of a part's state."""
    return f"38;5;{STATES[part.tone][1]}" if part.tone in STATES else ""


def _bar(parts: Sequence[Part], whole: float, screen: Screen) -> list[Span]:
    wide = shares([part.value for part in parts], whole, screen.columns or 0)
    return [
        (glyph(part, screen) * cells, colour(part)) for part, cells in zip(parts, wide, strict=True)
    ]


def shares(values: Sequence[float], whole: float, room: int) -> list[int]:
    """Return whole characters for values that sum to a whole; none of them disappears."""
    exact = [value / whole * room for value in values]
    cells = [max(1, int(each)) for each in exact]
    order = sorted(range(len(values)), key=lambda i: exact[i] - int(exact[i]), reverse=True)
    left = room - sum(cells)
    for place in order[: max(left, 0)]:
        cells[place] += 1
    while sum(cells) > room:  # the largest gives way to those that would not be seen
        cells[cells.index(max(cells))] -= 1
    return cells


def _named(part: Part, block: Composition, screen: Screen) -> Iterator[Span]:
    yield glyph(part, screen), colour(part)
    yield screen.clean(f" {_figures(part, block)}"), ""


def _figures(part: Part, block: Composition) -> str:
    if part.low is None or part.high is None:
        amount = units.brief(part.value, block.unit)
    else:
        amount = units.with_interval(part.value, part.low, part.high, block.unit)
    return f"{part.name} {amount} {units.number(part.value / block.whole, '%')}"
