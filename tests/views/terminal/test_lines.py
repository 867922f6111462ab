"""Blocks in a terminal: harmless lines of the right width, in colour or not, and in a pipe."""

from __future__ import annotations

import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Composition,
    Edge,
    Facts,
    Finding,
    Fold,
    Graph,
    Headline,
    Kind,
    Layer,
    Mark,
    Node,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Tone,
    Zone,
)
from gnomon.views.terminal import Screen, cut, cut_middle, lines, screen_of, width
from gnomon.views.terminal.live import Redrawn

_NAMES = ("elapsed", "faults")


def _table(rows: int = 3, most: int | None = None) -> Table:
    items = [
        (f"event-{i}", 1e6 * (i + 1), f"what number {i} counts, in words") for i in range(rows)
    ]
    return Table.of(
        items,
        Column("event", lambda r: r[0]),
        Column("mean", lambda r: Cell(r[1], "ns", 0.9 * r[1], 1.1 * r[1]), interval="90 %"),
        Column("spread", lambda r: 0.053, "±", drop=3),
        Column("share", lambda r: 0.5, "%", bar=True),
        Column("source", lambda _: "perf", drop=5),
        Column("what it counts", lambda r: r[2], flex=True, drop=2),
        most=most,
    )


_CHARTS = (
    Chart(
        "Latency.",
        Axis("size", "B", log=2),
        Axis("latency", "ns", log=10),
        (
            Layer(Kind.LINE, (1024.0, 4096.0, 65536.0), (1.0, None, 80.0), "load"),
            Layer(Kind.DOTS, (2048.0,), (5.0,), "store"),
        ),
        marks=(Mark(4096.0, "L1"),),
        zones=(Zone(1024.0, 2048.0, "warm"),),
        alone=True,
    ),
    Chart(
        "Effects.",
        Axis("B to A", "x", log=10),
        Axis("", names=_NAMES),
        (Layer(Kind.RANGES, (0.28, 1.1), _NAMES, low=(0.1, 0.98), high=(0.37, float("inf"))),),
        alone=True,
    ),
    Chart(
        "Shares.",
        Axis("share", "%", zero=True),
        Axis("", names=_NAMES),
        (Layer(Kind.BARS, (0.8, 0.1), _NAMES),),
        alone=True,
    ),
    Chart(
        "Heat.",
        Axis("", names=("a", "b")),
        Axis("", names=_NAMES),
        (Layer(Kind.HEAT, ("a", "b"), ("faults", "elapsed"), shades=(0.2, None)),),
        alone=True,
    ),
    Chart(
        "Lanes.",
        Axis("time", "ns", zero=True),
        Axis("", names=_NAMES),
        (
            Layer(Kind.SPANS, (0, 4e9), _NAMES, low=(0, 4e9), high=(3e9, 6e9), texts=("go", "")),
            Layer(Kind.ARROWS, (1e9,), ("elapsed",), low=(2e9,), high=("faults",)),
        ),
        alone=True,
    ),
    Chart("Nothing.", Axis("x"), Axis("y"), (Layer(Kind.LINE, (), ()),), alone=True),
)
_ALL: tuple[Block, ...] = (
    Headline("14.5 s elapsed, 10 % of it on a CPU", ("./ingest tree x.db",)),
    Composition(
        10e9,
        (
            Part("user", 2e9, "user"),
            Part("disk", 7.9e9, "disk", tied=True),
            Part("z", 1e8, "sleep"),
        ),
        "ns",
    ),
    Finding("The machine was busy.", Tone.DOUBT),
    Finding("One commit per file holds everything up.", remedy="$ gnomon compare"),
    _table(),
    Section("More"),
    Fold("7 counted nothing: a, b", (Text("inner"),)),
    Table.matrix("node", ["0", "1"], [[1.5e9, 2e9], [None, 1e9]], "B/s", caption="Bandwidth."),
    *_CHARTS,
    Graph(
        (Node("node 0", ("2 cores", ("memory", Cell(2**36, "B")))), Node("node 1")),
        (Edge(0, 1, (Cell(15e9, "B/s"),), (0.3, 0.1)),),
        "The links.",
        ("rate",),
    ),
    Picture("A picture.", lambda: "<svg/>", lambda columns: ["#" * columns], "for a test"),
    Facts((("kernel", "6.1"), ("CPUs", 4), ("none", None)), "Provenance"),
)
_SGR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("columns", [1, 20, 54, 55, 60, 80, 200])
def test_no_line_is_wider_than_the_screen(columns: int, everything: bool, encoding: str) -> None:
    screen = Screen(columns, True, everything, encoding)
    for line in lines(_ALL, screen):
        plain = _SGR.sub("", line)
        assert plain.isprintable()
        assert width(plain) <= columns
        assert encoding == "utf-8" or plain.isascii()


