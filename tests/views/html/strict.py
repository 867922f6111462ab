"""Reading markup without forgiveness: every element closed in its order, every SVG as XML."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

_VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


class _Strict(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        self.elements.append((tag, dict(attrs)))
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


def parsed(markup: str) -> _Strict:
    """Return markup as it was read; anything that is not well-formed fails."""
    reader = _Strict()
    reader.feed(markup)
    reader.close()
    assert not reader.open, f"not closed: {reader.open}"
    assert len(reader.ids) == len(set(reader.ids)), f"an id is there twice: {reader.ids}"
    return reader


def words(markup: str) -> str:
    """Return the words of markup, with a blank wherever an element begins or ends."""
    return " ".join(" ".join(parsed(markup).words).split())


def drawings(markup: str) -> list[ElementTree.Element]:
    """Return the outermost SVG elements, each read as XML."""
    found, at = [], 0
    while (start := markup.find("<svg", at)) >= 0:
        deep, at = 0, start
        while True:
            opened, closed = markup.find("<svg", at), markup.find("</svg>", at)
            assert closed >= 0
            if 0 <= opened < closed:
                deep, at = deep + 1, opened + 4
            else:
                deep, at = deep - 1, closed + 6
                if deep == 0:
                    break
        found.append(ElementTree.fromstring(markup[start:at]))
    return found
