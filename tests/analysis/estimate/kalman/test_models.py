"""Kalman models behind the common interface: honest, causal, robust, and better than holding."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.estimate.kalman.dense import Floats

from gnomon.analysis.estimate.kalman import MODELS, BlockKalman, JointKalman
from gnomon.analysis.estimate.kalman.blocks import Parameters
from gnomon.analysis.estimate.kalman.showing import Transform
from gnomon.analysis.estimate.model import Estimates, Layout, Model, Readings, causal, strict

BY_NAME = {model.name: model for model in MODELS}
EVERY = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
DATA = Path(__file__).resolve().parents[5] / "shared" / "data" / "counters"


def rotating(truth: Floats, fixed: Floats | None = None, seconds: float = 0.02) -> Readings:
    """What one event a tick in turn would have read."""
    ticks, count = truth.shape
    turn = np.arange(count)[None, :] == (np.arange(ticks) % count)[:, None]
    fixed = np.empty((ticks, 0)) if fixed is None else fixed
    return Readings(
        Layout(
            tuple(f"e{i}" for i in range(count)),
            tuple(f"f{i}" for i in range(fixed.shape[1])),
            tuple((i,) for i in range(count)),
        ),
        np.full(ticks, seconds),
        fixed,
        np.where(turn, truth, np.nan),
        np.arange(ticks) % count == count - 1,
    )


def phases(seed: int = 0, ticks: int = 240, count: int = 4) -> tuple[Floats, Floats]:
    """Events that go with two fixed counters, in noise; and the fixed counters."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.uniform(1, 10, ticks // 12 + 1), 12)[:ticks]
    fixed = 1e6 * np.column_stack([level, level * rng.uniform(0.9, 1.1, ticks)])
    share = rng.uniform(0.01, 0.2, count)
    truth = fixed[:, :1] * share * rng.gamma(6400, 1 / 6400, (ticks, count))
    return np.floor(truth), np.floor(fixed)


def held(readings: Readings) -> Floats:
    values, last = np.zeros(readings.counts.shape), np.zeros(readings.counts.shape[1])
    for tick, row in enumerate(readings.counts):
        last = np.where(np.isfinite(row), row, last)
        values[tick] = last
    return values


def sane(estimates: Estimates, readings: Readings) -> None:
    arrays = (estimates.mean, estimates.deviation, estimates.low, estimates.high)
    for each in arrays:
        assert each.shape == readings.counts.shape
        known = each[~np.isnan(each)]  # the rest was never read
        assert np.isfinite(known).all()
        assert (known >= 0).all()
    assert not (estimates.low > estimates.mean).any()
    assert not (estimates.mean > estimates.high).any()
    read = np.isfinite(readings.counts) & (readings.counts >= 0)
    np.testing.assert_array_equal(estimates.mean[read], readings.counts[read])
    assert (estimates.deviation[read] == 0).all()


@EVERY
@pytest.mark.parametrize("way", ["strict", "causal", "smoothed", "calibrated"])
def test_estimates_are_counts_and_readings_stand_for_themselves(model: Model, way: str) -> None:
    truth, fixed = phases()
    readings = rotating(truth, fixed)
    if way == "smoothed":
        estimates = model.smooth(readings)
    elif way == "calibrated":
        full = replace(readings, counts=truth)
        estimates = causal(model, readings, full)
    else:
        estimates = (strict if way == "strict" else causal)(model, readings)
    sane(estimates, readings)


@EVERY
def test_the_future_changes_no_causal_estimate(model: Model) -> None:
    truth, fixed = phases()
    other, other_fixed = phases(seed=9)
    changed = np.concatenate([truth[:120], other[120:]])
    changed_fixed = np.concatenate([fixed[:120], other_fixed[120:]])
    one = causal(model, rotating(truth, fixed)).mean[:120]
    two = causal(model, rotating(changed, changed_fixed)).mean[:120]
    np.testing.assert_array_equal(one, two)


