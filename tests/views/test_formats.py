"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.units import format_duration, format_si, parse_count, parse_duration, parse_size


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (1000, "1 k"), (999_960, "1 M"), (2.5e9, "2.5 G"), (7e12, "7 T")],
)
def test_rates_have_a_prefix(value: float, text: str) -> None:
    assert format_si(value) == text


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1ns", 1),
        ("250us", 250_000),
        ("250µs", 250_000),
        ("10ms", 10_000_000),
        ("0.5s", 500_000_000),
        (".5s", 500_000_000),
        ("2m", 120_000_000_000),
        (" 10 ms ", 10_000_000),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["", "10", "ms", "1h30", "-5ms", "1e3s", "0s", "0.1ns", "10 Ms"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_duration(text)


@given(st.integers(1, 10**14))
def test_a_printed_duration_reads_back_as_about_the_same(nanoseconds: int) -> None:
    text = format_duration(nanoseconds).replace("min", "m")
    assert parse_duration(text) == pytest.approx(nanoseconds, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("64B", 64),
        ("64kB", 64_000),
        ("64KB", 64_000),
        ("64KiB", 65_536),
        ("1.5MB", 1_500_000),
        ("2 GiB", 2**31),
        ("1TiB", 2**40),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "count"), [("65536", 65_536), ("10k", 10_000), ("64Ki", 65_536), ("1.5M", 1_500_000)]
)
def test_counts_may_have_a_prefix(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "B", "-1", "1e6", "64mB", "64XB", "0.5", "1.0001kB", "1,5MB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["", "k", "-1", "10kB", "1.5", "x"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="number"):
        parse_count(text)
