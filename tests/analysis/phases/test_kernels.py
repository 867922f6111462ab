"""The kernels agree with least squares over every partition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gnomon import _native

from .twins import Floats, hinge_cost, partition_costs, piece_cost

CASES = 1000


def _case(draw: np.random.Generator, *, fewest: int = 6) -> tuple[Floats, Floats]:
    """Return irregular times, and one or two series: noise, walks, or ramps with noise."""
    points = int(draw.integers(fewest, 13))
    x = np.cumsum(draw.uniform(0.05, 3.0, points))
    y = draw.normal(size=(int(draw.integers(1, 3)), points))
    kind = draw.integers(3)
    if kind == 1:
        y = np.cumsum(y, axis=1)
    elif kind == 2:
        y = np.minimum(x, x[points // 2]) + 0.1 * y
    return x, np.ascontiguousarray(y)


def _agrees(ours: float, twin: float) -> bool:
    return ours == pytest.approx(twin, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("line", [False, True])
def test_the_best_split_is_that_of_brute_force(line: bool) -> None:
    draw = np.random.default_rng(1)
    for _ in range(CASES):
        x, y = _case(draw)
        least = int(draw.integers(1, 4))
        twins = partition_costs(x, y, 2, least, line=line)
        at, where, cost = _native.best_split(x, y, line, least)
        assert _agrees(cost, min(twins.values()))
        assert _agrees(twins[at,], cost)
        assert x[at - 1] < where < x[at]


@pytest.mark.parametrize("line", [False, True])
def test_partitions_are_those_of_brute_force(line: bool) -> None:
    draw = np.random.default_rng(2)
    for _ in range(CASES):
        x, y = _case(draw)
        least = int(draw.integers(1, 4))
        found = _native.partitions(x, y, line, least, 4)
        for pieces, (cost, breaks) in enumerate(found, 1):
            twins = partition_costs(x, y, pieces, least, line=line)
            assert _agrees(cost, min(twins.values()))
            assert _agrees(twins[tuple(breaks)], cost)
        if len(found) < 4:
            assert not partition_costs(x, y, len(found) + 1, least, line=line)


def test_a_hinge_is_nowhere_better_than_where_it_was_found() -> None:
    draw = np.random.default_rng(3)
    for _ in range(CASES):
        x, y = _case(draw)
        at, where, cost = _native.best_hinge(x, y, 2)
        assert x[at - 1] <= where <= x[at]
        assert _agrees(hinge_cost(x, y, where), cost)
        finer = np.concatenate([np.linspace(x[i - 1], x[i], 7) for i in range(2, x.size - 1)])
        assert cost <= min(hinge_cost(x, y, place) for place in finer) * (1 + 1e-8) + 1e-10


@settings(max_examples=200, deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(4, 30), elements=st.floats(-1e6, 1e6)),
    st.booleans(),
)
def test_costs_are_those_of_least_squares(y: Floats, line: bool) -> None:
    x = np.arange(y.size, dtype=np.float64)
    cost = _native.segment_cost(x, y[None], line)
    spread = float(((y - y.mean()) ** 2).sum())
    assert cost == pytest.approx(piece_cost(x, y[None], line=line), rel=1e-6, abs=1e-9 * spread)


def test_profiles_hold_the_best_and_no_room_is_infinite() -> None:
    x, y = _case(np.random.default_rng(4), fewest=10)
    costs = np.frombuffer(_native.split_costs(x, y, True, 3))
    at, _, cost = _native.best_split(x, y, True, 3)
    assert costs.argmin() == at
    assert costs[at] == cost
    assert np.isinf(costs[:3]).all()
    assert np.isinf(costs[x.size - 2 :]).all()
    hinges, where = (np.frombuffer(part) for part in _native.hinge_costs(x, y, 3))
    at, place, cost = _native.best_hinge(x, y, 3)
    assert (int(hinges.argmin()), float(where[at]), float(hinges[at])) == (at, place, cost)


@pytest.mark.parametrize("offset", [1e12, -1e12, 2.0**52])
def test_an_offset_of_whole_numbers_changes_nothing_at_all(offset: float) -> None:
    draw = np.random.default_rng(5)
    y = np.round(np.minimum(np.arange(300.0), 120) * 3 + draw.normal(0, 2, 300))[None]
    x = np.arange(300) * 1e7
    for line in (False, True):
        plain = _native.partitions(x, y, line, 3, 3)
        assert _native.partitions(x, y + offset, line, 3, 3) == plain
    assert _native.best_hinge(x, y + offset, 3) == _native.best_hinge(x, y, 3)


def test_a_small_break_far_out_on_a_large_clock_is_found() -> None:
    """Times of a machine that has been up for years, in ns."""
    x = 1e17 + np.arange(200) * 1e7
    y = 1e12 + np.where(np.arange(200) < 77, 0.0, 4096.0)[None]
    assert _native.best_split(x, y, False, 3)[0] == 77


def test_too_few_points_give_no_split() -> None:
    x, y = np.arange(5.0), np.zeros((1, 5))
    assert _native.best_split(x, y, True, 3)[0] == 0
    assert _native.best_hinge(x, y, 3)[0] == 0
    assert [breaks for _, breaks in _native.partitions(x, y, True, 3, 3)] == [[]]
    assert _native.partitions(x[:2], y[:, :2], True, 3, 3) == []


def test_rows_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        _native.best_split(np.arange(5.0), np.zeros((1, 4)), True, 1)
