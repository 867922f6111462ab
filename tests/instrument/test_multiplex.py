"""Events that take turns: the share that was seen, what it scales to, and how far to trust it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from gnomon.events.event import Request
from gnomon.instrument import counts
from gnomon.instrument.counts import TurnTaking
from gnomon.instrument.eventset import EventSet
from gnomon.recording.contents import Status
from gnomon.sources.base import Thread

from .machine import NAMES, Machine, Rate

ALL = ",".join(NAMES)


@pytest.mark.parametrize(("counters", "coverage"), [(1, 0.25), (2, 0.5), (4, 1.0)])
def test_each_event_is_seen_for_its_share_of_the_time(counters: int, coverage: float) -> None:
    machine = Machine(counters=counters)
    with EventSet(ALL, on=machine, multiplex=True) as events:
        events.start()
        machine.run(400)
        events.stop()
        for name, count in events.details().items():
            assert count.coverage == coverage
            assert count.value == machine.happened[name]  # steady: scaling is exact
            assert count.status is (Status.COUNTED if coverage == 1 else Status.SCALED)


def test_without_turns_to_take_there_is_no_error() -> None:
    machine = Machine(counters=4)
    with EventSet(ALL, on=machine, multiplex=True) as events:
        events.start()
        machine.run(10)
        assert {count.error for count in events.details().values()} == {0.0}


def test_an_event_that_had_no_turn_yet_is_missing_and_not_zero() -> None:
    machine = Machine(counters=1)
    with EventSet(ALL, on=machine, multiplex=True) as events:
        events.start()
        machine.run(1)
        seen, *unseen = events.details().values()
        assert (seen.value, seen.coverage) == (1, 1.0)
        for count in unseen:
            assert (count.value, count.coverage, count.error) == (None, 0.0, None)
            assert count.status is Status.NOT_COUNTED


def test_with_too_few_looks_the_error_is_unknown() -> None:
    machine = Machine(counters=2)
    with EventSet(ALL, on=machine, multiplex=True) as events:
        events.start()
        machine.run(8)
        events.stop()
        assert {count.error for count in events.details().values()} == {None}


def test_after_a_reset_only_what_came_after_it_counts() -> None:
    """The rate falls: what was seen before the reset must not be extrapolated beyond it."""
    machine = Machine(counters=2, rate=lambda name, number: 1000 if number < 100 else 3)
    with EventSet(ALL, on=machine, multiplex=True) as events:
        events.start()
        machine.run(101)  # an odd number: not all events have had the same turns
        events.reset()
        assert set(events.read().values()) <= {0, None}
        machine.run(200)
        for count in events.details().values():
            assert count.value == 200 * 3
            assert count.coverage == 0.5


def test_after_a_reset_an_event_without_a_turn_is_missing_again() -> None:
    machine = Machine(counters=1)
    with EventSet("alpha,beta", on=machine, multiplex=True) as events:
        events.start()
        machine.run(4)
        events.reset()
        machine.run(1)
        details = events.details()
        assert details["alpha"].value == 1
        assert (details["beta"].value, details["beta"].status) == (None, Status.NOT_COUNTED)


def test_a_thread_looks_at_the_turns_while_they_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "_PERIOD", 0.0001)
    generator = np.random.default_rng(1)
    noise = generator.poisson(1000, size=100_000)
    machine = Machine(counters=2, rate=lambda name, number: int(noise[number]))
    with EventSet(ALL, on=machine, multiplex=True) as events:
        events.start()
        looks = threading.Event()
        for _ in range(2000):
            machine.run(2)
            looks.wait(0.0001)
            if all(count.error for count in events.details().values()):
                break
        events.stop()
        for name, count in events.details().items():
            assert count.value is not None and count.error is not None
            assert 0 < count.error < count.value
            assert abs(count.value - machine.happened[name]) < 6 * count.error


def _scores(rate: Rate, slices: int, between: int) -> NDArray[np.float64]:
    """Return by how many of its errors each of four estimates is off."""
    machine = Machine(counters=2, rate=rate, width=48)
    requests = [Request(event) for name in NAMES for event in machine.resolve(name)]
    with machine.open([(request,) for request in requests], Thread()) as counting:
        counting.start()
        turns = TurnTaking(counting)
        for _ in range(slices // between):
            machine.run(between)
            turns.look()
        scores = []
        for reading in counting.stop().readings:
            assert reading.value is not None
            estimate = reading.value * reading.enabled / reading.running
            error = turns.error(reading.event, reading.enabled, reading.running)
            assert error is not None
            scores.append((estimate - machine.happened[reading.event]) / error)
    return np.asarray(scores)


@pytest.mark.parametrize("between", [1, 4, 10])
def test_the_error_covers_the_truth_as_often_as_it_claims(between: int) -> None:
    generator = np.random.default_rng(7)
    scores = []
    for _ in range(60):
        amounts = generator.gamma(2.0, 500.0, size=(4, 400)).astype(int)

        def rate(name: str, number: int, amounts: NDArray[np.int64] = amounts) -> int:
            return int(amounts[NAMES.index(name), number])

        scores.append(_scores(rate, 400, between))
    found = np.abs(np.concatenate(scores))
    # Two standard errors cover 95 % of a normal variable; 240 estimates are counted here.
    assert np.mean(found <= 2) > 0.91
    assert 0.8 < np.sqrt(np.mean(found**2)) < 1.2


def test_slow_changes_are_not_underestimated() -> None:
    """A load that comes and goes is seen by all events, so that the error is on the safe side."""
    scores = _scores(lambda name, number: 1000 if number % 200 < 100 else 10, 2000, 10)
    assert np.max(np.abs(scores)) < 1


def test_a_load_in_step_with_the_turns_shows_in_the_values_and_not_in_the_error() -> None:
    """No estimate can know what happens only when nobody looks: this is why sets are exact."""
    machine = Machine(counters=1, rate=lambda name, number: 100 * (number % 2))
    with EventSet("alpha,beta", on=machine, multiplex=True) as events:
        events.start()
        machine.run(100)
        assert events.stop() == {"alpha": 0, "beta": 2 * machine.happened["beta"]}
