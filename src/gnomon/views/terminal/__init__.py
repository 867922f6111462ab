"""Blocks in a terminal: plain and whole in a pipe, as wide as the screen and coloured on one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

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
from gnomon.views.terminal.screen import BOLD, CODES, DIM, Line, Screen, pad, width, wrapped
from gnomon.views.terminal.tables import cell_text, table_lines

_SIGNS = {Tone.GOOD: "✓ ", Tone.BAD: "✗ ", Tone.DOUBT: "! "}
_CLOSE = (Finding, Text, Fold)  # no blank line between two of these
_MOST_COLUMNS = 100  # of a picture in a pipe


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
            if before is not None and not (type(block) in _CLOSE and before in _CLOSE):
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
    for line in block.lines(screen.columns or _MOST_COLUMNS):
        yield ((line, ""),)


_RENDERERS: dict[type, Callable[[Any, Screen], Iterator[Line]]] = {  # Any: the block of that type
    Headline: _headline,
    Section: _section,
    Finding: _finding,
    Text: _text,
    Facts: _facts,
    Fold: _fold,
    Table: table_lines,
    Chart: _chart,
    Graph: _graph,
    Composition: _composition,
    Picture: _picture,
}
