"""Samples and overflows in the guest: as many as there must be, and no count is lost to them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from .checks import differ_by
from .lane import Lane, Sections

TIMES, PERIOD = 2_500_000, 50_000
LONG_TIMES, LONG_PERIOD = 25_000_000, 5_000_000
REPEATS = 7
PER_ITERATION = 2  # instructions; at one a cycle, as many cycles

COUNTED = {"cycles": "cycles:u", "instructions": "instructions:u"}
LOOP = {"cycles": (TIMES, PERIOD), "instructions": (LONG_TIMES, LONG_PERIOD)}
each_event = pytest.mark.parametrize("event", ["cycles", "instructions"])


@pytest.fixture(scope="module")
def overflows(guest: Lane) -> Sections:
    """What the job ``overflows`` found on one processor."""
    params = {"times": TIMES, "period": PERIOD}
    params |= {"long_times": LONG_TIMES, "long_period": LONG_PERIOD, "repeats": REPEATS}
    return guest.run_sections("overflows", params=params)


@each_event
def test_there_are_as_many_samples_as_periods(overflows: Sections, event: str) -> None:
    found = overflows["samples"][event]
    times, period = LOOP[event]
    assert found["number"] == found["total"] // period == PER_ITERATION * times // period
    assert (found["lost"], found["throttled"]) == (0, 0)


@each_event
def test_samples_are_of_the_loop(overflows: Sections, event: str) -> None:
    found = overflows["samples"][event]
    # The last sample may be of what follows it.
    at_the_loop = sum(number for _, number in found["places"][:2])
    assert at_the_loop >= found["number"] - 1
    (first, _), *rest = found["places"]
    assert all(abs(place - first) == 4 for place, number in rest if number > 1)
    assert found["threads"] == 1


def test_samples_come_at_even_intervals(overflows: Sections) -> None:
    times = overflows["samples"]["cycles"]["times"]
    intervals = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert min(intervals) >= PERIOD
    assert max(intervals) < 2 * PERIOD


@each_event
def test_each_threshold_makes_one_overflow(overflows: Sections, event: str) -> None:
    found_in_both = overflows["overflows"][event]
    for found in (*found_in_both["once"], *found_in_both["twice"]):
        assert found["number"] == found["values"][COUNTED[event]] // LOOP[event][1] > 0
        assert found["events"] == [COUNTED[event]]
        assert found["seen by a timer"] == 0


@each_event
def test_totals_stay_exact_over_many_wraps(overflows: Sections, event: str) -> None:
    """For an overflow the counter starts a threshold below its end and wraps each time."""
    times, period = LOOP[event]
    (once,) = set(overflows["wraps"][event]["once"])
    (twice,) = set(overflows["wraps"][event]["twice"])
    assert twice - once == PER_ITERATION * times
    assert once // period >= 10


@each_event
def test_totals_of_a_set_lose_nothing_to_overflows(overflows: Sections, event: str) -> None:
    once, twice = (overflows["overflows"][event][length] for length in ("once", "twice"))
    for label in ("cycles:u", "instructions:u", "r8:u"):
        length = PER_ITERATION * LOOP[event][0]
        assert differ_by(length, _values(once, label), _values(twice, label))


def test_other_events_of_the_set_lose_nothing(overflows: Sections) -> None:
    plain, overflowing = (overflows["overflows"][kind]["twice"] for kind in ("none", "cycles"))
    for label in ("instructions:u", "r8:u"):
        own = max(_values(overflowing, label)) - min(_values(plain, label))
        # Starting and ending the watch, which does not depend on the number of overflows.
        assert 0 < own < 15_000


def test_without_a_threshold_there_is_no_overflow(overflows: Sections) -> None:
    assert not any(found["number"] for found in overflows["overflows"]["none"]["twice"])


def test_a_handler_is_told_of_every_overflow(overflows: Sections) -> None:
    found = overflows["handled"]
    assert found["number"] == found["values"]["cycles:u"] // PERIOD
    assert found["left"] == 0


def test_an_overflow_that_finds_no_counter_is_refused(overflows: Sections) -> None:
    reason = overflows["no_counter_left"]["exact"]
    assert isinstance(reason, str), "it was counted"
    assert reason.startswith("'cycles:u' did not have a counter all the time")


def test_an_overflow_may_take_turns(overflows: Sections) -> None:
    lines: dict[str, Any] = overflows["no_counter_left"]["taking turns"]
    assert len(lines) == 8
    for line in lines.values():
        assert line["status"] == "scaled"
        assert 0.5 < line["coverage"] < 1
    for event in ("cycles:u", "instructions:u"):
        assert lines[event]["value"] == pytest.approx(PER_ITERATION * LONG_TIMES, rel=0.02)


def _values(runs: list[dict[str, Any]], label: str) -> list[int]:
    return [run["values"][label] for run in runs]
