"""Little bars: true to area, honest about gaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.views.terminal.charts import sparkline

_SERIES = st.lists(st.none() | st.floats(0, 1e15), max_size=300)


def test_heights_start_at_zero() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇██"


def test_a_constant_series_is_full_and_not_empty() -> None:
    assert sparkline([5, 5, 5]) == "███"


def test_nothing_at_all_is_low_and_not_missing() -> None:
    assert sparkline([0, 0]) == "▁▁"


def test_what_is_missing_is_a_dot() -> None:
    assert sparkline([None, 8, None]) == "·█·"
    assert sparkline([None, None]) == "··"


def test_neighbours_that_share_a_character_are_averaged() -> None:
    assert sparkline([0, 8, 4, 4, 8, 8], columns=3) == "▅▅█"


def test_a_gap_beside_a_value_does_not_count_as_zero() -> None:
    assert sparkline([8, None, 8, 8], columns=2) == "██"


@pytest.mark.parametrize(("series", "columns"), [([], 60), ([1.0], 0), ([], 0)])
def test_without_values_or_room_there_is_nothing(series: list[float], columns: int) -> None:
    assert sparkline(series, columns) == ""


@given(_SERIES, st.integers(1, 100))
def test_it_is_as_long_as_the_series_or_the_room(series: list[float | None], columns: int) -> None:
    assert len(sparkline(series, columns)) == min(len(series), columns)


@given(_SERIES)
def test_dots_are_where_values_are_missing(series: list[float | None]) -> None:
    line = sparkline(series, columns=max(len(series), 1))
    assert [bar == "·" for bar in line] == [value is None for value in series]


@given(_SERIES.filter(lambda s: any(v is not None and v > 0 for v in s)))
def test_the_peak_is_full(series: list[float | None]) -> None:
    assert "█" in sparkline(series, columns=len(series))
