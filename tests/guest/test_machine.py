"""The emulated machine is what the tests of the lane take it for, by a witness of its own."""

from typing import Any

import pytest

from .lane import Lane

TIMES = 1_000_000
LONG = 100_000_000
REPEATS = 7
PER_ITERATION = 2  # instructions


@pytest.fixture(scope="module")
def readings(bare_guest: Lane) -> list[Any]:
    """Loops of two lengths counted by one event, several times, then one counted by many."""
    runs = [{"times": times, "events": 1} for times in (TIMES, 2 * TIMES) for _ in range(REPEATS)]
    runs.append({"times": LONG, "events": 12})
    return bare_guest.run_guest("counting", params={"runs": runs}).results


def test_one_processor_counts_instructions_exactly(readings: list[Any]) -> None:
    (once,) = {value for ((value, _, _),) in readings[:REPEATS]}
    (twice,) = {value for ((value, _, _),) in readings[REPEATS : 2 * REPEATS]}
    assert twice - once == PER_ITERATION * TIMES
    assert 0 < once - PER_ITERATION * TIMES < 20


def test_more_events_than_counters_share_them(readings: list[Any]) -> None:
    assert len(readings[-1]) == 12
    for value, enabled, running in readings[-1]:
        assert 0.4 < running / enabled < 0.7
        assert value * enabled / running == pytest.approx(PER_ITERATION * LONG, rel=0.01)


def test_without_virtual_time_there_are_no_instructions(bare_guest: Lane) -> None:
    params = {"runs": [{"times": 1, "events": 1}]}
    result = bare_guest.run_guest("counting", params=params, icount=None, check=False)
    assert result.exit_status == 1
    assert "No such file or directory" in result.console