@given(st.text(max_size=60), st.sampled_from([None, 20, 60, 80]), st.booleans())
def test_no_text_reaches_a_terminal_as_anything_but_text(
    text: str, columns: int | None, everything: bool
) -> None:
    blocks: tuple[Block, ...] = (
        Headline(text, (text,)),
        Section(text),
        Finding(text, Tone.BAD, text),
        Text(text),
        Facts(((text, text), (text, 1)), text),
        Fold(text, (Text(text),)),
        Table((Column(text), Column(text)), ((Cell(text), Cell(None, status=text)),), text),
        Graph((Node(text, (text,)), Node(text)), (Edge(0, 1),), text, (text,)),
        Composition(1.0, (Part(text, 1.0, letter=text),), text, text),
        Chart(text, Axis(text), Axis(text), (Layer(Kind.DOTS, (1,), (2,), text),), alone=True),
    )
    for line in lines(blocks, Screen(columns, everything=everything)):
        assert all(c.isprintable() or c.isspace() for c in line)
        assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", line)


def test_a_pipe_has_everything_but_bars_and_colour() -> None:
    found = "\n".join(lines(_ALL, Screen()))
    assert "\x1b" not in found
    assert "█▓" not in found
    for word in ("spread", "source", "what it counts", "90 %", "event-2"):
        assert word in found


