"""The filters that learn are their twins, and the low-rank one is the joint one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.estimate.kalman.dense import Floats
from tests.analysis.estimate.kalman.learners import MEMORY, Led, Walk

from gnomon import _native


def counts(seed: int, ticks: int, count: int) -> tuple[Floats, Floats, Floats]:
    """Lengths, fixed counters and counts of ticks, some of them unread."""
    rng = np.random.default_rng(seed)
    seconds = rng.uniform(0.01, 0.05, ticks)
    level = np.exp(np.cumsum(rng.normal(0, 0.2, ticks)))
    fixed = 1e6 * np.column_stack([level, level * rng.uniform(0.7, 1.3, ticks)])
    read = np.floor(
        level[:, None] * rng.uniform(1e3, 1e5, count) * rng.gamma(9, 0.1, (ticks, count))
    )
    read[rng.random((ticks, count)) < 0.6] = np.nan
    return seconds, fixed, read


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_a_learning_walk_is_its_twin(seed: int) -> None:
    seconds, _, read = counts(seed, 60, 3)
    kernel = _native.AdaptiveBlock("random-walk", 3, "square-root", MEMORY)
    twins = [Walk() for _ in range(3)]
    for dt, row in zip(seconds, read, strict=True):
        kernel.push(float(dt), row)
        for twin, value in zip(twins, row, strict=True):
            twin.push(float(dt), float(value))
    values, variances = np.empty((2, 3))
    kernel.forecast(0.0, values, variances)
    np.testing.assert_allclose(values, [twin.x for twin in twins], rtol=1e-9)
    np.testing.assert_allclose(variances, [twin.p + twin.noise for twin in twins], rtol=1e-8)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_a_led_event_is_its_twin(seed: int) -> None:
    seconds, fixed, read = counts(seed, 40, 1)
    read[-1] = np.nan  # what is compared is an estimate
    kernel = _native.AdaptiveJoint(2, 1, "square-root", MEMORY)
    twin = Led(2)
    anchor, since, expected = kernel.clone(), 0, []
    for tick, dt in enumerate(seconds):
        kernel.push(float(dt), fixed[tick], read[tick])
        twin.push(float(dt), fixed[tick], float(read[tick, 0]))
        expected.append(float(twin.dense.x[-1]))
        if tick == 38:
            anchor, since = kernel.clone(), tick + 1
    trusted = np.empty(1)
    kernel.trusted(trusted)
    values, variances = np.empty((2, 40 - since, 1))
    anchor.smooth(kernel, seconds[since:], fixed[since:], read[since:], values, variances)
    if trusted[0]:
        most = np.sqrt(np.nanmax(read[:, 0] / seconds))
        assert values[-1, 0] == pytest.approx(min(expected[-1], most), rel=1e-4)


@given(seed=st.integers(0, 10**6), count=st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_few_columns_are_enough_for_few_events(seed: int, count: int) -> None:
    seconds, fixed, read = counts(seed, 50, count)
    joint = _native.AdaptiveJoint(2, count, "square-root", MEMORY)
    low = _native.AdaptiveLowRank(2, count, "square-root", MEMORY)
    for tick, dt in enumerate(seconds):
        for each in (joint, low):
            each.push(float(dt), fixed[tick], read[tick])
    found = []
    for each in (joint, low):
        widths, known, trusted, shares = np.empty((4, count))
        each.widths(widths)
        each.known(known)
        each.trusted(trusted)
        each.shares(shares)
        found.append(np.concatenate([widths, known, trusted, shares]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_many_events_take_the_few_columns() -> None:
    seconds, fixed, read = counts(3, 60, 300)
    low = _native.AdaptiveLowRank(2, 300, "square-root", MEMORY)
    start = low.clone()
    for tick, dt in enumerate(seconds):
        low.push(float(dt), fixed[tick], read[tick])
    values, variances = np.empty((2, 60, 300))
    start.smooth(low, seconds, fixed, read, values, variances)
    assert np.isfinite(values).all()
    assert (variances > 0).all()


def test_shapes_are_checked() -> None:
    joint = _native.AdaptiveJoint(2, 3, "square-root", MEMORY)
    with pytest.raises(ValueError, match="one place a counter"):
        joint.push(0.1, np.ones(1), np.ones(3))
    with pytest.raises(ValueError, match="none, square-root or logarithm"):
        _native.AdaptiveBlock("random-walk", 1, "cube-root", MEMORY)
    with pytest.raises(ValueError, match="at least two readings"):
        _native.AdaptiveBlock("random-walk", 1, "none", 0.0)
    block = _native.AdaptiveBlock("gauss-markov", 1, "none", MEMORY)
    with pytest.raises(ValueError, match="sigma must be above zero"):
        block.give(0, 1.0, 0.0, 1.0)


def test_a_gate_refuses_a_wild_reading_and_then_believes_it() -> None:
    rng = np.random.default_rng(5)
    block = _native.AdaptiveBlock("random-walk", 1, "none", MEMORY, 8.0, 1)
    for _ in range(100):
        block.push(1.0, rng.normal(1000, 10, 1))
    block.push(1.0, np.array([1e9]))
    values, variances = np.empty((2, 1))
    block.forecast(0.0, values, variances)
    assert (block.gated, block.reopened) == (1, 0)
    assert values[0] == pytest.approx(1000, rel=0.05)
    block.push(1.0, np.array([1e9]))
    block.forecast(0.0, values, variances)
    assert block.reopened == 1
    assert values[0] == pytest.approx(1e9)
    # The jump is not taken for the way it usually moves.
    for _ in range(5):
        block.push(1.0, rng.normal(1e9, 10, 1))
    block.forecast(0.0, values, variances)
    assert variances[0] < 1e4