@EVERY
def test_bad_readings_do_not_reach_other_events(model: Model) -> None:
    truth, fixed = phases()
    clean = rotating(truth, fixed)
    counts = clean.counts.copy()
    bad = np.flatnonzero(np.isfinite(counts[:, 1]))
    counts[bad[3::4], 1] = np.nan
    missing = replace(clean, counts=counts)
    dirty = counts.copy()
    dirty[bad[3::12], 1] = np.inf
    dirty[bad[7::12], 1] = -5.0
    broken = replace(clean, counts=dirty)
    found = causal(model, broken)
    np.testing.assert_array_equal(found.mean, causal(model, missing).mean)
    assert np.isfinite(found.high).all()


@EVERY
def test_time_that_stands_still_or_goes_back_is_survived(model: Model) -> None:
    truth, fixed = phases()
    readings = rotating(truth, fixed)
    seconds = readings.seconds.copy()
    seconds[[0, 50, 51, 90]] = [0.0, -1.0, np.nan, np.inf]
    estimates = causal(model, replace(readings, seconds=seconds))
    assert np.isfinite(estimates.mean[12:]).all()
    assert (estimates.mean[12:] >= 0).all()


@EVERY
def test_constant_and_empty_events_are_no_trouble(model: Model) -> None:
    truth = np.column_stack([np.full(100, 1e9), np.zeros(100), np.full(100, 7.0)])
    readings = rotating(truth)
    estimates = causal(model, readings)
    sane(estimates, readings)
    np.testing.assert_allclose(estimates.mean[10:], truth[10:], rtol=1e-6, atol=1e-9)


@EVERY
def test_one_event_and_more_sets_than_ticks(model: Model) -> None:
    alone = rotating(np.arange(40.0)[:, None])
    sane(causal(model, alone), alone)
    truth = np.random.default_rng(1).uniform(1, 9, (20, 50))
    many = rotating(truth)
    sane(causal(model, many), many)


@EVERY
def test_intervals_grow_with_the_way_ahead(model: Model) -> None:
    truth, fixed = phases()
    readings = rotating(truth, fixed)
    filter_ = model.begin(readings.layout)
    for row in range(100):
        filter_.push(readings.tick(row))
    ahead = filter_.ahead(6)
    width = ahead.high - ahead.low
    assert len(ahead) == 6
    assert (np.diff(width, axis=0) >= -1e-6 * width[:-1]).all()
    assert (ahead.mean >= 0).all()


def test_the_joint_model_reads_the_fixed_counters() -> None:
    truth, fixed = phases(ticks=600)
    readings = rotating(truth, fixed)
    unread = ~np.isfinite(readings.counts)
    unread[:40] = False

    def error(model: Model) -> float:
        return float(np.abs(causal(model, readings).mean - truth)[unread].mean())

    assert error(BY_NAME["joint-random-walk"]) < 0.5 * error(BY_NAME["random-walk"])


def test_a_wild_fixed_counter_is_not_trusted() -> None:
    rng = np.random.default_rng(4)
    truth = rng.gamma(100, 10, (400, 3))
    readings = rotating(truth, rng.uniform(1, 1e9, (400, 2)))
    joint, alone = (causal(BY_NAME[n], readings) for n in ("joint-random-walk", "random-walk"))
    unread = ~np.isfinite(readings.counts)
    ratio = np.abs(joint.mean - truth)[unread].mean() / np.abs(alone.mean - truth)[unread].mean()
    assert ratio < 1.1


def test_smoothing_beats_filtering_and_filtering_beats_holding() -> None:
    rng = np.random.default_rng(2)
    level = 1e6 + np.cumsum(rng.normal(0, 2e4, (600, 3)), axis=0)
    truth = np.maximum(level, 1.0)
    noisy = np.maximum(truth + rng.normal(0, 1e5, truth.shape), 0.0)
    readings = rotating(noisy)
    unread = ~np.isfinite(readings.counts)
    unread[:60] = False
    model = BY_NAME["random-walk"]
    errors = [
        float(np.abs(values - truth)[unread].mean())
        for values in (
            model.smooth(readings).mean,
            strict(model, readings).mean,
            held(readings),
        )
    ]
    assert errors[0] < errors[1] < errors[2]


