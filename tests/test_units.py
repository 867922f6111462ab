"""How numbers are written: units, digits from intervals, one scale per column, ticks of axes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon import units


@pytest.mark.parametrize(
    ("value", "unit", "within", "text"),
    [
        (4044, "", None, "4,044"),
        (3_980_000_000, "", None, "3,980,000,000"),
        (12.5, "", None, "12.50"),
        (0.25, "", None, "0.25"),
        (912e6, "ns", (877e6, 947e6), "912 ms"),
        (912e6, "ns", (911.9e6, 912.1e6), "912.00 ms"),
        (10_987_654_321, "ns", None, "10.99 s"),
        (999_990, "ns", None, "1.000 ms"),
        (10e6, "ns", None, "10 ms"),
        (0.0, "ns", None, "0"),
        (64 * 2**20, "B", None, "64 MiB"),
        (2.5e9, "B/s", None, "2.5 GB/s"),
        (1.5, "cycles/instruction", None, "1.5 cycles/instruction"),
        (0.144, "%", None, "14 %"),
        (0.003, "%", None, "<1 %"),
        (0.999, "%", None, ">99 %"),
        (0.0, "%", None, "0 %"),
        (1.0, "%", None, "100 %"),
        (0.144, "%", (0.12, 0.168), "14.4 %"),
        (0.2857, "x", None, "3.5× less"),
        (3.5, "x", None, "3.5× more"),
        (0.82, "x", None, "−18 %"),
        (1.0, "x", None, "0 %"),
        (0.0, "x", None, "−100 %"),
        (0.053, "±", None, "± 5.3 %"),
        (-0.451, "r", None, "−0.45"),
        (1e-12, "p", None, "<1e-9"),
        (2.5e9, "CPUs", None, "2.5 CPUs"),
        (None, "ns", None, "–"),
        (math.nan, "ns", None, "–"),
        (math.inf, "ns", None, "∞"),
        ("a word", "ns", None, "a word"),
    ],
)
def test_a_number_is_written_as_its_unit_and_its_interval_allow(
    value: float | str | None, unit: str, within: tuple[float, float] | None, text: str
) -> None:
    assert units.number(value, unit, within=within) == text


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (2.7e9, 9.8e9, "ns", "2.7 to 9.8 s"),
        (5.0, 5.0, "", "5"),
        (1e6, math.inf, "ns", "1 to ∞ ms"),
        (0.2, 0.5, "x", "2× to 5× less"),
        (0.9, 1.1, "x", "−10 to +10 %"),
        (0.12, 0.168, "%", "12.0 to 16.8 %"),
    ],
)
def test_an_interval_has_one_scale_and_one_place(
    low: float, high: float, unit: str, text: str
) -> None:
    assert units.interval(low, high, unit) == text


def test_an_even_interval_is_written_as_plus_minus_and_an_uneven_one_by_its_ends() -> None:
    assert units.with_interval(912e6, 877e6, 947e6, "ns") == "912 ± 35 ms"
    assert units.with_interval(2.11e9, 1.9e9, 2.8e9, "ns") == "2.11 s (1.90 to 2.80 s)"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (28_600, "", "28.6 k"),
        (5001, "", "5,001"),
        (3.98e9, "", "3.98 G"),
        (999_900, "", "1.00 M"),
        (14.5e9, "ns", "14.5 s"),
        (81.5e6, "B", "77.7 MiB"),
        (0.104, "%", "10 %"),
    ],
)
def test_a_number_in_a_sentence_has_three_digits(value: float, unit: str, text: str) -> None:
    assert units.brief(value, unit) == text


def test_a_column_has_one_scale_which_its_heading_names() -> None:
    scale = units.Scale.of([1.5e6, 250e6, 20_000], "ns")
    assert scale is not None and scale.name == "ms"
    assert [units.number(v, "ns", scale=scale) for v in (1.5e6, 250e6, 20_000)] == [
        "1.5",
        "250.0",
        "0.0",
    ]
    assert units.Scale.of([1, 2], "") is None


@pytest.mark.parametrize(
    ("low", "high", "unit", "log", "labels"),
    [
        (0, 14.5e9, "ns", 0, ["0", "5 s", "10 s"]),
        (0, 150e9, "ns", 0, ["0", "30 s", "1 min", "1.5 min", "2 min", "2.5 min"]),
        (0, 1, "%", 0, ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        (0, 100e6, "B", 0, ["0", "32 MiB", "64 MiB"]),
        (0, 30_000, "", 0, ["0", "10 k", "20 k", "30 k"]),
        (-5, 5, "", 0, ["−4", "−2", "0", "2", "4"]),
        (1024, 2**26, "B", 2, ["4 KiB", "32 KiB", "256 KiB", "2 MiB", "16 MiB"]),
        (2, 9, "ns", 10, ["2 ns", "5 ns"]),
        (0.1, 2, "x", 10, ["1/10", "same"]),
    ],
)
def test_ticks_are_round_in_the_unit_of_the_axis(
    low: float, high: float, unit: str, log: int, labels: list[str]
) -> None:
    found = units.ticks(low, high, unit, log=log)
    assert [units.tick(value, unit, log=log) for value in found] == labels


@given(
    value=st.floats(allow_nan=True, allow_infinity=True),
    half=st.floats(min_value=0, max_value=1e300),
    unit=st.sampled_from([*units.UNITS, "furlongs"]),
)
def test_every_number_has_a_text(value: float, half: float, unit: str) -> None:
    assert units.number(value, unit)
    assert units.brief(value, unit)
    assert units.number(value, unit, within=(value - half, value + half))
    assert units.interval(value - half, value + half, unit)


@given(low=st.floats(-1e12, 1e12), high=st.floats(-1e12, 1e12), log=st.sampled_from([0, 2, 10]))
def test_ticks_lie_within_their_axis(low: float, high: float, log: int) -> None:
    found = units.ticks(low, high, "ns", log=log)
    slack = 1e-6 * max(abs(low), abs(high))
    assert len(found) < 60
    if high > low:
        assert all(low - slack <= value <= high + slack for value in found)