def test_a_pipe_is_the_same_whatever_columns_says(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for columns in ("20", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        texts.append("\n".join(lines(_ALL, screen_of(io.StringIO()))))
    assert texts[0] == texts[1]


def test_a_sentence_is_one_line_in_a_pipe_and_wrapped_on_a_screen() -> None:
    block = Finding("word " * 40 + "end")
    assert len([*lines([block], Screen())]) == 1
    assert len([*lines([block], Screen(60))]) == 4


def test_columns_go_by_rank_and_the_table_says_so() -> None:
    def shown(columns: int) -> str:
        return "\n".join(lines([_table()], Screen(columns)))

    assert "█" in shown(120) and "what it counts" in shown(120)
    assert "source" not in shown(70).splitlines()[0]
    assert "no room for source: see --csv or --html" in shown(70)
    assert "no room for source, spread: see --csv or --html" in shown(60)
    for columns in (55, 70, 80, 120):
        assert "3.00 ms" in shown(columns) and "0.90 to 1.10 ms" in shown(columns)


def test_below_55_columns_rows_are_written_as_names_and_values() -> None:
    found = [*lines([_table(1)], Screen(40))]
    assert found[:3] == ["event-0", "  mean: 1.00 ms", "  90 %: 0.90 to 1.10 ms"]


def test_a_matrix_too_wide_for_the_screen_continues_below() -> None:
    names = [str(i) for i in range(40)]
    table = Table.matrix("node", names, [[float(i + 1)] * 40 for i in range(40)], "ns")
    found = [*lines([table], Screen(60))]
    assert all(width(line) <= 60 for line in found)
    assert sum(line.startswith("node") for line in found) > 1
    assert "39" in found[-41].split()


def test_rows_beyond_the_most_are_counted() -> None:
    found = [*lines([_table(10, most=3)], Screen(120))]
    assert "… 7 more rows: --all shows them" in found
    assert len([*lines([_table(10, most=3)], Screen(120, everything=True))]) == 11
    assert len([*lines([_table(10, most=3)], Screen())]) == 11


def test_missing_numbers_are_dashes_and_missing_columns_are_not_there() -> None:
    table = Table.of(
        [(1, None), (None, None)],
        Column("name", lambda _: "x"),
        Column("value", lambda r: r[0]),
        Column("never", lambda r: Cell(r[1])),
        Column("why", lambda r: Cell(None, status="not-supported")),
    )
    assert [*lines([table], Screen())] == [
        "name  value  why",
        "x         1  not-supported",
        "x         –  not-supported",
    ]


def test_a_value_that_was_not_counted_outright_is_marked() -> None:
    table = Table.of([1], Column("mean", lambda _: Cell(5000, status="scaled")))
    assert [*lines([table], Screen())][1].strip() == "~ 5,000"


def test_a_heading_waits_until_something_stands_below_it() -> None:
    assert [*lines([Section("Nothing here"), Table((), ())], Screen())] == []
    assert [*lines([Section("Words"), Text("a")], Screen())] == ["Words", "a"]


def test_a_fold_is_a_line_and_opens_with_all() -> None:
    blocks = [Fold("2 more", (Text("one"),))]
    assert [*lines(blocks, Screen())] == ["2 more", "(--all shows what is folded away)"]
    assert [*lines(blocks, Screen(everything=True))] == ["2 more", "  one"]


def test_a_chart_with_a_table_beside_it_is_for_all_only() -> None:
    chart = Chart("c", Axis("x"), Axis("y"), (Layer(Kind.DOTS, (1, 2), (1, 2)),))
    assert [*lines([chart], Screen(80))] == []
    assert len([*lines([chart], Screen(80, everything=True))]) > 10


def test_colours_are_for_screens_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tty(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert screen_of(Tty()).colour
    assert not screen_of(Tty(), colour="never").colour
    assert not screen_of(io.StringIO()).colour
    assert screen_of(io.StringIO(), colour="always").colour
    monkeypatch.setenv("TERM", "dumb")
    assert not screen_of(Tty()).colour
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not screen_of(Tty()).colour
    assert screen_of(Tty(), colour="always").colour


def test_the_bar_of_a_composition_fills_the_screen_and_hides_no_part() -> None:
    found = [*lines([_ALL[1]], Screen(60))]
    assert width(found[0]) == 60
    assert set(found[0]) == {"█", "D", "z"}
    assert found[1].startswith("█ user 2 s 20 %   D disk 7.9 s 79 % ≈ z z")


def test_a_picture_drawn_again_takes_the_place_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "120")

    class Tty(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Tty()
    with Redrawn(stream) as picture:
        picture.draw([_table(3)])
        picture.draw([_table(1)])
    drawn = stream.getvalue().split("\x1b[4A\r")
    assert len(drawn) == 2
    first, second = (part.splitlines()[0].replace("\x1b[?25l", "") for part in drawn)
    assert _SGR.sub("", first) == _SGR.sub("", second)


@given(st.text())
def test_the_width_of_a_text_is_the_sum_of_its_characters(text: str) -> None:
    wide = [
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    ]
    assert width(text) == sum(wide)
    assert all(width(chr(code)) == width(f"日{chr(code)}") - 2 for code in range(0x2000, 0x2900))


def test_texts_are_cut_by_what_they_take_on_the_screen() -> None:
    assert cut("日本語日本語", 5) == "日本…"
    assert cut_middle("mem_load_retired.l3_miss", 16) == "mem_loa….l3_miss"
    assert cut("abc", 3) == "abc"