def test_intervals_cover_about_nine_of_ten_unread_ticks() -> None:
    rng = np.random.default_rng(3)
    truth = np.maximum(1e5 + np.cumsum(rng.normal(0, 2e3, (900, 3)), axis=0), 0.0)
    readings = rotating(truth)
    estimates = causal(BY_NAME["random-walk"], readings)
    unread = ~np.isfinite(readings.counts)
    unread[:60] = False
    inside = (truth >= estimates.low) & (truth <= estimates.high)
    assert 0.85 < inside[unread].mean() < 0.97


def test_given_parameters_are_used() -> None:
    truth = np.random.default_rng(5).gamma(4, 25, (90, 2))
    readings = rotating(truth, seconds=0.04)
    given = {"e0": Parameters(2500.0, 1250.0, 1e6)}
    model = BlockKalman("given", "gauss-markov", parameters=given)
    filter_ = model.begin(readings.layout)
    for row in range(90):
        filter_.push(readings.tick(row))
    # A process that forgets at once is at its mean in the next tick.
    assert filter_.ahead(1).mean[0, 0] == pytest.approx(100.0, rel=1e-6)


@pytest.mark.parametrize("transform", list(Transform))
def test_bias_correction_gives_the_mean(transform: Transform) -> None:
    rng = np.random.default_rng(6)
    values, variances = np.array([3.0]), np.array([0.04])
    drawn = transform.back(values + np.sqrt(variances) * rng.standard_normal(400_000))
    assert transform.expected(values, variances)[0] == pytest.approx(drawn.mean(), rel=2e-3)
    assert transform.deviation(values, variances)[0] == pytest.approx(drawn.std(), rel=2e-2)
    rates = np.array([0.0, 1.0, 1e9])
    np.testing.assert_allclose(transform.back(transform.forward(rates)), rates, rtol=1e-9)


def test_unbiased_models_show_more() -> None:
    truth, fixed = phases()
    readings = rotating(truth, fixed)
    plain = causal(JointKalman(), readings).mean
    unbiased = causal(JointKalman(unbiased=True), readings).mean
    assert (unbiased >= plain).all()
    assert unbiased.sum() > plain.sum()


def _series(folder: str, most: int) -> list[tuple[Floats, Floats]]:
    found = []
    for path in sorted((DATA / folder).glob("*.csv"))[::9]:
        with path.open() as stream:
            names, *lines = list(csv.reader(stream))
        table = np.array(lines, dtype=float)[5 : most + 5]
        if len(table) < 295:
            continue
        fixed = [names.index(name) for name in ("instructions", "cycles")]
        others = [
            at
            for at, name in enumerate(names)
            if at not in fixed
            and name not in ("wall_cycles", "llc_size")
            and (table[:, at] != 0).mean() > 0.9
        ]
        found.append((table[:, others], table[:, fixed]))
    return found


@pytest.mark.skipif(not DATA.is_dir(), reason="the counter series are not here")
@pytest.mark.parametrize(
    ("folder", "name", "most"),
    [
        ("corun-2socket", "gauss-markov", 0.8),
        ("corun-2socket", "joint-random-walk", 0.63),
        ("swapper-2socket", "joint-random-walk", 0.75),
    ],
)
def test_models_beat_hold_on_real_counters(folder: str, name: str, most: float) -> None:
    ratios = []
    for truth, fixed in _series(folder, 800):
        readings = rotating(truth, fixed, seconds=1.0)
        unread = ~np.isfinite(readings.counts)
        estimates = causal(BY_NAME[name], readings).mean
        apart = [
            np.where(unread, np.abs(values - truth), 0.0).sum(axis=0)
            for values in (estimates, held(readings))
        ]
        ratios += list(apart[0] / apart[1])
    assert np.exp(np.mean(np.log(ratios))) < most
