"""What holds for results of every kind: they describe themselves, render, and come back.

A kind is in the registry of gnomon/result.py and has its cases in tests/results/cases.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from tests.growth import growth
from tests.results.validation import complaints

from gnomon.result import KINDS, Result, same
from gnomon.result_types import class_of, load_result, schema
from gnomon.views import show
from gnomon.views.blocks import Block, Finding, Fold, Headline, Picture, Table
from gnomon.views.envelope import envelope
from gnomon.views.terminal import Screen, lines, width

HOSTILE = {
    "control": "name\x1b[31m\x07\x00\x9b2J\r\n\u202eend",
    "html": "<script>alert(1)</script>&\"'</svg></style>]]>",
    "long": "long" * 1500,
    "empty": "",
    "unicode": "naïve 日本語 👩\u200d💻 e\u0301",
    "surrogate": "lone \udcff end",
}
WIDTHS = (20, 60, 80, 200, None)
SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
_SGR = re.compile(r"\x1b\[[0-9;]*m")
_HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def _cases(kind: str) -> ModuleType:
    return import_module(f"tests.results.cases.{kind.replace('-', '_')}")


def _named() -> list[tuple[str, str]]:
    names = ["small", "empty", *HOSTILE]
    return [(kind, name) for kind in KINDS for name in names]


def _result(kind: str, name: str) -> Result:
    cases = _cases(kind)
    made: Result = cases.hostile(HOSTILE[name]) if name in HOSTILE else getattr(cases, name)()
    return made


every_case = pytest.mark.parametrize(("kind", "name"), _named())
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_case
def test_json_fits_its_schema_and_comes_back_equal(kind: str, name: str, tmp_path: Path) -> None:
    result = _result(kind, name)
    if name == "surrogate":
        pytest.skip("no text file has one")
    text = result.text()
    content = json.loads(text)
    assert complaints(content, schema(type(result))) == []
    assert same(Result.from_json(content), result)
    path = tmp_path / "result.json"
    path.write_text(envelope(kind, result.to_json()), encoding="utf-8")
    assert same(load_result(path), result)


@every_kind
def test_the_schema_in_the_docs_is_that_of_the_code(kind: str) -> None:
    written = json.loads((SCHEMAS / f"{kind}.json").read_text("utf-8"))
    assert written == schema(class_of(kind)), "run scripts/schemas"


@every_kind
def test_fields_are_what_the_rule_knows(kind: str) -> None:
    cls = class_of(kind)
    assert cls.kind == kind
    assert not {each.name for each in fields(cls)} & {"kind", "version"}


@every_case
def test_it_describes_itself_with_the_headline_first(kind: str, name: str) -> None:
    found = [*show.blocks(_result(kind, name))]
    assert isinstance(found[0], Headline)
    assert sum(isinstance(block, Headline) for block in found) == 1
    if name == "small":
        assert not [block for block in _flat(found) if isinstance(block, Picture)] or _excused(kind)


def _flat(blocks: list[Block]) -> list[Block]:
    found = []
    for block in blocks:
        found.append(block)
        found += _flat(list(block.blocks)) if isinstance(block, Fold) else []
    return found


def _excused(kind: str) -> bool:
    return kind in PICTURES


PICTURES: dict[str, str] = {}
"""The kinds whose descriptions need a picture, and why no block would do."""


@every_case
def test_no_line_is_too_wide_and_nothing_reaches_a_terminal_raw(kind: str, name: str) -> None:
    result = _result(kind, name)
    for columns in WIDTHS:
        for everything in (False, True):
            for encoding in ("utf-8", "ascii"):
                screen = Screen(columns, columns is not None, everything, encoding)
                for line in lines(show.blocks(result), screen):
                    plain = _SGR.sub("", line)
                    assert not _HARMFUL.search(plain)
                    assert columns is None or width(plain) <= columns
                    assert encoding == "utf-8" or plain.isascii()


@every_case
def test_its_page_is_whole_and_escapes_what_it_is_told(kind: str, name: str) -> None:
    result = _result(kind, name)
    for text in (show.page(result), show.fragment(result)):
        assert "<script>alert" not in text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        text.encode("utf-8")
        tree = _Tree()
        tree.feed(text)
        tree.close()
        assert not tree.open
        assert not [url for url in tree.urls if not url.startswith(("#", "data:"))]
        if name == "small":
            assert len(text) < 200_000


@every_kind
def test_headline_findings_and_tables_are_on_the_page_without_its_script(kind: str) -> None:
    result = _result(kind, "small")
    tree = _Tree()
    tree.feed(show.page(result))
    text = _squeezed("".join(tree.words))
    told = [*_flat([*show.blocks(result)])]
    for block in told:
        if isinstance(block, Headline):
            assert _squeezed(block.title.removeprefix("SIMULATED ")) in text
        elif isinstance(block, Finding):
            assert _squeezed(block.text) in text
        elif isinstance(block, Table):
            for row in block.rows:
                assert all(_squeezed(c.value) in text for c in row if isinstance(c.value, str))


def _squeezed(text: str) -> str:
    return "".join(text.replace("`", "").split())


class _Tree(HTMLParser):
    """Complains of elements that are not closed, and collects words and what is fetched."""

    _VOID = frozenset({"meta", "link", "br", "img", "input", "hr", "col", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.urls: list[str] = []
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._VOID:
            self.open.append(tag)
        self.urls += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> of nothing"
        assert self.open.pop() == tag


@every_case
def test_its_tables_are_files_that_programs_read(kind: str, name: str) -> None:
    if name == "surrogate":
        pytest.skip("no text file has one")
    result = _result(kind, name)
    for table in show.tables(result).values():
        rows = [*csv.reader(io.StringIO(show.csv(table)))]
        assert len(rows) == len(table.rows) + 1
        assert {len(row) for row in rows} == {len(rows[0])}


@every_kind
def test_it_imports_neither_the_analysis_nor_the_store(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(_result(kind, "small").text(), encoding="utf-8")
    code = (
        "import sys\n"
        "from gnomon.cli import main\n"
        f"assert main(['show', {str(path)!r}]) == 0\n"
        "print('ours', *(m for m in sys.modules if m.startswith('gnomon')), file=sys.stderr)\n"
        f"assert main(['show', {str(path)!r}, '--html', {str(path.with_suffix('.html'))!r}]) == 0\n"
        "print('all', *{m.partition('.')[0] for m in sys.modules}, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    told = {line.split()[0]: line.split()[1:] for line in done.stderr.splitlines()}
    ours = told["ours"]
    assert not {"duckdb", "scipy", "bokeh", "pandas"} & set(told["all"])
    others = [m for m in ours if m.startswith("gnomon.views.describe.") and m.count(".") == 3]
    assert [m.rpartition(".")[2] for m in others] == [kind.replace("-", "_")]
    assert len(ours) <= 25, ours  # a survey shows the account of its time as well


@every_kind
def test_ten_times_the_rows_take_at_most_twelve_times_the_time(kind: str) -> None:
    cases = _cases(kind)
    actions: dict[str, Callable[[Result], object]] = {
        "pipe": lambda result: [*lines(show.blocks(result), Screen(everything=True))],
        "screen": lambda result: [*lines(show.blocks(result), Screen(100, everything=True))],
        "page": show.page,
        "csv": show.csv_of,
        "json": lambda result: Result.from_json(json.loads(result.text())),
    }
    few, many = cases.huge(100), cases.huge(1000)
    for name, action in actions.items():
        grown = growth(lambda: action(few), lambda: action(many), enough=12)  # noqa: B023
        assert grown <= 12, name
