"""Headlines, findings, facts and prose of a page; which block is written by what."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
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
    Value,
)  # fmt: skip

from .charts import figure
from .composition import composition
from .graph import graph
from .markup import SIGNS, element, escape, glued, prose, said, word
from .tables import MOST, table

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9“\"'(~<≥])")
_COMMAND = re.compile(
    r"^(?:\$ )?((?:gnomon|sudo|pip|apt|sysctl|echo|modprobe|perf) .+)$", re.DOTALL
)
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

    def write(self, blocks: Iterable[Block]) -> str:
        """Return blocks as markup; findings below each other are one list."""
        made = []
        for kind, group in groupby(blocks, type):
            if kind is Finding:
                made.append(_findings([each for each in group if isinstance(each, Finding)]))
            else:
                made += [self._block(each) for each in group]
        return "\n".join(filter(None, made))

    def _block(self, block: Block) -> str:
        if isinstance(block, Headline):
            return self._headline(block)
        if isinstance(block, Section):
            place = self._place(block.title, first=False)
            return element("h2", escape(glued(block.title)), id=place)
        if isinstance(block, Fold):
            body = self.write(block.blocks)
            return f"<details><summary>{escape(glued(block.brief))}</summary>{body}</details>"
        if isinstance(block, Table):
            return table(block, self.rows)
        return _WRITTEN[type(block)](block)

    def _place(self, title: str, *, first: bool) -> str | None:
        if not self.prefix:
            return None
        place = f"{self.prefix}{len(self.headings) + 1}"
        self.headings.append((place, title, first))
        return place

    def _headline(self, block: Headline) -> str:
        place = self._place(block.title, first=True)
        label, title = "", block.title
        if found := _SIMULATED.match(title):
            label, title = f'<span class="simulated">{found[1]}</span> ', title[found.end() :]
        lines = list(block.lines)
        rest = ""
        if lines and len(lines[0]) <= _LONGEST:
            rest = f' <span class="q">{escape(glued(lines.pop(0)))}</span>'
        more = "".join(f'<p class="lead">{prose(glued(line))}</p>' for line in lines)
        return element("h1", f"{label}{escape(glued(title))}{rest}", id=place) + more


def _findings(findings: list[Finding]) -> str:
    numbered = iter(range(1, len(findings) + 1))
    items = "".join(_finding(each, numbered) for each in findings)
    return f'<ol class="findings">{items}</ol>'


def _finding(block: Finding, numbered: Iterator[int]) -> str:
    """Return a finding: the claim in bold, its evidence below, and what to do beside them."""
    claim, evidence = _split(block.text)
    below = f"<p>{prose(glued(evidence))}</p>" if evidence else ""
    if block.tone in SIGNS:
        sign = f'<span aria-hidden="true">{SIGNS[block.tone]}</span>'
        mark = f'<span class="hidden">{block.tone}: </span>{sign}'
    else:
        mark = str(next(numbered)) if block.tone is Tone.PLAIN else "·"
    number = element("span", mark, class_=f"n {word(block.tone)}".strip())
    words = f"<div><strong>{prose(glued(claim))}</strong>{below}</div>"
    return f"<li>{number}{words}{_next(block.remedy)}</li>"


def _split(text: str) -> tuple[str, str]:
    """Return the first sentence and what follows it."""
    found = _SENTENCE.search(text)
    return (
        (text, "")
        if found is None or found.start() < 12
        else (text[: found.start()], text[found.end() :])
    )


def _next(remedy: str) -> str:
    """Return what to do: a command, or words with a command between backticks in them."""
    if not remedy:
        return ""
    quoted = re.fullmatch(r"(.*?):?\s*`([^`]+)`[.\s]*", remedy, re.DOTALL)
    plainly = _COMMAND.match(remedy)
    if quoted or plainly:
        label = quoted[1] if quoted else "Next"
        command = quoted[2] if quoted else plainly[1] if plainly else ""
        line = f'<div class="cmdline"><code>{escape(command)}</code></div>'
        return f'<div class="next">{escape(glued(label or "Next"))}{line}</div>'
    return f'<div class="next">{prose(glued(remedy))}</div>'


def _text(block: Text) -> str:
    sign = (
        f'<span class="sign {word(block.tone)}">{SIGNS[block.tone]}</span> '
        if block.tone in SIGNS
        else ""
    )
    paragraphs = [each for each in block.text.split("\n\n") if each.strip()]
    tone = word(block.tone) or None
    return "".join(
        element("p", (sign if not i else "") + prose(glued(text)), class_=tone)
        for i, text in enumerate(paragraphs)
    )


def facts(block: Facts) -> str:
    """Return names with values: a few numbers in large print, else a list."""
    rows = [(name, value) for name, value in block.rows if value not in (None, "")]
    if not rows:
        return ""
    title = f"<h3>{escape(glued(block.caption))}</h3>" if block.caption else ""
    if len(rows) <= _CARDS and all(_is_number(value) for _, value in rows):
        items = "".join(_card(name, value) for name, value in rows)
        return f'{title}<ul class="facts">{items}</ul>'
    items = "".join(
        element("dt", escape(glued(name)))
        + element("dd", escape(glued(said(value))), title=_hint(value))
        for name, value in rows
    )
    return f"{title}<dl>{items}</dl>"


def _is_number(value: Cell | Value) -> bool:
    inner = value.value if isinstance(value, Cell) else value
    return isinstance(inner, (int, float))


def _hint(value: Cell | Value) -> str | None:
    return (value.hint or None) if isinstance(value, Cell) else None


def _card(name: str, value: Cell | Value) -> str:
    tone = word(value.tone) if isinstance(value, Cell) else ""
    sign = SIGNS[value.tone] + " " if isinstance(value, Cell) and value.tone in SIGNS else ""
    figure = element(
        "b", escape(glued(sign + said(value))), class_=tone or None, title=_hint(value)
    )
    return f"<li>{figure}<span>{escape(glued(name))}</span></li>"


def _picture(block: Picture) -> str:
    """Return a picture that no block would do for; its SVG is made by its own code."""
    svg = re.sub(r"^\s*(?:<\?xml[^>]*\?>)?\s*(?:<!DOCTYPE[^>]*>)?", "", block.svg())
    caption = element("figcaption", escape(glued(block.caption)))
    return f'<figure class="picture">{svg}{caption}</figure>'


_WRITTEN: dict[type, Callable[[Any], str]] = {
    Text: _text,
    Facts: facts,
    Chart: figure,
    Graph: graph,
    Composition: composition,
    Picture: _picture,
}
