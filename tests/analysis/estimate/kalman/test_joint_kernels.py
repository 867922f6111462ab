"""The joint kernels are the dense filter; the low-rank one as far as its rank goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.estimate.kalman.dense import Dense, Floats, rauch_tung_striebel

from gnomon import _native


def spread(rng: np.random.Generator, count: int, factors: int = 2) -> tuple[Floats, Floats, Floats]:
    loadings = rng.normal(size=(count, factors))
    own = rng.uniform(0.1, 1.0, count)
    return loadings @ loadings.T + np.diag(own), loadings, own


def model(walks: bool, beta: Floats, c: Floats, dt: float) -> tuple[Floats, Floats]:
    if walks:
        return np.eye(beta.size), c * dt
    e = np.exp(-beta * dt)
    sums = np.add.outer(beta, beta)
    return np.diag(e), -c / sums * np.expm1(-sums * dt)


@pytest.mark.parametrize("walks", [True, False])
@given(seed=st.integers(0, 10**6), count=st.integers(1, 9))
@settings(max_examples=20, deadline=None)
def test_joint_equals_the_dense_filter(walks: bool, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    c, _, _ = spread(rng, count)
    beta, noise = 10 ** rng.uniform(-2, 2, count), rng.uniform(0.001, 0.5, count)
    joint = _native.JointFilter(count, walks)
    joint.describe(beta, c, noise)
    joint.place(np.zeros(count), c)
    twin = Dense(np.zeros(count), c.copy(), list(range(count)), noise)
    for _ in range(20):
        dt = float(10 ** rng.uniform(-3, 0))
        which = rng.permutation(count)[: rng.integers(0, count + 1)]
        z = rng.normal(size=which.size)
        joint.step(dt, which, z)
        twin.predict(*model(walks, beta, c, dt))
        if which.size:
            twin.correct(list(which), z)
    full, values, variances = np.empty((count, count)), np.empty(count), np.empty(count)
    joint.covariance(full)
    joint.show(values, variances)
    np.testing.assert_allclose(full, twin.p, atol=1e-11, rtol=1e-9)
    np.testing.assert_allclose(values, twin.x, atol=1e-10, rtol=1e-9)
    assert (full == full.T).all()
    assert np.linalg.eigvalsh(full).min() > 0


@given(seed=st.integers(0, 10**6), beta=st.sampled_from([0.0, 0.5, 30.0]))
@settings(max_examples=20, deadline=None)
def test_low_rank_equals_the_dense_filter_while_its_rank_suffices(seed: int, beta: float) -> None:
    rng = np.random.default_rng(seed)
    count, factors = 7, 2
    c, loadings, own = spread(rng, count, factors)
    noise = rng.uniform(0.01, 0.5, count)
    low = _native.LowRankFilter(count, factors, count, beta)
    low.describe(loadings, own, noise)
    low.place(np.zeros(count), np.ones(count))
    twin = Dense(np.zeros(count), np.eye(count), list(range(count)), noise)
    for _ in range(15):
        dt = float(rng.uniform(0.01, 0.2))
        which = rng.permutation(count)[:2]
        z = rng.normal(size=2)
        low.step(dt, which, z)
        share = dt if beta == 0 else -np.expm1(-2 * beta * dt)
        twin.predict(np.exp(-beta * dt) * np.eye(count), c * share)
        twin.correct(list(which), z)
    full, values, variances = np.empty((count, count)), np.empty(count), np.empty(count)
    low.covariance(full)
    low.show(values, variances)
    np.testing.assert_allclose(full, twin.p, atol=1e-9, rtol=1e-8)
    np.testing.assert_allclose(values, twin.x, atol=1e-9, rtol=1e-8)
    np.testing.assert_allclose(variances, np.diag(full), rtol=1e-12)


def test_low_rank_of_little_rank_stays_close_and_keeps_variances_honest() -> None:
    rng = np.random.default_rng(1)
    count, factors = 60, 3
    c, loadings, own = spread(rng, count, factors)
    noise = np.full(count, 0.05)
    low = _native.LowRankFilter(count, factors, 12, 0.0)
    low.describe(loadings, own, noise)
    low.place(np.zeros(count), np.ones(count))
    twin = Dense(np.zeros(count), np.eye(count), list(range(count)), noise)
    for tick in range(100):
        which = np.arange(4) + 4 * (tick % 15)
        z = rng.normal(size=4)
        low.step(0.02, which, z)
        twin.predict(np.eye(count), c * 0.02)
        twin.correct(list(which), z)
    values, variances = np.empty(count), np.empty(count)
    low.show(values, variances)
    assert np.sqrt(np.mean((values - twin.x) ** 2 / np.diag(twin.p))) < 0.5
    assert np.all(variances > 0.8 * np.diag(twin.p))
    assert np.all(variances < 1.6 * np.diag(twin.p))


@pytest.mark.parametrize("walks", [True, False])
def test_joint_smoothing_equals_rauch_tung_striebel(walks: bool) -> None:
    rng = np.random.default_rng(2)
    count, ticks = 5, 25
    c, _, _ = spread(rng, count)
    beta, noise = rng.uniform(0.5, 20, count), rng.uniform(0.01, 0.2, count)
    joint = _native.JointFilter(count, walks)
    joint.describe(beta, c, noise)
    joint.place(np.zeros(count), c)
    twin = Dense(np.zeros(count), c.copy(), list(range(count)), noise)
    dts = rng.uniform(0.01, 0.1, ticks)
    read = rng.normal(size=(ticks, count))
    read[rng.random((ticks, count)) < 0.6] = np.nan
    values, variances = np.empty((ticks, count)), np.empty((ticks, count))
    joint.smooth(dts, read, values, variances)
    xs, ps, phis, qs = [], [], [], []
    for t in range(ticks):
        phi, q = model(walks, beta, c, float(dts[t]))
        twin.predict(phi, q)
        which = np.flatnonzero(np.isfinite(read[t]))
        if which.size:
            twin.correct(list(which), read[t, which])
        xs.append(twin.x)
        ps.append(twin.p)
        phis.append(phi)
        qs.append(q)
    smooth_x, smooth_p = rauch_tung_striebel(xs, ps, phis, qs)
    np.testing.assert_allclose(values, np.array(smooth_x), atol=1e-9)
    np.testing.assert_allclose(variances, [np.diag(p) for p in smooth_p], atol=1e-9)


@pytest.mark.parametrize("walks", [True, False])
def test_equals_filterpy(walks: bool) -> None:
    kalman = pytest.importorskip("filterpy.kalman", reason="filterpy is not installed")
    rng = np.random.default_rng(8)
    count = 12
    c, _, _ = spread(rng, count)
    beta, noise, dt = rng.uniform(0.5, 80, count), rng.uniform(0.01, 0.2, count), 0.02
    joint = _native.JointFilter(count, walks)
    joint.describe(beta, c, noise)
    joint.place(np.zeros(count), c)
    peer = kalman.KalmanFilter(dim_x=count, dim_z=2)
    peer.x, peer.P = np.zeros(count), c.copy()
    peer.F, peer.Q = model(walks, beta, c, dt)
    for tick in range(60):
        which = np.array([2 * (tick % 6), 2 * (tick % 6) + 1])
        z = rng.normal(size=2)
        joint.step(dt, which, z)
        peer.predict()
        peer.update(z, np.diag(noise[which]), np.eye(count)[which])
    full, values, variances = np.empty((count, count)), np.empty(count), np.empty(count)
    joint.covariance(full)
    joint.show(values, variances)
    np.testing.assert_allclose(values, peer.x, atol=1e-9)
    np.testing.assert_allclose(full, peer.P, atol=1e-9)


@pytest.mark.parametrize("kind", ["joint", "low-rank"])
def test_bad_readings_do_not_spread(kind: str) -> None:
    rng = np.random.default_rng(0)
    c, loadings, own = spread(rng, 4)
    noise = np.full(4, 0.1)

    def made() -> _native.JointFilter | _native.LowRankFilter:
        if kind == "joint":
            joint = _native.JointFilter(4, True)
            joint.describe(np.zeros(4), c, noise)
            joint.place(np.zeros(4), c)
            return joint
        low = _native.LowRankFilter(4, 2, 4)
        low.describe(loadings, own, noise)
        low.place(np.zeros(4), np.ones(4))
        return low

    one, other = made(), made()
    assert one.step(0.1, np.array([0, 1, 2]), np.array([np.nan, 2.0, np.inf]))
    other.step(0.1, np.array([1]), np.array([2.0]))
    assert not one.step(-1.0, np.array([3]), np.array([np.nan]))
    assert one.invalid == 3
    a, b = np.empty((4, 4)), np.empty((4, 4))
    one.covariance(a)
    other.covariance(b)
    np.testing.assert_array_equal(a, b)


def test_covariance_is_positive_after_many_exact_readings() -> None:
    rng = np.random.default_rng(3)
    count = 12
    c, _, _ = spread(rng, count, 1)
    c = c * 1e-6 + np.ones((count, count))  # almost the same counter twelve times
    joint = _native.JointFilter(count, True)
    joint.describe(np.zeros(count), c, np.full(count, 1e-12))
    joint.place(np.zeros(count), c)
    full = np.empty((count, count))
    for tick in range(20_000):
        joint.step(0.02, np.array([tick % count, (tick + 5) % count]), rng.normal(size=2))
    joint.covariance(full)
    assert np.linalg.eigvalsh(full).min() > -1e-12 * full.max()
    assert (np.diag(full) > 0).all()
