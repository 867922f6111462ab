"""Counters of few bits count in 64, and overflow after exactly as many events as asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.machines.pmu.bank import Virtual64, preset_for

_widths = st.integers(1, 64)


@given(width=_widths, start=st.integers(0, 2**64 - 1), data=st.data())
def test_readings_add_up_to_the_truth_across_any_number_of_wraps(
    width: int, start: int, data: st.DataObject
) -> None:
    steps = data.draw(st.lists(st.integers(0, 2**width - 1), max_size=50))
    counter = Virtual64(width, start)
    truth = 0
    for step in steps:
        truth += step
        assert counter.update((start + truth) % 2**width) == truth
    assert counter.value == truth


@given(width=_widths, reading=st.integers(0, 2**70))
def test_the_same_reading_twice_adds_nothing(width: int, reading: int) -> None:
    counter = Virtual64(width)
    once = counter.update(reading)
    assert counter.update(reading) == once


@given(width=st.integers(1, 40), rounds=st.integers(1, 5), step=st.integers(0, 2**40))
def test_whole_rounds_between_two_readings_cannot_be_seen(
    width: int, rounds: int, step: int
) -> None:
    step %= 2**width
    counter = Virtual64(width)
    assert counter.update(step + rounds * 2**width) == step


def test_counts_go_past_64_bits_without_becoming_inexact() -> None:
    counter = Virtual64(64)
    for i in range(1, 5):
        counter.update(i * (2**64 - 1) % 2**64)
    assert counter.value == 4 * (2**64 - 1)


@pytest.mark.parametrize("width", [0, -1, 65])
def test_a_width_that_makes_no_sense_is_refused(width: int) -> None:
    with pytest.raises(UsageError, match="must have 1 to 64 bits"):
        Virtual64(width)


@given(width=st.integers(1, 16), data=st.data())
def test_a_preset_counter_wraps_with_the_last_event_of_the_threshold(
    width: int, data: st.DataObject
) -> None:
    threshold = data.draw(st.integers(1, 2**width))
    register = preset_for(threshold, width)
    wrapped_after = next(
        events for events in range(1, 2**width + 1) if (register + events) % 2**width == 0
    )
    assert wrapped_after == threshold


@pytest.mark.parametrize("threshold", [1, 1000, 2**32 - 1, 2**32])
def test_the_preset_is_not_one_too_low(threshold: int) -> None:
    """UINT64_MAX - threshold, as has been done, wraps one event late."""
    low_half = (2**64 - 1 - threshold) % 2**32
    assert (low_half + threshold) % 2**32 == 2**32 - 1  # not yet over
    assert (preset_for(threshold, 32) + threshold) % 2**32 == 0


@pytest.mark.parametrize("threshold", [0, -1, 2**32 + 1, 2**40])
def test_a_threshold_beyond_the_counter_is_refused(threshold: int) -> None:
    with pytest.raises(UsageError, match="does not fit a counter of 32 bits"):
        preset_for(threshold, 32)
