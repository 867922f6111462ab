"""The parts of the model: chain, queues, imbalance, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.messaging.cluster_model import (
    Exchange,
    ModelError,
    Overheads,
    Queue,
    Saturation,
    communicator_chain,
    expected_maximum,
    isomorphic_chain,
    response_time,
    solve,
)
from gnomon_studies.parker.states import play

TIMES = st.floats(1, 1e6)


def test_chain_agrees_with_cores_played_out_at_random() -> None:
    law = Saturation()
    chain = communicator_chain(3, 11777, 10124, 768, 7208, law.speed)
    played = play(3, 11777, 10124, 768, 7208, law.speed, seed=1)
    for exact, found in zip(
        chain.without + chain.beside, played.without + played.beside, strict=True
    ):
        assert found == pytest.approx(exact, rel=0.02 if exact < 0.01 else 0.01)


@given(st.integers(1, 8), TIMES, TIMES, TIMES, TIMES)
def test_chain_is_balanced(
    threads: int, run: float, stall: float, handle: float, gap: float
) -> None:
    speed = Saturation().speed
    found = communicator_chain(threads, run, stall, handle, gap, speed)
    assert sum(found.without) + sum(found.beside) == pytest.approx(1)
    for i in range(threads):
        up = found.without[i] * (threads - i) / stall
        down = found.without[i + 1] * (i + 1) * speed(i + 1) / run
        assert up == pytest.approx(down, rel=1e-9, abs=1e-300)
        begins = found.without[i] / gap
        ends = found.beside[i] * speed(i + 1) / handle
        assert begins == pytest.approx(ends, rel=1e-9, abs=1e-300)


def test_chain_of_like_threads_without_sharing_is_binomial() -> None:
    assert isomorphic_chain(2, 100, 100, lambda _: 1.0) == pytest.approx([0.25, 0.5, 0.25])


@pytest.mark.parametrize(
    ("nodes", "value"),
    [(8, 1.4236), (32, 2.0697), (64, 2.3437), (256, 2.8269), (512, 3.0439), (10000, 3.8516)],
)
def test_expected_maximum(nodes: int, value: float) -> None:
    assert expected_maximum(nodes) == pytest.approx(value, rel=0.001)


def test_expected_maximum_of_one_is_the_mean_and_of_drawn_values_what_it_says() -> None:
    assert expected_maximum(1) == pytest.approx(0, abs=1e-12)
    drawn = np.random.default_rng(3).standard_normal((40_000, 32)).max(1)
    assert drawn.mean() == pytest.approx(expected_maximum(32), rel=0.005)


@given(st.floats(0.01, 0.95), st.floats(1, 1e5))
def test_a_bounded_queue_with_much_room_is_unbounded(load: float, service: float) -> None:
    arrivals = load / service
    assert response_time(arrivals, service, 4000) == pytest.approx(
        response_time(arrivals, service), rel=1e-6
    )


def test_queue_at_full_load() -> None:
    assert response_time(1.0, 1.0) == math.inf
    assert response_time(1.0, 1.0, 3) == pytest.approx(1.5 / (1 - 0.25))


@given(
    st.floats(0, 1e6), st.floats(1, 1e5), st.floats(0, 1e6), st.floats(0, 1e5), st.integers(1, 8)
)
def test_a_solution_satisfies_its_equations(
    run: float, handle: float, latency: float, occupancy: float, threads: int
) -> None:
    if run + latency <= 0:
        return
    found = solve(Exchange(run, handle, latency, occupancy), threads)
    service = max(handle / found.handler_speed, occupancy)
    answer = latency + response_time(threads / found.cycle, service)
    assert found.wait == pytest.approx(answer, rel=1e-5)
    assert 0 <= found.load <= 1 + 1e-9


@given(st.floats(0, 5000), st.floats(0, 5000))
def test_more_overhead_never_helps(less: float, more: float) -> None:
    exchange = Exchange(12_000, 800, 4_000, 3_000)
    low, high = sorted((less, more))
    cycles = [
        solve(Overheads(notification=each).added_to(exchange), 3).cycle for each in (low, high)
    ]
    assert cycles[0] <= cycles[1] * (1 + 1e-9)


def test_a_bounded_queue_loses_those_that_find_no_room() -> None:
    busy = Exchange(run=100, handle=900, latency=100)
    bounded = solve(busy, 4, queue=Queue.BOUNDED, room=4)
    assert bounded.cycle < solve(busy, 4).cycle


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((-1, 1, 1), "run time"),
        ((1, math.nan, 1), "handle time"),
        ((1, 0, 1), "nobody handles"),
        ((0, 1, 0), "needs time"),
    ],
)
def test_times_that_make_no_sense(times: tuple[float, float, float], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Exchange(*times)


def test_no_threads_and_no_room() -> None:
    exchange = Exchange(1, 1, 1)
    with pytest.raises(ModelError, match="at least 1"):
        solve(exchange, 0)
    with pytest.raises(ModelError, match="room"):
        solve(exchange, 2, queue=Queue.BOUNDED)
