"""Escaping, findings, facts, tables, compositions and graphs as markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.views.blocks import (
    Block,
    Cell,
    Column,
    Composition,
    Edge,
    Facts,
    Finding,
    Fold,
    Graph,
    Headline,
    Node,
    Part,
    Section,
    Table,
    Text,
    Tone,
)
from gnomon.views.html.markup import element, escape
from gnomon.views.html.parts import Writer
from gnomon.views.html.tables import MOST

from .strict import drawings, parsed, words

NARROW = "\u202f"


def written(*blocks: Block, rows: int = MOST) -> str:
    markup = Writer(rows=rows).write(blocks)
    parsed(markup)
    return markup


def rows_of(markup: str) -> list[list[str]]:
    """Return the words of the cells of a table's body."""
    body = markup[markup.index("<tbody>") : markup.index("</tbody>")]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("<tr")[1:]]
    return [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in cells]


# ---- escaping -------------------------------------------------------------------------------


@given(st.text())
def test_an_escaped_text_is_neither_markup_nor_control_characters(text: str) -> None:
    made = element("p", escape(text), title=text)
    reader = parsed(made)
    assert [name for name, _ in reader.elements] == ["p"]
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", made
    )
    made.encode("utf-8")


@given(st.text(st.characters(exclude_categories=["C"]), max_size=40))
def test_a_harmless_text_reads_as_it_was(text: str) -> None:
    assert "".join(parsed(f"<p>{escape(text)}</p>").words) == text


HOSTILE = '</title><script>alert(1)</script><img src=x onerror="x"> \x1b[31m \u202e & \' " `<b>`'


def test_hostile_names_stay_words_in_every_block() -> None:
    one = Table(
        (Column(HOSTILE, interval=HOSTILE), Column("n", unit=HOSTILE, bar=True)),
        ((Cell(HOSTILE, hint=HOSTILE), Cell(1.5, HOSTILE, 1, 2, HOSTILE)),),
        HOSTILE,
    )
    blocks: list[Block] = [
        Headline(HOSTILE, (HOSTILE, HOSTILE * 3)),
        Section(HOSTILE),
        Finding(HOSTILE, Tone.BAD, HOSTILE),
        Finding(HOSTILE, Tone.DOUBT, "gnomon survey -- " + HOSTILE),
        Text(HOSTILE),
        Facts(((HOSTILE, Cell(HOSTILE, hint=HOSTILE)), (HOSTILE, 3)), HOSTILE),
        Fold(HOSTILE, (one,)),
        one,
        Composition(1.0, (Part(HOSTILE, 1.0, HOSTILE, HOSTILE),), HOSTILE, HOSTILE),
        Graph(
            (Node(HOSTILE, (HOSTILE, (HOSTILE, Cell(HOSTILE)))), Node("b")),
            (Edge(0, 1, (Cell(HOSTILE),)),),
            HOSTILE,
            (HOSTILE,),
        ),
    ]
    markup = written(*blocks)
    names = {name for name, _ in parsed(markup).elements}
    assert not names & {"script", "img", "b onerror"}
    assert not any(
        key.startswith("on") for _, attributes in parsed(markup).elements for key in attributes
    )
    assert "\x1b" not in markup
    assert "\u202e" not in markup
    assert "\\x1b[31m" in markup
    assert drawings(markup)


# ---- words ----------------------------------------------------------------------------------


def test_the_rest_of_a_headline_is_muted_and_simulated_is_a_label() -> None:
    markup = written(Headline("SIMULATED 14.5 s elapsed.", ("10 % on a CPU.", "x" * 300)))
    assert '<span class="simulated">SIMULATED</span> 14.5\u202fs elapsed.' in markup
    assert '<span class="q">10\u202f% on a CPU.</span></h1>' in markup
    assert '<p class="lead">xxx' in markup
    assert '"simulated">PARTLY SIMULATED<' in written(Headline("PARTLY SIMULATED Survey"))


def test_findings_below_each_other_are_a_list_with_claim_evidence_and_what_to_do() -> None:
    markup = written(
        Finding(
            "Doubtful: read with care. The load was 7.7.", Tone.DOUBT, "Again: `gnomon survey -r 5`"
        ),
        Finding("One lock holds everything up."),
        Finding("The kernel takes 61 %.", remedy="gnomon profile --kernel"),
        Finding("Good news.", Tone.GOOD, "Nothing to do."),
    )
    assert markup.count("<ol") == 1
    assert "<strong>Doubtful: read with care.</strong><p>The load was 7.7.</p>" in markup
    assert 'class="next">Again<div class="cmdline"><code>gnomon survey -r 5</code>' in markup
    assert 'class="next">Next<div class="cmdline"><code>gnomon profile --kernel</code>' in markup
    assert '<div class="next">Nothing to do.</div>' in markup
    assert re.findall(r'class="n[^"]*">(\d)<', markup) == ["1", "2"]
    assert "doubt: " in words(markup)


