"""Charts as SVG: each kind of layer, what stands around them, and what they say in words."""

from __future__ import annotations

import itertools
import random
import re
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.views.blocks import Axis, Cell, Chart, Kind, Layer, Mark, Tone, Zone
from gnomon.views.html.charts import figure

from .strict import drawings, parsed, words

TIME = Axis("time", "ns", zero=True)
RATE = Axis("rate", "/s", zero=True)


def drawn(*layers: Layer, x: Axis = TIME, y: Axis = RATE, **options: object) -> Element:
    """Return the drawing of a chart, which is the last SVG of its figure."""
    markup = figure(Chart("A chart", x, y, layers, **options))  # type: ignore[arg-type]
    parsed(markup)
    return drawings(markup)[-1]


def marks(drawing: Element, name: str, class_: str = "") -> list[Element]:
    """Return elements of layers by name, and by a word among their classes."""
    found = list({id(each): each for g in drawing.iter("g") for each in g.iter(name)}.values())
    return [each for each in found if not class_ or class_ in each.get("class", "").split()]


def percent(element: Element, key: str) -> float:
    return float(element.get(key, "nan").removesuffix("%"))


def test_a_line_goes_through_its_points_and_breaks_where_one_is_missing() -> None:
    drawing = drawn(Layer(Kind.LINE, (0, 1, 2, 3), (0.0, 4.0, None, 8.0)))
    (path,) = marks(drawing, "path", "line")
    assert re.sub(r"[^ML]", "", path.get("d", "")) == "MLM"
    assert len(marks(drawing, "circle")) == 3
    xs = [percent(each, "cx") for each in marks(drawing, "circle")]
    assert xs == sorted(xs)
    assert xs[0] == 0
    ys = [float(each.get("cy", "")) for each in marks(drawing, "circle")]
    assert ys[0] > ys[1] > ys[2], "more is higher"


def test_steps_change_level_at_once() -> None:
    (path,) = marks(drawn(Layer(Kind.STEPS, (0, 1, 2), (1.0, 5.0, 3.0))), "path", "line")
    points = [
        tuple(map(float, each.split())) for each in re.findall(r"[ML]([-\d. ]+)", path.get("d", ""))
    ]
    for before, after in itertools.pairwise(points):
        assert before[0] == after[0] or before[1] == after[1]
    assert len(points) == 5


def test_each_dot_says_what_it_is_on_hover() -> None:
    layer = Layer(
        Kind.DOTS, (1e9, 2e9), (10.0, 20.0), "reads", hover=(("size", (Cell(4096, "B"), None)),)
    )
    titles = [each.findtext("title") for each in marks(drawn(layer), "circle")]
    assert titles == [
        "reads, time 1 s, rate 10 /s, size 4 KiB",
        "reads, time 2 s, rate 20 /s, size –",
    ]


def test_texts_stand_beside_few_points() -> None:
    layer = Layer(Kind.DOTS, (0.0, 1.0), (0.0, 1.0), texts=("low", "high"))
    labels = [each.text for each in drawn(layer).iter("text") if "label" in each.get("class", "")]
    assert labels == ["low", "high"]


def test_bars_begin_at_their_base_and_their_axis_holds_it() -> None:
    layer = Layer(Kind.BARS, ("a", "b"), (0.5, 2.0), base=1.0)
    low, high = marks(drawn(layer, x=Axis("", names=("a", "b")), y=Axis("score", low=0.0)), "rect")
    bottom = float(high.get("y", "")) + float(high.get("height", ""))
    assert bottom == pytest.approx(float(low.get("y", "")), abs=0.1)


def test_stacked_bars_stand_on_each_other_and_the_axis_holds_their_sum() -> None:
    layers = [
        Layer(Kind.BARS, ("a",), (value,), name, stack="s")
        for name, value in (("r", 3.0), ("w", 5.0))
    ]
    lower, upper = marks(drawn(*layers, x=Axis("", names=("a",))), "rect")
    assert float(upper.get("y", "")) + float(upper.get("height", "")) == pytest.approx(
        float(lower.get("y", "")), abs=0.02
    )
    ratio = float(upper.get("height", "")) / float(lower.get("height", ""))
    assert ratio == pytest.approx(5 / 3, rel=1e-3)
    assert float(upper.get("y", "")) >= 0


