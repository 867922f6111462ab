"""How long turns are: short where something is new, as many in a short run as in a long one."""

from __future__ import annotations

import random
from itertools import accumulate, islice, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.measure.turns import Growing, steady


@given(
    st.integers(1, 10**9),
    st.integers(1, 40),
    st.booleans(),
)
def test_turns_never_shrink_in_a_phase_and_never_exceed_the_interval(
    interval: int, sets: int, simulated: bool
) -> None:
    lengths = list(islice(Growing(interval, sets, simulated=simulated), 500))
    assert lengths == sorted(lengths)
    assert 0 < lengths[0] <= lengths[-1] <= interval


@pytest.mark.parametrize("run", [300_000, 3_000_000, 30_000_000])
def test_every_set_comes_many_times_however_short_a_run_is(run: int) -> None:
    sets = 13
    ends = accumulate(Growing(50_000, sets, simulated=True))
    turns = sum(1 for _ in takewhile(lambda end: end <= run, ends))
    assert turns >= 24 * sets


def test_turns_reach_the_interval() -> None:
    lengths = islice(Growing(20_000_000, 5), 2000)
    assert list(lengths)[-1] == 20_000_000


def _run(pace: Growing, rates: list[tuple[int, float]]) -> list[list[int]]:
    """Return the turns in each of these phases: how long they last, and what happens a second."""
    chance = random.Random(1)
    phases, left = [], 0
    for duration, rate in rates:
        turns: list[int] = []
        left += duration
        while left > 0:
            turns.append(next(pace))
            left -= turns[-1]
            count = rate * turns[-1] / 1e9 * chance.uniform(0.8, 1.25)
            pace.note(turns[-1] / 1e9, [count])
        phases.append(turns)
    return phases


@pytest.mark.parametrize("simulated", [True, False])
def test_turns_are_short_again_when_the_program_does_something_new(simulated: bool) -> None:
    unit = 1 if simulated else 1000
    calm, new = _run(
        Growing(200_000 * unit, 10, simulated=simulated),
        [(20_000_000 * unit, 1e9), (1_000_000 * unit, 4e9)],
    )
    assert max(calm) == calm[-1]
    assert new[1] < calm[-1] / 2


def test_a_noisy_rate_is_nothing_new() -> None:
    pace = Growing(1_000_000, 10, simulated=True)
    (turns,) = _run(pace, [(50_000_000, 1e9)])
    assert turns == sorted(turns)


def test_a_program_that_always_does_something_new_does_not_make_turns_without_end() -> None:
    pace, sets = Growing(10**6, 10, simulated=True), 10
    phases = _run(pace, [(20_000, 1e9 if number % 2 else 9e9) for number in range(1000)])
    # The root of 20 ms in units of 100 ns is 447.
    assert sum(map(len, phases)) <= 2 * 447 * sets + 100


def test_counters_that_stand_still_or_are_absent_do_no_harm() -> None:
    pace = Growing(1000, 3, simulated=True)
    pace.note(1e-6, [])
    assert next(pace) == 250
    other = Growing(1000, 3, simulated=True)
    for _ in range(50):
        next(other)
        other.note(1e-6, [0.0, 0.0])
    assert next(other) > 250


def test_an_interval_that_makes_no_sense_is_an_error() -> None:
    with pytest.raises(UsageError, match="must be at least 1"):
        next(steady(0))
    with pytest.raises(UsageError, match="must be at least 1"):
        Growing(0, 3)
