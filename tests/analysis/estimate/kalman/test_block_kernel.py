"""The block kernel is the dense filter, and survives what no filter should be given."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.estimate.kalman.dense import (
    Dense,
    Floats,
    blocks,
    integrated_model,
    rauch_tung_striebel,
    van_loan,
)

from gnomon import _native

KINDS = ("random-walk", "gauss-markov", "integrated")
RNG = np.random.default_rng(3)


def parameters(seed: int, count: int) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)
    return {
        "mean": rng.uniform(-1e6, 1e6, count),
        "scale": 10 ** rng.uniform(0, 7, count),
        "beta": 10 ** rng.uniform(-2, 2.5, count),
        "noise": rng.uniform(0.01, 1.0, count),  # in units of scale^2, scaled below
    }


def pair(kind: str, seed: int, count: int) -> tuple[_native.BlockFilter, Dense, dict[str, Floats]]:
    """A block filter and its twin, in the same state."""
    given_ = parameters(seed, count)
    scale = given_["scale"]
    noise = given_["noise"] * scale**2
    everyone = np.arange(count)
    block = _native.BlockFilter(kind, count)
    block.describe(everyone, given_["mean"], scale, given_["beta"], noise)
    start = given_["mean"] + scale
    block.place(everyone, start, scale**2, 0 * scale, scale**2)
    if kind == "integrated":
        x = np.column_stack([start, 0 * scale]).ravel()
        twin = Dense(x, np.diag(np.repeat(scale**2, 2)), [2 * i for i in range(count)], noise)
    else:
        twin = Dense(start - given_["mean"], np.diag(scale**2), list(range(count)), noise)
        if kind == "random-walk":
            twin.x = start.copy()
    return block, twin, given_


def transition(kind: str, given_: dict[str, Floats], dt: float) -> tuple[Floats, Floats]:
    scale, beta = given_["scale"], given_["beta"]
    if kind == "integrated":
        parts = [integrated_model(b, s, dt) for b, s in zip(beta, scale, strict=True)]
        return blocks([p[0] for p in parts]), blocks([p[1] for p in parts])
    if kind == "gauss-markov":
        e = np.exp(-beta * dt)
        return np.diag(e), np.diag(scale**2 * -np.expm1(-2 * beta * dt))
    return np.eye(scale.size), np.diag(scale**2 * beta * dt)


def shown(f: _native.BlockFilter) -> tuple[Floats, Floats]:
    values, variances = np.empty(len(f)), np.empty(len(f))
    f.show(values, variances)
    return values, variances


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_equals_the_dense_filter(kind: str, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    block, twin, given_ = pair(kind, seed, count)
    offset = given_["mean"] if kind == "gauss-markov" else np.zeros(count)
    for _ in range(25):
        dt = float(10 ** rng.uniform(-3, 0))
        which = np.sort(rng.choice(count, rng.integers(0, count + 1), replace=False))
        z = (given_["mean"] + given_["scale"] * rng.normal(size=count))[which]
        assert block.step(dt, which, z)
        twin.predict(*transition(kind, given_, dt))
        if which.size:
            twin.correct(list(which), z - offset[which])
    values, variances = shown(block)
    size = np.abs(given_["mean"]) + given_["scale"]
    assert np.all(np.abs(values - (twin.values + offset)) <= 1e-9 * size)
    np.testing.assert_allclose(variances, twin.variances, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_smoothing_equals_rauch_tung_striebel(kind: str) -> None:
    count, ticks = 4, 30
    block, twin, given_ = pair(kind, 5, count)
    offset = given_["mean"] if kind == "gauss-markov" else np.zeros(count)
    dts = RNG.uniform(0.01, 0.1, ticks)
    read = given_["mean"] + given_["scale"] * RNG.normal(size=(ticks, count))
    read[RNG.random((ticks, count)) < 0.6] = np.nan
    values, variances = np.empty((ticks, count)), np.empty((ticks, count))
    block.smooth(dts, read, values, variances)
    xs, ps, phis, qs = [], [], [], []
    for t in range(ticks):
        phi, q = transition(kind, given_, float(dts[t]))
        twin.predict(phi, q)
        which = np.flatnonzero(np.isfinite(read[t]))
        if which.size:
            twin.correct(list(which), read[t, which] - offset[which])
        xs.append(twin.x)
        ps.append(twin.p)
        phis.append(phi)
        qs.append(q)
    smooth_x, smooth_p = rauch_tung_striebel(xs, ps, phis, qs)
    for t in range(ticks):
        np.testing.assert_allclose(
            values[t], smooth_x[t][twin.pick] + offset, atol=1e-6 * given_["scale"].max(), rtol=1e-7
        )
        np.testing.assert_allclose(variances[t], np.diag(smooth_p[t])[twin.pick], rtol=1e-6)


@pytest.mark.parametrize("beta_dt", [1e-18, 1e-12, 1e-9, 1e-6, 1e-3, 0.06, 0.08, 1.0, 30.0, 800.0])
def test_integrated_noise_does_not_cancel(beta_dt: float) -> None:
    dt = 0.02
    block = _native.BlockFilter("integrated", 1)
    one, zero = np.ones(1), np.zeros(1)
    beta = beta_dt / dt
    block.describe(np.zeros(1, dtype=np.int64), zero, one, np.array([beta]), zero)
    block.place(np.zeros(1, dtype=np.int64), zero, zero, zero, zero)
    block.predict(dt)
    with localcontext() as context:
        context.prec = 100
        b, t = Decimal(beta), Decimal(dt)
        e = (-b * t).exp()
        a = (1 - e) / b
        q11 = 2 / b * (t - 2 * a + (1 - e**2) / (2 * b))
        q12 = 2 * (a - (1 - e**2) / (2 * b))
        q22 = 1 - e**2
    np.testing.assert_allclose(block.block(0)[2:], [float(q11), float(q12), float(q22)], rtol=2e-12)


@pytest.mark.parametrize("beta", [0.3, 5.0, 40.0, 150.0])
def test_the_corrected_noise_is_van_loans(beta: float) -> None:
    dt = 0.04
    phi, q = integrated_model(beta, 1.0, dt)
    f = np.array([[0.0, 1.0], [0.0, -beta]])
    expected = van_loan(f, np.diag([0.0, 2 * beta]), dt)
    np.testing.assert_allclose(phi, expected[0], atol=1e-12)
    np.testing.assert_allclose(q, expected[1], rtol=1e-9, atol=1e-14)


def test_forecast_is_prediction_that_changes_nothing() -> None:
    block, _, _ = pair("integrated", 9, 5)
    before = [block.block(i) for i in range(5)]
    values, variances = np.empty(5), np.empty(5)
    block.forecast(0.3, values, variances)
    assert [block.block(i) for i in range(5)] == before
    block.predict(0.1)
    block.predict(0.2)
    later = shown(block)
    np.testing.assert_allclose(values, later[0], rtol=1e-12)
    np.testing.assert_allclose(variances, later[1], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_bad_readings_and_times_touch_nothing_else(kind: str, bad: float) -> None:
    block, _, _ = pair(kind, 1, 3)
    clean, _, _ = pair(kind, 1, 3)
    assert not block.predict(bad)
    assert not block.predict(0.0)
    assert not block.predict(-0.02)
    block.correct(np.array([0, 1]), np.array([bad, 2.0]))
    clean.correct(np.array([1]), np.array([2.0]))
    assert block.invalid == 1
    assert [block.block(i) for i in range(3)] == [clean.block(i) for i in range(3)]


def test_gate_refuses_one_wild_reading_and_follows_a_change() -> None:
    block = _native.BlockFilter("gauss-markov", 1, 5.0, 1)
    at, one, zero = np.zeros(1, dtype=np.int64), np.ones(1), np.zeros(1)
    block.describe(at, zero, one, one, np.array([0.01]))
    block.place(at, zero, one, zero, zero)
    block.step(0.1, at, np.array([1000.0]))
    assert block.refused == 1
    assert abs(shown(block)[0][0]) < 1
    block.step(0.1, at, np.array([1001.0]))
    assert block.reopened == 1
    assert shown(block)[0][0] == pytest.approx(1001, rel=1e-4)


def test_variances_stay_positive_when_readings_are_exact() -> None:
    block = _native.BlockFilter("integrated", 2)
    at, zero = np.arange(2), np.zeros(2)
    block.describe(at, zero, np.array([1e-6, 1e9]), np.array([1e-6, 1e4]), zero)
    for tick in range(2000):
        block.step(1e-6 if tick % 3 else 10.0, at[: tick % 3], zero[: tick % 3] + tick)
        for i in at:
            _, _, p11, p12, p22 = block.block(int(i))
            assert p11 >= 0
            assert p22 >= 0
            assert p11 * p22 >= p12 * p12 * (1 - 1e-9)


@pytest.mark.slow
def test_a_million_ticks_keep_every_block_positive() -> None:
    block, _, given_ = pair("integrated", 4, 6)
    sets = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    for tick in range(1_000_000):
        which = sets[tick % 3]
        block.step(0.02, which, given_["mean"][which] + (tick % 7) * given_["scale"][which])
    for i in range(6):
        level, slope, p11, p12, p22 = block.block(i)
        assert np.isfinite([level, slope]).all()
        assert p11 > 0
        assert p22 > 0
        assert p11 * p22 > p12 * p12


def test_parameters_that_mean_nothing_are_refused() -> None:
    block = _native.BlockFilter("gauss-markov", 2)
    at = np.zeros(1, dtype=np.int64)
    good = np.ones(1)
    for scale, beta in ((0.0, 1.0), (math.nan, 1.0), (1.0, -1.0), (1.0, math.inf)):
        with pytest.raises(ValueError, match="scale must be above zero"):
            block.describe(at, good, np.array([scale]), np.array([beta]), good)
    with pytest.raises(ValueError, match="no counter of that number"):
        block.correct(np.array([2]), good)
    with pytest.raises(ValueError, match="random-walk, gauss-markov or integrated"):
        _native.BlockFilter("brownian", 1)