def test_facts_with_numbers_stand_in_large_print_and_others_in_a_list() -> None:
    cards = written(
        Facts((("elapsed", Cell(14.5e9, "ns")), ("CPU time", Cell(912e6, "ns", 877e6, 947e6))))
    )
    assert "<dl>" not in cards
    assert f"912 ± 35{NARROW}ms" in cards
    listed = written(Facts((("machine", "AMD EPYC"), ("CPUs", 2), ("nothing", None)), "Machine"))
    assert "<dt>machine</dt><dd>AMD EPYC</dd>" in listed
    assert "nothing" not in listed
    assert written(Facts(())) == ""


def test_a_fold_is_closed_and_its_blocks_are_inside() -> None:
    markup = written(Fold("7 more events", (Text("alignment-faults"),)))
    assert re.fullmatch(
        r"<details><summary>7 more events</summary><p>alignment-faults</p></details>", markup
    )


def test_what_stands_between_backticks_is_something_to_type() -> None:
    assert "<code>gnomon doctor</code>" in written(Text("run `gnomon doctor` first"))


# ---- tables ---------------------------------------------------------------------------------


def test_numbers_have_muted_units_and_the_value_to_sort_by() -> None:
    markup = written(Table.of([1.5e9, 2e6], Column("name", str), Column("time", lambda v: v, "ns")))
    assert 'data-v="1500000000.0"' in markup
    assert f'1.5{NARROW}<span class="u">s</span>' in markup


def test_an_interval_has_a_column_of_its_own_and_decides_the_digits() -> None:
    cells = ((Cell("a"), Cell(912.3456e6, "ns", 877e6, 947e6)), (Cell("b"), Cell(5e6, "ns")))
    markup = written(Table((Column("event"), Column("mean", interval="95 % interval")), cells))
    assert rows_of(markup) == [
        ["a", f"912{NARROW}ms", "877 to 947\u202fms"],
        ["b", f"5{NARROW}ms", ""],
    ]


def test_missing_says_why_and_is_a_dash_where_nobody_knows() -> None:
    cells = (
        Cell("a"),
        Cell(None, status="not supported"),
        Cell(float("nan")),
        Cell(None, status="counted"),
        Cell(0),
    )
    markup = written(Table(tuple(Column(str(i)) for i in range(5)), (cells,)))
    assert rows_of(markup)[0][:3] == ["a", "not supported", "0"]
    two = written(
        Table(
            tuple(Column(str(i)) for i in range(5)),
            (cells, (Cell("b"), Cell(1), Cell(2), Cell(3), Cell(4))),
        )
    )
    assert rows_of(two)[0] == ["a", "not supported", "–", "–", "0"]


def test_what_was_not_counted_is_marked() -> None:
    markup = written(
        Table(
            (Column("a"), Column("n")),
            ((Cell("x"), Cell(5, status="estimated")), (Cell("y"), Cell(5, status="counted"))),
        )
    )
    assert rows_of(markup) == [["x", f"~{NARROW}5"], ["y", "5"]]


def test_a_common_scale_stands_in_the_heading() -> None:
    markup = written(Table.of([1e6, 2.5e6], Column("time", lambda v: v, "ns", common=True)))
    assert "time [ms]" in markup
    assert rows_of(markup) == [["1.000"], ["2.500"]]


def test_a_bar_is_as_long_as_the_share_or_as_the_part_of_the_greatest() -> None:
    share = written(Table.of([0.25, 0.5], Column("share", lambda v: v, "%", bar=True)))
    assert re.findall(r"--w:([\d.]+)%", share) == ["25", "50"]
    size = written(Table.of([10, 40], Column("n", lambda v: v, bar=True)))
    assert re.findall(r"--w:([\d.]+)%", size) == ["25", "100"]


def test_a_matrix_has_one_scale_and_is_shaded_without_losing_its_words() -> None:
    markup = written(
        Table.matrix(
            "from",
            ["a", "b"],
            [[90.0, 210.0], [Cell(None, status="lost"), 90.0]],
            "ns",
            caption="Latency",
        )
    )
    assert "Latency, in ns" in markup
    assert rows_of(markup)[1] == ["b", "lost", "90"]
    shades = [float(each) for each in re.findall(r"--h:([\d.]+)%", markup)]
    assert len(shades) == 3
    assert max(shades) <= 34


def test_tones_are_a_class_and_a_sign() -> None:
    markup = written(
        Table.of(
            ["a", "b"],
            Column("x", lambda v: v),
            tone=lambda v: Tone.BAD if v == "b" else Tone.PLAIN,
        )
    )
    assert '<tr class="bad">' in markup
    assert rows_of(markup) == [["a"], [f"✗{NARROW}b"]]


def test_columns_and_tables_without_anything_are_left_out() -> None:
    assert "empty" not in written(
        Table.of(["a"], Column("x", lambda v: v), Column("empty", lambda v: ""))
    )
    assert written(Table((), ())) == ""
    assert written(Table((Column("x"),), ())) == ""


