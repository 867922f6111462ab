"""A page that refers to nothing outside of itself, and a fragment for notebooks."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from itertools import takewhile

from gnomon.views.blocks import Block, Composition, Facts, Finding, Headline, Text
from gnomon.views.shared import counted

from .charts import ARROWHEAD
from .markup import element, escape, fold, prose, words
from .parts import Writer, facts
from .tables import MOST_IN_NOTEBOOK

Told = tuple[Iterable[Block], Sequence[str], Facts | None]
"""What a page says of a result: its blocks, its warnings, and where its numbers come from."""

_FIRST = (Headline, Composition, Finding, Facts, Text)
_MOST_WARNINGS = 4  # that stand open
_LONGEST = 44  # characters of a jump
_MARK = (
    '<svg class="logo" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">'
    '<path class="o" d="M2.5 20.5h19M8 20V4"/><path class="s" d="M8 20V4l9 16z"/>'
    '<path class="o" d="M8 20V4"/></svg>'
)
_PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>{title}</title><link rel="icon" href="data:,"><style>{style}</style></head>
<body class="gnomon"{follow}><a class="skip" href="#main">Skip to the findings</a>
<header>{mark}<b>gnomon</b>{command}{nav}</header>
<main id="main" tabindex="-1">{body}</main>
<footer>gnomon · one file, nothing loaded from elsewhere</footer>
<script>{script}</script></body></html>
"""


def render(results: Sequence[Told], *, title: str = "", following: bool = False) -> str:
    """Return the page of one result, or of several below each other.

    `title` says at the top what the page is about, such as the command. A page that is
    `following` asks the server that it came from whether there is something new.
    """
    articles, jumps = [], []
    for number, told in enumerate(results, 1):
        writer = Writer(prefix=f"s{number}-")
        articles.append(f"<article>{_article(writer, *told)}</article>")
        jumps += [each for each in writer.headings if each[2] == (len(results) > 1)]
        title = title or next((text for _, text, first in writer.headings if first), "")
    return _document(_armed("\n".join(articles)), title or "gnomon", jumps, following=following)


def fragment(
    blocks: Iterable[Block], warnings: Sequence[str] = (), origin: Facts | None = None
) -> str:
    """Return a result for a notebook: complete, styled, and without scripts."""
    body = _armed(_article(Writer(rows=MOST_IN_NOTEBOOK), blocks, warnings, origin))
    return f'<style>{_asset("page.css")}</style><div class="gnomon fragment">{body}</div>'


def _armed(body: str) -> str:
    return ARROWHEAD + body if "url(#gnomon-arrow)" in body else body


def _article(
    writer: Writer, blocks: Iterable[Block], warnings: Sequence[str], origin: Facts | None
) -> str:
    """Return headline and findings first, then doubts, then figures, and last their origin."""
    shown = list(blocks)
    first = list(takewhile(lambda block: isinstance(block, _FIRST), shown))
    parts = [writer.write(first), _trust(warnings), writer.write(shown[len(first) :])]
    if origin is not None and origin.rows:
        parts.append(fold(origin.caption or "Provenance", facts(Facts(origin.rows))))
    return "\n".join(filter(None, parts))


def _trust(warnings: Sequence[str]) -> str:
    texts = [f"<li>{prose(text)}</li>" for text in warnings]
    if not texts:
        return ""
    more = texts[_MOST_WARNINGS:]
    rest = fold(counted(len(more), "more warning"), f"<ul>{''.join(more)}</ul>") if more else ""
    return (
        '<section class="trust"><h2>How far to trust this</h2>'
        f"<ul>{''.join(texts[:_MOST_WARNINGS])}</ul>{rest}</section>"
    )


def _document(
    body: str, title: str, jumps: Sequence[tuple[str, str, bool]], *, following: bool
) -> str:
    script = _asset("page.js")
    links = "".join(
        element("a", words(_brief(text)), href=f"#{place}")
        for place, text, _ in jumps
        if len(jumps) > 1
    )
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        f"form-action 'none'; script-src '{_digest(script)}'" + "; connect-src 'self'" * following
    )
    return _PAGE.format(
        policy=policy,
        title=escape(title),
        style=_asset("page.css"),
        follow=' data-follow="version"' if following else "",
        mark=_MARK,
        command=element("span", escape(_brief(title, 120)), class_="cmd"),
        nav=f'<nav aria-label="on this page">{links}</nav>' if links else "",
        body=body,
        script=script,
    )


def _brief(text: str, most: int = _LONGEST) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text("utf-8")


def _digest(script: str) -> str:
    """Return what the policy of the page knows its only script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