def test_bars_of_several_series_stand_beside_each_other() -> None:
    layers = [Layer(Kind.BARS, ("a",), (3.0,), name) for name in ("one", "two")]
    first, second = marks(drawn(*layers, x=Axis("", names=("a",))), "rect")
    assert percent(first, "x") + percent(first, "width") == pytest.approx(
        percent(second, "x"), abs=0.02
    )


def test_bars_in_rows_have_their_values_at_their_ends() -> None:
    layer = Layer(Kind.BARS, (42.2e6, 0.0), ("copy", "add"))
    drawing = drawn(layer, x=Axis("time", "ns"), y=Axis("", names=("copy", "add")))
    assert "42.2\u202fms" in [each.text for each in drawing.iter("text")]
    long, short = marks(drawing, "rect")
    assert percent(long, "x") == percent(short, "x") == 0
    assert percent(short, "width") == 0


def test_bins_reach_from_edge_to_edge() -> None:
    layer = Layer(Kind.BARS, (1.5, 3.0), (10, 20), low=(1.0, 2.0), high=(2.0, 4.0))
    first, second = marks(drawn(layer, x=Axis("size", low=1.0, high=4.0)), "rect")
    assert percent(first, "x") == 0
    assert percent(first, "x") + percent(first, "width") == pytest.approx(
        percent(second, "x"), abs=0.02
    )
    assert percent(second, "width") == pytest.approx(2 * percent(first, "width"), abs=0.02)


def test_a_bar_on_a_logarithmic_axis_is_a_point_as_its_length_would_mean_nothing() -> None:
    drawing = drawn(
        Layer(Kind.BARS, (1.0, 100.0), ("a", "b")), x=Axis("", log=10), y=Axis("", names=("a", "b"))
    )
    assert len(marks(drawing, "circle")) == 2
    assert not marks(drawing, "rect")


def test_a_band_is_closed_and_lies_between_its_ends() -> None:
    layer = Layer(Kind.BAND, (0, 1, 2), (), low=(1.0, 2.0, 3.0), high=(2.0, 3.0, 9.0))
    (path,) = marks(drawn(layer), "path", "fill")
    assert path.get("d", "").count("L") == 5
    assert path.get("d", "").endswith("Z")


def test_a_range_is_a_line_with_its_middle_along_the_axis_with_numbers() -> None:
    names = Axis("", names=("a",))
    level = drawn(Layer(Kind.RANGES, (2.0,), ("a",), low=(1.0,), high=(4.0,)), y=names)
    (line,), (circle,) = marks(level, "line", "range"), marks(level, "circle")
    assert line.get("y1") == line.get("y2") == circle.get("cy")
    assert percent(line, "x1") < percent(circle, "cx") < percent(line, "x2")
    assert "1.0 to 4.0 ns" in (level.find(".//g/g/title").text or "")  # type: ignore[union-attr]
    upright = drawn(Layer(Kind.RANGES, ("a",), (2.0,), low=(1.0,), high=(4.0,)), x=names)
    (line,) = marks(upright, "line", "range")
    assert line.get("x1") == line.get("x2")


def test_spans_lie_on_their_lanes_with_their_texts() -> None:
    layer = Layer(
        Kind.SPANS, (), ("a", "b"), low=(0.0, 5.0), high=(5.0, 10.0), texts=("load", "<x>")
    )
    drawing = drawn(layer, y=Axis("", names=("a", "b")))
    first, second = (each for each in drawing.iter("svg") if "span" in each.get("class", ""))
    assert percent(first, "x") + percent(first, "width") == pytest.approx(
        percent(second, "x"), abs=0.02
    )
    assert float(first.get("y", "")) < float(second.get("y", ""))
    assert [first.findtext("text"), second.findtext("text")] == ["load", "<x>"]


