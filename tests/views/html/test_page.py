"""Whole pages: their order, what they refer to, their size, and how they grow."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from tests.growth import growth

from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Composition,
    Facts,
    Finding,
    Graph,
    Headline,
    Kind,
    Layer,
    Node,
    Part,
    Picture,
    Section,
    Table,
    Text,
)
from gnomon.views.html import Told, fragment, render

from . import gallery
from .strict import drawings, parsed, words

PAGES = {name: getattr(gallery, name) for name in ("survey", "compare", "memory")}


def page(name: str) -> str:
    return render([(PAGES[name](), gallery.WARNINGS, gallery.ORIGIN)], title=f"gnomon {name}")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed_and_its_drawings_are_xml(name: str) -> None:
    markup = page(name)
    parsed(markup)
    assert all(each.tag.endswith("svg") for each in drawings(markup))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_refers_to_nothing_outside_of_itself(name: str) -> None:
    for tag, attributes in parsed(page(name)).elements:
        for key in ("src", "href", "action", "data", "srcset", "poster"):
            value = attributes.get(key)
            assert value is None or value.startswith(("#", "data:")), (tag, key, value)
    outside = re.sub(r'xmlns="[^"]*"', "", page(name))
    assert not re.findall(r"https?:|@import|url\((?!#)", outside)


def test_the_policy_of_a_page_allows_its_own_script_and_nothing_from_elsewhere() -> None:
    markup = page("survey")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', markup)
    script = re.search(r"<script>(.*)</script>", markup, re.DOTALL)
    assert policy
    assert script
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "connect-src" not in policy[1]
    assert "connect-src 'self'" in render([([Headline("live")], (), None)], following=True)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_without_huge_data_is_small(name: str) -> None:
    assert len(page(name).encode()) < 200_000


def test_the_script_is_short() -> None:
    script = re.search(r"<script>(.*)</script>", page("survey"), re.DOTALL)
    assert script
    assert len(script[1].splitlines()) <= 250


def test_headline_and_findings_come_first_then_doubts_figures_and_origin() -> None:
    blocks: list[Block] = [
        Headline("The headline"),
        Composition(1.0, (Part("a part", 1.0),)),
        Finding("A finding that matters."),
        Facts((("a fact", 5),)),
        Section("A section"),
        Text("A figure"),
        Finding("A finding of the section."),
    ]
    text = words(render([(blocks, ("A warning",), gallery.ORIGIN)]))
    parts = (
        "The headline",
        "a part",
        "A finding that matters.",
        "a fact",
        "How far to trust this",
        "A warning",
        "A section",
        "A figure",
        "A finding of the section.",
        "Provenance",
    )
    places = [text.rindex(each) for each in parts]
    assert places == sorted(places)


def test_many_warnings_are_folded_and_none_is_lost() -> None:
    text = words(render([([Headline("x")], [f"warning number {i}" for i in range(9)], None)]))
    assert "5 more warnings" in text
    assert all(f"warning number {i}" in text for i in range(9))
    assert "How far to trust" not in words(render([([Headline("x")], (), None)]))


def test_several_results_stand_below_each_other_with_jumps_to_them() -> None:
    results: list[Told] = [
        ([Headline(f"Result {i}"), Section("Details"), Text("text")], (), gallery.ORIGIN)
        for i in range(3)
    ]
    reader = parsed(render(results))
    jumps = [attributes["href"] for name, attributes in reader.elements if name == "a"]
    assert len([each for each in jumps if each and each != "#main"]) == 3
    assert {each.removeprefix("#") for each in jumps if each} <= set(reader.ids)
    assert sum(name == "article" for name, _ in reader.elements) == 3


def test_a_page_of_one_result_jumps_to_its_sections() -> None:
    reader = parsed(page("survey"))
    jumps = [attributes["href"] for name, attributes in reader.elements if name == "a"]
    assert len(jumps) == 4
    assert {each.removeprefix("#") for each in jumps if each} <= set(reader.ids)


def test_a_page_of_nothing_is_a_page() -> None:
    assert "<title>gnomon</title>" in render([])
    parsed(render([([], (), None)]))


def test_a_fragment_is_complete_without_scripts() -> None:
    made = fragment(gallery.survey(), gallery.WARNINGS, gallery.ORIGIN)
    names = [name for name, _ in parsed(made).elements]
    assert not {"script", "html", "body", "button", "input", "link", "meta"} & set(names)
    assert {"style", "svg", "table", "details"} <= set(names)
    assert "14.5" in words(made)
    for rule in re.sub(r"<style>|</style>.*", "", made, flags=re.DOTALL).splitlines():
        assert not re.match(r"(?:body|table|svg|th|td|h\d|p)\b[^.]*{", rule), "styles stay inside"


def test_a_fragment_shows_few_rows_of_a_long_table() -> None:
    table = Table.of(range(100), Column("n", lambda v: v))
    assert "The first 25 of 100 rows." in words(fragment([table]))


def test_every_block_can_be_written_when_it_is_empty() -> None:
    empty: list[Block] = [
        Headline(""),
        Section(""),
        Finding(""),
        Text(""),
        Facts(()),
        Table((), ()),
        Chart("", Axis(""), Axis(""), ()),
        Graph((), ()),
        Graph((Node(""),), ()),
        Composition(0.0, ()),
        Picture("", lambda: "<svg></svg>", lambda _: [], "a test"),
    ]
    parsed(render([(empty, (), Facts(()))]))


def huge(rows: int) -> list[Block]:
    items = range(rows)
    curve = Layer(Kind.LINE, tuple(items), tuple((i * 7919 % 1000) / 7 for i in items))
    dots = Layer(Kind.DOTS, tuple(items), tuple((i * 104729 % 1000) / 7 for i in items))
    lanes = tuple(f"lane {i % 9}" for i in items)
    spans = Layer(Kind.SPANS, (), lanes, low=tuple(items), high=tuple(i + 1 for i in items))
    columns = [
        Column("name", lambda i: f"function {i}"),
        Column("time", lambda i: Cell(i * 1.5, "ns", i * 1.4, i * 1.6), interval="interval"),
        Column("share", lambda i: i / rows, "%", bar=True),
        Column("bytes", lambda i: i * 4096, "B", common=True),
    ]
    charts = [Chart(each.kind, Axis("x"), Axis("y"), (each,)) for each in (curve, dots, spans)]
    return [Headline("huge"), Table.of(items, *columns), *charts]


def test_ten_times_the_rows_take_at_most_twelve_times_the_time() -> None:
    def page(rows: int) -> Callable[[], object]:
        blocks = huge(rows)
        return lambda: render([(blocks, (), None)])

    assert growth(page(1_000), page(10_000), enough=12) <= 12


@pytest.mark.slow
def test_a_hundred_thousand_rows_make_a_page_that_a_browser_can_still_open() -> None:
    blocks = huge(100_000)
    markup = render([(blocks, (), None)])
    assert len(markup) < 6_000_000
    assert "The first 5,000 of 100,000 rows." in words(markup)


def test_pages_need_neither_bokeh_nor_a_template_engine_nor_numpy() -> None:
    code = (
        "import sys; import gnomon.views.html as h; h.render([]);"
        "print([m for m in ('bokeh', 'jinja2', 'numpy', 'duckdb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
