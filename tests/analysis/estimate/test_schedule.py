"""Orders: what is read next, and that nothing waits for ever."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.analysis.estimate.model import Layout, Tick
from gnomon.analysis.estimate.schedule import ORDERS, Chosen, Order, find_order
from gnomon.errors import UsageError

EVENTS = 6
LAYOUT = Layout(
    tuple("abcdef"), ("instructions", "cycles"), tuple((place,) for place in range(EVENTS))
)


def _run(
    order: Order, ticks: int, restless: int | None = None, layout: Layout = LAYOUT
) -> list[int]:
    """Let an order choose; one event jumps about, the others stay as they are."""
    random = np.random.default_rng(7)
    chosen = []
    for _ in range(ticks):
        number = order.choose()
        counts = np.full(len(layout), np.nan)
        for place in layout.sets[number]:
            counts[place] = random.exponential(1000.0) if place == restless else 1000.0
        fixed = 1e6 * (1 + 0.1 * random.random(len(layout.fixed)))
        order.note(Tick(0.02, fixed, counts))
        chosen.append(number)
    return chosen


@pytest.mark.parametrize("name", ORDERS)
def test_every_set_is_read_first_of_all(name: str) -> None:
    assert sorted(_run(find_order(name, LAYOUT), EVENTS)) == list(range(EVENTS))


def test_round_robin_keeps_its_order_and_shuffled_changes_it() -> None:
    assert _run(find_order("round-robin", LAYOUT), 12) == [*range(6), *range(6)]
    chosen = _run(find_order("shuffled", LAYOUT), 60)
    rotations = [tuple(chosen[at : at + 6]) for at in range(0, 60, 6)]
    assert all(sorted(rotation) == list(range(6)) for rotation in rotations)
    assert len(set(rotations)) > 5


@pytest.mark.parametrize("name", ORDERS)
def test_the_same_seed_chooses_the_same(name: str) -> None:
    first, second = (_run(find_order(name, LAYOUT, seed=5), 40, 2) for _ in range(2))
    assert first == second


def test_a_restless_event_is_read_more_often() -> None:
    chosen = _run(find_order("chosen", LAYOUT), 600, restless=2)
    shares = np.bincount(chosen, minlength=EVENTS) / len(chosen)
    assert shares[2] > 1.15 / EVENTS
    assert shares[2] == shares.max()


def test_a_reading_that_surprises_is_soon_followed_by_another() -> None:
    waits = []
    for seed in range(20):
        order = find_order("chosen", LAYOUT, seed=seed)
        _run(order, 100)
        for after in range(-1, 30):
            number = order.choose()
            counts = np.full(EVENTS, np.nan)
            counts[number] = 1e6 if after < 0 else 1000.0
            order.note(Tick(0.02, np.full(2, 1e6), counts))
            if after < 0:
                surprising = number
            elif number == surprising:
                waits.append(after)
                break
    assert np.mean(waits) < EVENTS / 2


def test_no_set_waits_for_more_than_three_rotations() -> None:
    weights = {"a": 1000.0}
    chosen = np.array(_run(find_order("chosen", LAYOUT, weights=weights), 900, restless=0))
    assert np.mean(chosen == 0) > 0.4
    for number in range(EVENTS):
        gaps = np.diff(np.flatnonzero(chosen == number))
        # Several may be late at once, and only one is read at a time.
        assert gaps.max() <= Chosen.LONGEST * EVENTS + EVENTS


def test_a_set_of_weight_zero_is_read_all_the_same() -> None:
    chosen = _run(find_order("chosen", LAYOUT, weights={"f": 0.0}), 200)
    assert 0 < chosen.count(5) < chosen.count(0)


def test_without_fixed_counters_and_with_events_that_are_always_read() -> None:
    layout = Layout(("free", "a", "b", "c"), (), ((0, 1), (0, 2), (0, 3)))
    chosen = _run(find_order("chosen", layout), 200, restless=2, layout=layout)
    assert chosen.count(1) > chosen.count(0) > 20


def test_readings_that_failed_do_not_stop_it() -> None:
    order = find_order("chosen", LAYOUT)
    for _ in range(50):
        order.choose()
        order.note(Tick(0.02, np.zeros(2), np.full(EVENTS, np.nan)))
    assert 0 <= order.choose() < EVENTS


def test_an_order_or_a_weight_that_is_none_is_an_error() -> None:
    with pytest.raises(UsageError, match="no order 'best'"):
        find_order("best", LAYOUT)
    with pytest.raises(UsageError, match="'z' takes no turns"):
        find_order("chosen", LAYOUT, weights={"z": 1.0})


def test_a_choice_says_what_it_was_made_of() -> None:
    order = find_order("chosen", LAYOUT, weights={"c": 5.0})
    random = np.random.default_rng(0)
    rules = set()
    for _ in range(80):
        chosen = order.choose()
        why = order.why(chosen)
        rules.add(why.rule)
        if why.rule == "worth most":
            assert why.event == LAYOUT.events[chosen]
            assert why.weight == (5.0 if chosen == 2 else 1.0)
            assert why.waited is not None
            assert why.waited >= 0
            assert why.distance is not None
            assert why.distance >= 0
        read = np.full(EVENTS, np.nan)
        read[chosen] = random.uniform(10, 20)
        order.note(Tick(1.0, random.uniform(1e6, 2e6, 2), read))
    assert {"never read before", "worth most"} <= rules
    assert find_order("round-robin", LAYOUT).why(0).rule == "its turn"
