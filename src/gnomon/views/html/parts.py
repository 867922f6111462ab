"""Headlines, findings, facts and prose of a page; which block is written by what."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from gnomon.views import blocks as b
from gnomon.views.blocks import SIGNS, Cell, Tone
from gnomon.views.shared import said

from .charts import figure
from .composition import composition
from .graph import graph
from .markup import classes, element, escape, fold, prose, sign, words
from .tables import MOST, table

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9“\"'(~<≥])")
_COMMAND = re.compile(
    r"^(?:\$ )?((?:gnomon|sudo|pip|apt|sysctl|echo|modprobe|perf) .+)$", re.DOTALL
)
_QUOTED = re.compile(r"(.*?):?\s*`([^`]+)`[.\s]*", re.DOTALL)
_PROLOGUE = re.compile(r"^\s*(?:<\?xml[^>]*\?>)?\s*(?:<!DOCTYPE[^>]*>)?")
_SIMULATED = re.compile(r"((?:PARTLY )?SIMULATED)[\s:]*")
_LONGEST = 130  # characters beside the headline, in its size
_CARDS = 10  # facts with numbers that stand beside each other


@dataclass(slots=True)
class Writer:
    """Writes blocks as markup, and gathers the headings that the top of the page leads to."""

    rows: int = MOST  # of a table
    prefix: str = ""  # of the places that the top leads to; without one there are none
    headings: list[tuple[str, str, bool]] = field(default_factory=list)
    """The place, the text, and whether it is the headline of a result."""

    def write(self, blocks: Iterable[b.Block]) -> str:
        """Return blocks as markup; findings below each other are one list."""
        made = []
        for kind, group in groupby(blocks, type):
            if kind is b.Finding:
                made.append(_findings(group))
            else:
                made += [self._block(each) for each in group]
        return "\n".join(filter(None, made))

    def _block(self, block: b.Block) -> str:
        if isinstance(block, b.Headline):
            return self._headline(block)
        if isinstance(block, b.Section):
            return element("h2", words(block.title), id=self._place(block.title, first=False))
        if isinstance(block, b.Fold):
            return fold(block.brief, self.write(block.blocks))
        if isinstance(block, b.Table):
            return table(block, self.rows)
        return _WRITTEN[type(block)](block)

    def _place(self, title: str, *, first: bool) -> str | None:
        if not self.prefix:
            return None
        place = f"{self.prefix}{len(self.headings) + 1}"
        self.headings.append((place, title, first))
        return place

    def _headline(self, block: b.Headline) -> str:
        place = self._place(block.title, first=True)
        label, title, rest, lines = "", block.title, "", list(block.lines)
        if found := _SIMULATED.match(title):
            label, title = f'<span class="simulated">{found[1]}</span> ', title[found.end() :]
        if lines and len(lines[0]) <= _LONGEST:
            rest = f' <span class="q">{words(lines.pop(0))}</span>'
        more = "".join(f'<p class="lead">{prose(line)}</p>' for line in lines)
        return element("h1", f"{label}{words(title)}{rest}", id=place) + more


def _findings(findings: Iterable[Any]) -> str:
    numbered = iter(range(1, 1_000_000))
    items = "".join(_finding(each, numbered) for each in findings)
    return f'<ol class="findings">{items}</ol>'


def _finding(block: b.Finding, numbered: Iterator[int]) -> str:
    """Return a finding: the claim in bold, its evidence below, and what to do beside them."""
    split = _SENTENCE.search(block.text, 12)
    claim, evidence = (
        (block.text[: split.start()], block.text[split.end() :]) if split else (block.text, "")
    )
    if block.tone in SIGNS:
        drawn = f'<span aria-hidden="true">{SIGNS[block.tone]}</span>'
        mark = f'<span class="hidden">{block.tone}: </span>{drawn}'
    else:
        mark = str(next(numbered)) if block.tone is Tone.PLAIN else "·"
    number = element("span", mark, class_=classes("n", block.tone))
    below = f"<p>{prose(evidence)}</p>" if evidence else ""
    said = f"<div><strong>{prose(claim)}</strong>{below}</div>"
    return f"<li>{number}{said}{_next(block.remedy)}</li>"


def _next(remedy: str) -> str:
    """Return what to do: a command, or words with a command between backticks in them."""
    if not remedy:
        return ""
    if quoted := _QUOTED.fullmatch(remedy):
        label, command = quoted[1] or "Next", quoted[2]
    elif plainly := _COMMAND.match(remedy):
        label, command = "Next", plainly[1]
    else:
        return f'<div class="next">{prose(remedy)}</div>'
    line = f'<div class="cmdline"><code>{escape(command)}</code></div>'
    return f'<div class="next">{words(label)}{line}</div>'


def _text(block: b.Text) -> str:
    paragraphs = [each for each in block.text.split("\n\n") if each.strip()]
    before = sign(block.tone, f"sign {block.tone}") + " " * (block.tone in SIGNS)
    return "".join(
        element("p", before * (not i) + prose(text), class_=block.tone or None)
        for i, text in enumerate(paragraphs)
    )


def facts(block: b.Facts) -> str:
    """Return names with values: a few numbers in large print, else a list."""
    rows = [(name, cell) for name, cell in block.cells if cell not in (Cell(), Cell(""))]
    if not rows:
        return ""
    title = f"<h3>{words(block.caption)}</h3>" if block.caption else ""
    if len(rows) <= _CARDS and all(isinstance(cell.value, (int, float)) for _, cell in rows):
        items = "".join(_card(name, cell) for name, cell in rows)
        return f'{title}<ul class="facts">{items}</ul>'
    items = "".join(
        element("dt", words(name)) + element("dd", words(said(cell)), title=cell.hint or None)
        for name, cell in rows
    )
    return f"{title}<dl>{items}</dl>"


def _card(name: str, cell: Cell) -> str:
    text = f"{SIGNS[cell.tone]} {said(cell)}" if cell.tone in SIGNS else said(cell)
    figure = element("b", words(text), class_=cell.tone or None, title=cell.hint or None)
    return f"<li>{figure}<span>{words(name)}</span></li>"


def _picture(block: b.Picture) -> str:
    """Return a picture that no block would do for; its SVG is made by its own code."""
    caption = element("figcaption", words(block.caption))
    return f'<figure class="picture">{_PROLOGUE.sub("", block.svg())}{caption}</figure>'


_WRITTEN: dict[type, Callable[[Any], str]] = {
    b.Text: _text,
    b.Facts: facts,
    b.Chart: figure,
    b.Graph: graph,
    b.Composition: composition,
    b.Picture: _picture,
}
