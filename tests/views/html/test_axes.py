"""Axes and thinning against what one would write without thinking of speed."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.views.axes import Scale, scale_of
from gnomon.views.blocks import Axis
from gnomon.views.html import thin

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False).map(lambda v: round(v, 6))
POSITIVE = st.floats(1e-9, 1e15).filter(lambda v: v > 0)
SHARES = st.floats(0, 1)


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.booleans())
def test_a_linear_axis_holds_its_values_in_their_proportions(
    values: list[float], zero: bool
) -> None:
    scale = scale_of(Axis("", "ns", zero=zero), values)
    places = [scale.at(value) for value in values]
    assert all(place is not None and -1e-9 <= place <= 1 + 1e-9 for place in places)
    for value, place in zip(values, places, strict=True):
        assert place == pytest.approx((value - scale.low) / (scale.high - scale.low))
    if zero:
        assert scale.inside(0.0) is not None


@given(st.lists(POSITIVE, min_size=1, max_size=30), st.sampled_from([2, 10]))
def test_a_logarithmic_axis_gives_equal_ratios_equal_lengths(values: list[float], log: int) -> None:
    scale = scale_of(Axis("", "B", log=log), values)
    for value in values:
        place = scale.at(value)
        assert place is not None
        assert -1e-9 <= place <= 1 + 1e-9
        twin = math.log(value / scale.low, log) / math.log(scale.high / scale.low, log)
        assert place == pytest.approx(twin, abs=1e-9)


@given(
    st.lists(NUMBERS, min_size=2, max_size=9),
    st.sampled_from(["", "ns", "B", "/s", "%"]),
    st.integers(3, 9),
)
def test_ticks_lie_on_the_axis_in_order_at_equal_steps(
    values: list[float], unit: str, most: int
) -> None:
    scale = scale_of(Axis("", unit), values)
    places = [place for place, _ in scale.ticks(most)]
    assert places == sorted(places)
    assert all(0 <= place <= 1 for place in places)
    assert len(places) <= most + 1
    gaps = [b - a for a, b in itertools.pairwise(places)]
    if gaps:
        assert max(gaps) == pytest.approx(min(gaps), rel=1e-3, abs=1e-6)


@given(POSITIVE, st.floats(1.01, 1e12), st.sampled_from([2, 10]))
def test_ticks_of_a_logarithmic_axis_are_round_and_few(low: float, ratio: float, log: int) -> None:
    scale = scale_of(Axis("", "ns", log=log), [low, low * ratio])
    ticks = scale.ticks(6)
    assert len(ticks) <= 10
    assert [place for place, _ in ticks] == sorted(place for place, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks)


def test_a_few_decades_have_twos_and_fives_between_them() -> None:
    scale = scale_of(Axis("", "x", log=10), [0.1, 1.7])
    assert [text for _, text in scale.ticks(6)] == ["1/10", "1/5", "1/2", "same"]


def test_names_have_slots_of_one_size_and_words_among_values_are_names() -> None:
    scale = scale_of(Axis("", names=("a", "b")), ["b", "a"])
    assert [scale.at("a"), scale.at("b"), scale.at("c"), scale.at(1)] == [0.25, 0.75, None, 0.75]
    assert scale_of(Axis(""), ["x", "y", "x"]).names == ("x", "y")
    assert not scale.ticks(6)


@pytest.mark.parametrize("odd", [None, math.nan, math.inf, -math.inf, 1e305])
def test_what_cannot_be_drawn_has_no_place_and_does_not_stretch_the_axis(odd: float | None) -> None:
    scale = scale_of(Axis("", "ns"), [1.0, odd, 2.0])
    assert scale.at(odd) is None
    assert scale.high < 3
    assert scale_of(Axis("", log=10), [-1.0, 0.0, odd, 5.0]).at(0.0) is None


@pytest.mark.parametrize("values", [[], [0.0], [7.0], [-7.0], [math.nan], [5.0, 5.0]])
@pytest.mark.parametrize("log", [0, 2, 10])
def test_an_axis_with_one_value_or_none_still_has_a_length(values: list[float], log: int) -> None:
    scale = scale_of(Axis("", "ns", log=log), values)
    assert scale.low < scale.high
    assert all(0 <= place <= 1 for place, _ in scale.ticks(6))


def test_limits_of_the_axis_are_kept_and_what_lies_outside_is_clamped_or_left_out() -> None:
    scale = scale_of(Axis("", low=0.0, high=10.0), [-50.0, 5.0, 1e9])
    assert (scale.low, scale.high) == (0.0, 10.0)
    assert [scale.inside(v) for v in (-50.0, 5.0, 1e9)] == [None, 0.5, None]
    assert [scale.clamped(v) for v in (-50.0, 5.0, 1e9)] == [0.0, 0.5, 1.0]


def test_a_logarithmic_axis_is_named_as_one() -> None:
    assert Scale(Axis("size", log=2), 1, 2, log=2).label() == "size (log axis)"
    assert Scale(Axis("size"), 1, 2).label() == "size"


# ---- thinning -------------------------------------------------------------------------------


@given(st.lists(st.tuples(SHARES, SHARES), max_size=400), st.integers(1, 8))
def test_thinning_a_line_keeps_the_least_and_greatest_of_each_column(
    points: list[tuple[float, float]], columns: int
) -> None:
    points.sort(key=lambda point: point[0])
    xs, ys = [x for x, _ in points], [y for _, y in points]
    kept = thin.course(xs, ys, columns)
    assert kept == sorted(set(kept))
    assert len(kept) <= max(4 * columns + 4, 4 * (columns + 1))

    def extremes(chosen: list[int]) -> dict[int, tuple[float, float]]:
        found: dict[int, list[float]] = {}
        for i in chosen:
            found.setdefault(math.floor(xs[i] * columns), []).append(ys[i])
        return {column: (min(each), max(each)) for column, each in found.items()}

    assert extremes(kept) == extremes(list(range(len(xs))))
    if points:
        assert {0, len(points) - 1} <= set(kept)


def test_thinning_keeps_gaps_in_a_line() -> None:
    ys = [0.5] * 5000 + [None] * 100 + [0.5] * 5000
    xs = [i / len(ys) for i in range(len(ys))]
    kept = thin.course(xs, ys, 50)
    assert any(ys[i] is None for i in kept)
    assert len(kept) < 400


@given(st.lists(st.tuples(SHARES, SHARES), max_size=300), st.integers(40, 80))
def test_thinned_dots_are_few_and_keep_the_highest_and_lowest(
    points: list[tuple[float, float]], most: int
) -> None:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    kept = thin.dots(xs, ys, most)
    assert set(kept) <= set(range(len(points)))
    if len(points) <= most:
        assert kept == list(range(len(points)))
    elif points:
        assert max(ys[i] for i in kept) == max(ys)
        assert min(ys[i] for i in kept) == min(ys)


def test_a_hundred_thousand_dots_become_a_few_thousand() -> None:
    xs = [(i * 0.754877) % 1 for i in range(100_000)]
    ys = [(i * 0.569840) % 1 for i in range(100_000)]
    assert len(thin.dots(xs, ys)) <= 3000


def test_stretches_that_are_wide_all_stay_and_one_of_those_within_a_pixel() -> None:
    lows = [0.1] * 3000 + [0.2, 0.3]
    highs = [0.1001] * 3000 + [0.5, 0.9]
    kept = thin.stretches([0.5] * 3002, lows, highs)
    assert {3000, 3001} <= set(kept)
    assert len(kept) == 3
