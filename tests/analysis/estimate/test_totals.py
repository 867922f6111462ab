"""Totals of runs: without bias, with intervals, and exact where everything was read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnomon.analysis.estimate.model import Layout, Readings
from gnomon.analysis.estimate.totals import run_totals

Array = NDArray[np.float64]


def _readings(truth: Array, fixed: Array, seed: int = 0) -> Readings:
    """Read one event a tick, each once a rotation in an order drawn anew."""
    rows, events = truth.shape
    random = np.random.default_rng(seed)
    rotations = rows // events + 1
    order = np.concatenate([random.permutation(events) for _ in range(rotations)])[:rows]
    counts = np.full(truth.shape, np.nan)
    counts[np.arange(rows), order] = truth[np.arange(rows), order]
    names = tuple(f"event-{number}" for number in range(events))
    layout = Layout(names, ("clock",), tuple((place,) for place in range(events)))
    ends = np.arange(1, rows + 1) % events == 0
    return Readings(layout, np.full(rows, 0.02), fixed, counts, ends)


def _phases(rows: int, seed: int) -> tuple[Array, Array]:
    """A program with two states that its clock tells, and events that follow them."""
    random = np.random.default_rng(seed)
    state = (np.arange(rows) // 17 % 2).astype(float)
    fixed = (1e6 * (1 + 3 * state) * random.uniform(0.98, 1.02, rows))[:, None]
    means = np.array([100.0, 2000.0, 50.0, 7e5])
    truth = means * (1 + 9 * state[:, None]) * random.uniform(0.9, 1.1, (rows, 4))
    return truth.round(), fixed


def test_what_was_read_in_every_tick_is_exact() -> None:
    truth, fixed = _phases(50, 0)
    readings = _readings(truth, fixed)
    full = Readings(readings.layout, readings.seconds, fixed, truth, readings.ends_rotation)
    totals = run_totals(full)
    assert np.array_equal(totals.mean, truth.sum(axis=0))
    assert np.array_equal(totals.low, totals.high)


def test_totals_are_nearer_than_linear_scaling_and_intervals_hold_them() -> None:
    ours, scaled, held = [], [], []
    for seed in range(12):
        truth, fixed = _phases(240, seed)
        readings = _readings(truth, fixed, seed)
        totals, actual = run_totals(readings), truth.sum(axis=0)
        linear = np.nanmean(readings.counts, axis=0) * len(truth)
        ours += list(abs(totals.mean - actual) / actual)
        scaled += list(abs(linear - actual) / actual)
        held += list((totals.low <= actual) & (actual <= totals.high))
    assert np.median(ours) < 0.5 * np.median(scaled)
    assert np.mean(held) >= 0.85


def test_bursts_do_not_bias_a_total() -> None:
    ratios = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        truth = random.poisson(0.1, (400, 4)) * random.pareto(3.0, (400, 4)).round(3)
        readings = _readings(truth, np.full((400, 1), 1e6), seed)
        ratios.append(run_totals(readings).mean / truth.sum(axis=0))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.08)


def test_what_never_happened_may_have_happened_unseen() -> None:
    truth, fixed = _phases(100, 1)
    truth[:, 2] = 0
    totals = run_totals(_readings(truth, fixed))
    assert totals.mean[2] == totals.low[2] == 0
    assert 0 < totals.high[2] < 20


def test_what_was_never_read_has_no_total() -> None:
    truth, fixed = _phases(3, 1)
    readings = _readings(truth, fixed)
    totals = run_totals(readings)
    assert np.isnan(totals.mean).sum() == 1
    assert np.isnan(run_totals(_readings(truth[:0], fixed[:0])).mean).all()


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 60),
    seed=st.integers(0, 1000),
    size=st.sampled_from([0.0, 1.0, 1e3, 1e15]),
)
def test_totals_are_finite_and_within_their_intervals(rows: int, seed: int, size: float) -> None:
    random = np.random.default_rng(seed)
    truth = (random.exponential(1.0, (rows, 3)) * size).round()
    fixed = random.choice([0.0, 1.0, 1e9], (rows, 1))
    readings = _readings(truth, fixed, seed)
    totals = run_totals(readings)
    read = np.isfinite(readings.counts).any(axis=0)
    assert np.isfinite(totals.mean[read]).all()
    known = np.nansum(readings.counts, axis=0)[read]
    assert (totals.mean[read] >= known * (1 - 1e-12)).all()
    assert (totals.low[read] <= totals.mean[read] * (1 + 1e-12)).all()
    assert (totals.mean[read] <= totals.high[read] * (1 + 1e-12)).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_counter_that_hardly_varied_when_it_was_read_is_no_lever(seed: int) -> None:
    random = np.random.default_rng(seed)
    truth, _ = _phases(400, seed)
    fixed = 1e6 + random.uniform(0, 1e-6, (400, 1))
    readings = _readings(truth, fixed, seed)
    # In a tick in which the first event was not read, the clock leapt.
    fixed[np.flatnonzero(np.isnan(readings.counts[:, 0]))[::40]] *= 3
    totals = run_totals(readings)
    assert totals.mean[0] < 2 * truth[:, 0].sum()
    assert totals.high[0] < 3 * truth[:, 0].sum()


def test_a_burst_that_only_the_clock_saw_is_in_the_total() -> None:
    truth, fixed = _phases(200, 3)
    truth = (fixed * [0.1, 0.02, 0.3, 0.005]).round()
    truth[0] *= 20
    fixed[0] *= 20
    readings = _readings(truth, fixed, 3)
    unread = np.isnan(readings.counts[0])
    totals, actual = run_totals(readings), truth.sum(axis=0)
    assert totals.mean[unread] == pytest.approx(actual[unread], rel=0.01)