@pytest.mark.parametrize("most", [25, 5000])
def test_a_long_table_is_cut_and_says_so(most: int) -> None:
    items = range(6000)
    markup = written(Table.of(items, Column("n", lambda v: v)), rows=most)
    assert markup.count("<tr>") == most + 1
    assert f"The first {most:,} of 6,000 rows." in words(markup)


def test_a_course_is_drawn_with_gaps_where_there_was_no_reading() -> None:
    markup = written(Table((Column("course"),), ((Cell(course=(1.0, None, 4.0)),),)))
    (drawing,) = drawings(markup)
    (path,) = drawing.iter("path")
    assert path.get("d", "").count("M") == 2
    assert drawing.get("aria-label") == "course over time, 2 readings"


# ---- compositions and graphs ----------------------------------------------------------------


def whole() -> Composition:
    lock = Part("lock", 2e9, "lock", "l", parts=(Part("GIL", 1.5e9, "gil"), Part("mutex", 0.5e9)))
    return Composition(
        10e9,
        (
            Part("own code", 3e9, "user", "U", 2.9e9, 3.1e9),
            Part("disk", 4e9, "disk", "D", tied=True),
            Part("network", 1e9, "network", "N"),
            lock,
            Part("unheard of", 0.0, "no such state"),
        ),
        "ns",
        "Elapsed time",
    )


def test_the_segments_of_a_composition_sum_to_the_bar() -> None:
    markup = written(whole())
    bar = markup[: markup.index("</div>")]
    assert sum(map(float, re.findall(r"--w:([\d.]+)%", bar))) == pytest.approx(100)
    assert re.findall(r"--c:var\(--(\w+)\)", bar) == ["user", "disk", "network", "lock"]
    assert 'class="pale"' in bar, "waits for others are pale"


def test_the_legend_has_every_figure_and_share_and_the_finer_causes() -> None:
    text = words(written(whole())).replace(NARROW, " ")
    for each in (
        "own code 3.00 ± 0.10 s 30 %",
        "disk 4 s 40 %",
        "lock : GIL 1.5 s 15 %",
        "mutex 500 ms 5 %",
    ):
        assert each in text.replace("lock:", "lock :"), each


def test_what_cannot_be_told_apart_is_under_one_bracket() -> None:
    markup = written(whole())
    assert re.search(r'class="ties".*?left:30%;width:50%', markup)
    assert "not told apart" in words(markup)


def test_a_composition_says_itself_in_words() -> None:
    label = next(
        a["aria-label"] for n, a in parsed(written(whole())).elements if a.get("class") == "comp"
    )
    assert (
        label == "Elapsed time: own code 30 %; disk 40 %; network 10 %; lock 20 %; unheard of 0 %"
    )


def ring(count: int, *, loads: bool) -> Graph:
    edges = tuple(
        Edge(i, (i + 1) % count, (Cell(1e9 * (i + 1), "B/s"),), (0.9, 0.1) if loads else None)
        for i in range(count)
    )
    return Graph(
        tuple(Node(f"node {i}", ("8 CPUs", ("memory", Cell(2**30, "B")))) for i in range(count)),
        edges,
        "Links.",
        ("bandwidth",),
    )


@pytest.mark.parametrize("count", [3, 4, 9, 40])
@pytest.mark.parametrize("loads", [False, True])
def test_boxes_of_a_graph_do_not_overlap_and_have_their_facts(count: int, loads: bool) -> None:
    markup = written(ring(count, loads=loads))
    (drawing,) = drawings(markup)
    boxes = [
        tuple(float(each.get(key, "")) for key in ("x", "y", "width", "height"))
        for each in drawing.iter("rect")
        if each.get("class") == "box"
    ]
    assert len(boxes) == count
    for i, (x, y, wide, high) in enumerate(boxes):
        for left, top, *_ in boxes[:i]:
            assert abs(x - left) >= wide or abs(y - top) >= high
    assert "memory 1 GiB" in words(markup).replace(NARROW, " ")


def test_a_link_is_as_wide_as_its_load_in_each_direction() -> None:
    (drawing,) = drawings(written(Graph((Node("a"), Node("b")), (Edge(0, 1, loads=(0.9, 0.1)),))))
    there, back = (float(each.get("stroke-width", "")) for each in drawing.iter("line"))
    assert there > 3 * back
    assert {"90\u202f%", "10\u202f%"} <= {each.text for each in drawing.iter("text")}


def test_what_all_links_share_is_said_once() -> None:
    edges = tuple(Edge(a, b, (Cell(14e9, "B/s"),)) for a, b in ((0, 1), (1, 2)))
    text = words(
        written(Graph(tuple(Node(x) for x in "abc"), edges, "Ring.", ("bandwidth",)))
    ).replace(NARROW, " ")
    assert "Each link: bandwidth 14 GB/s." in text