def test_arrows_go_from_lane_to_lane() -> None:
    layer = Layer(Kind.ARROWS, (0.0,), ("a",), low=(5.0,), high=("b",))
    (arrow,) = marks(drawn(layer, y=Axis("", names=("a", "b"))), "line", "arrow")
    assert arrow.get("marker-end") == "url(#gnomon-arrow)"
    assert float(arrow.get("y1", "")) < float(arrow.get("y2", ""))


def test_a_heat_map_has_a_cell_for_each_reading_and_a_dash_for_none() -> None:
    layer = Layer(
        Kind.HEAT, ("x", "x", "y", "y"), ("a", "b", "a", "b"), shades=(0.0, 1.0, None, 0.5)
    )
    drawing = drawn(layer, x=Axis("", names=("x", "y")), y=Axis("", names=("a", "b")))
    cells = marks(drawing, "rect")
    assert [each.get("style") for each in cells] == ["--h:0%", "--h:100%", "--h:50%"]
    assert [each.text for each in marks(drawing, "text")] == ["–"]


def test_a_large_heat_map_is_a_path_for_each_shade() -> None:
    x = tuple(f"x{i}" for i in range(100) for _ in range(100))
    y = tuple(f"y{k}" for _ in range(100) for k in range(100))
    shades = tuple(random.Random(1).random() for _ in x)
    markup = figure(Chart("", Axis(""), Axis(""), (Layer(Kind.HEAT, x, y, shades=shades),)))
    assert markup.count("<rect") < 20
    assert len(markup) < 600_000


# ---- around the layers ----------------------------------------------------------------------


def test_what_is_reported_is_hollow_and_dotted() -> None:
    drawing = drawn(Layer(Kind.LINE, (0, 1), (0.0, 1.0), "published", reported=True))
    (group,) = [g for g in drawing.iter("g") if g.get("data-series") == "published"]
    assert {"hollow", "dotted"} <= set(group.get("class", "").split())


def test_a_is_hollow_and_b_is_filled_in_one_colour() -> None:
    layers = [Layer(Kind.DOTS, (1.0,), (name,), name) for name in ("A", "B")]
    drawing = drawn(*layers, y=Axis("", names=("A", "B")))
    looks = {g.get("data-series"): set(g.get("class", "").split()) for g in drawing.iter("g")}
    assert "hollow" in looks["A"]
    assert "hollow" not in looks["B"]
    assert "s1" in looks["A"] & looks["B"]


def test_no_two_of_nine_series_look_alike() -> None:
    layers = [Layer(Kind.LINE, (0, 1), (0.0, float(i)), f"series {i}") for i in range(9)]
    looks = [g.get("class") for g in drawn(*layers).iter("g") if g.get("data-series")]
    assert len(set(looks)) == 9


def test_lines_are_named_at_their_ends_where_there_is_room_and_in_a_legend_where_not() -> None:
    apart = [Layer(Kind.LINE, (0, 1), (0.0, 10.0 * i), f"n{i}") for i in (1, 2)]
    markup = figure(Chart("", TIME, RATE, tuple(apart)))
    assert "legend" not in markup
    assert {"n1", "n2"} <= set(words(markup).split())
    long = [Layer(Kind.LINE, (0, 1), (0.0, 1.0), f"a name of some length {i}") for i in range(2)]
    assert "legend" in figure(Chart("", TIME, RATE, tuple(long)))


def test_only_tones_that_are_there_are_in_the_key() -> None:
    layer = Layer(Kind.DOTS, (1.0,), (1.0,), tones=(Tone.BAD,))
    text = words(
        figure(Chart("", TIME, RATE, (layer,), key=((Tone.BAD, "slower"), (Tone.GOOD, "faster"))))
    )
    assert "slower" in text
    assert "faster" not in text


def test_marks_and_zones_are_named_once_and_not_over_each_other() -> None:
    layer = Layer(Kind.LINE, (0.0, 1e9), (1.0, 2.0))
    chart_marks = (
        Mark(5e8, "L2"),
        Mark(6e8, "L2"),
        Mark(5.1e8, "L3", reported=True),
        Mark(1.5, "mean", "y"),
    )
    drawing = drawn(layer, marks=chart_marks, zones=(Zone(0, 5e8, "load"), Zone(5e8, 1e9, "run")))
    labels = [
        each for each in drawing.iter("text") if each.text in ("L2", "L3", "mean", "load", "run")
    ]
    assert sorted(each.text or "" for each in labels) == ["L2", "L3", "load", "mean", "run"]
    places = [(each.get("x"), each.get("y")) for each in labels]
    assert len(set(places)) == 5
    lines = [each for each in drawing.iter("line") if "mark" in each.get("class", "").split()]
    assert len(lines) == 4
    assert sum("dotted" in each.get("class", "") for each in lines) == 1


