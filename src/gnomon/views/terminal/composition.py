"""A whole as one bar: every part has its letter and, where there is colour, its state's colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon.units import brief
from gnomon.views.blocks import Composition, Part
from gnomon.views.shared import STATES, amount, share
from gnomon.views.terminal import Line, Screen, Span, cut, paragraph, width


def composition_lines(block: Composition, screen: Screen) -> Iterator[Line]:
    """Yield the bar, which a pipe has not, and what each of its parts is."""
    parts = [part for part in block.parts if part.value > 0]
    if not parts or block.whole <= 0:
        return
    yield from paragraph(block.caption, screen)
    if screen.columns is not None and screen.columns > len(parts):
        cells = _cells([part.value / block.whole * screen.columns for part in parts])
        yield [_glyphs(part, screen, wide) for part, wide in zip(parts, cells, strict=True)]
    legend: list[Span] = []
    between = ""
    for part in parts:
        named = screen.clean(f" {_figures(part, block, screen)}")
        spans = [_glyphs(part, screen), (named, "")]
        held = sum(width(text) for text, _ in (*legend, *spans)) + len(between)
        if legend and screen.columns is not None and held > screen.columns:
            yield legend
            legend = spans
        else:
            legend += [(between, ""), *spans]
        between = screen.clean(" ≈ ") if part.tied else "   "
    yield legend
    for part in parts if screen.everything else ():
        finer = ", ".join(_figures(each, block, screen) for each in part.parts if each.value > 0)
        if finer:
            yield from paragraph(f"{part.name}: {finer}", screen, first="  ", rest="    ")


def _glyphs(part: Part, screen: Screen, wide: int = 1) -> Span:
    """Return the character that stands for a part, so many times, in its state's colour."""
    letter, colour = STATES.get(part.tone, (part.name[:1] or "?", None))
    glyph = cut(screen.clean(part.letter or letter), 1) or "?"
    return glyph * wide, f"38;5;{colour}" if colour else ""


def _cells(exact: Sequence[float]) -> list[int]:
    """Return whole characters for parts that sum to a whole; none of them disappears."""
    room = round(sum(exact))
    cells = [max(1, int(each)) for each in exact]
    order = sorted(range(len(exact)), key=lambda i: exact[i] - int(exact[i]), reverse=True)
    for place in order[: max(room - sum(cells), 0)]:
        cells[place] += 1
    while sum(cells) > room:  # the largest gives way to those that would not be seen
        cells[cells.index(max(cells))] -= 1
    return cells


def _figures(part: Part, block: Composition, screen: Screen) -> str:
    """Return a part with its share; its interval is for those who want everything."""
    time = amount(part, block) if screen.everything else brief(part.value, block.unit)
    return f"{part.name} {time} {share(part, block)}"