def test_marks_without_room_for_their_names_are_named_in_words() -> None:
    many = tuple(Mark(5e8 + i, f"a mark with a long name {i}") for i in range(7))
    text = words(
        figure(Chart("", TIME, RATE, (Layer(Kind.LINE, (0.0, 1e9), (1.0, 2.0)),), marks=many))
    )
    assert all(f"long name {i}" in text for i in range(7))


def test_what_lies_outside_the_axes_or_within_a_pixel_is_told() -> None:
    axis = Axis("rate", low=0.0, high=10.0)
    outside = figure(Chart("", TIME, axis, (Layer(Kind.DOTS, (1.0, 2.0), (5.0, 500.0)),)))
    assert "1 point lies outside the axes." in words(outside)
    rng = random.Random(2)
    points = tuple(rng.random() for _ in range(20_000))
    dots = figure(Chart("", Axis(""), Axis(""), (Layer(Kind.DOTS, points, points[::-1]),)))
    assert re.search(r"[\d,]+ points are not drawn", words(dots))
    assert len(dots) < 150_000


def test_a_long_course_keeps_its_one_peak() -> None:
    values = [1.0] * 100_000
    values[54_321] = 9.0
    markup = figure(
        Chart("", Axis(""), Axis(""), (Layer(Kind.LINE, tuple(range(100_000)), tuple(values)),))
    )
    (path,) = marks(drawings(markup)[-1], "path", "line")
    heights = [float(y) for y in re.findall(r"[ML][-\d.]+ ([-\d.]+)", path.get("d", ""))]
    assert min(heights) < 30
    assert max(heights) > 200
    assert len(markup) < 100_000


def test_a_sentence_says_what_the_picture_shows() -> None:
    layer = Layer(Kind.LINE, (4096.0, 2**20), (1.2, 92.0), "4 KiB pages")
    drawing = drawn(layer, x=Axis("size", "B", log=2), y=Axis("latency", "ns", log=10))
    assert drawing.get("role") == "img"
    assert (
        drawing.get("aria-label")
        == "A chart; 4 KiB pages 1.2 ns to 92 ns; size along the other axis."
    )


def test_a_chart_without_anything_is_nothing() -> None:
    assert figure(Chart("nothing", TIME, RATE, ())) == ""
    assert figure(Chart("nothing", TIME, RATE, (Layer(Kind.LINE, (), ()),))) == ""


VALUES = st.one_of(st.none(), st.floats(), st.integers(-(10**20), 10**20))


@given(
    st.sampled_from([kind for kind in Kind if kind is not Kind.SPANS]),
    st.lists(st.tuples(VALUES, VALUES, VALUES, VALUES), max_size=12),
    st.sampled_from([0, 2, 10]),
    st.booleans(),
)
def test_any_numbers_make_a_well_formed_drawing(
    kind: Kind, points: list[tuple[float | None, ...]], log: int, rows: bool
) -> None:
    x, y, low, high = (tuple(each) for each in zip(*points, strict=True)) if points else ((),) * 4
    names = tuple(f"<{i}>" for i in range(len(points)))
    shades = tuple(None if v is None else abs(v) % 1 if abs(v) < 1e9 else None for v in low)
    layer = Layer(kind, x, names if rows else y, "a & b", low, high, shades=shades)
    markup = figure(
        Chart(
            "<odd>",
            Axis("x", "ns", log=log),
            Axis("y", log=log, names=names if rows else ()),
            (layer,),
        )
    )
    parsed(markup)
    for drawing in drawings(markup):
        for element in drawing.iter():
            for value in element.attrib.values():
                assert "nan" not in value.split()
                assert "inf" not in value.split()
