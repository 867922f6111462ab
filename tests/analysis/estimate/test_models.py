"""What every model must do, whatever it is made of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gnomon.analysis.estimate.model import Estimates, Layout, Readings, Tick, causal, strict
from gnomon.analysis.estimate.models import find_model, model_names

from .series import in_turn, program

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array

MODELS = model_names()
FIELDS = ("mean", "deviation", "low", "high")


def _same(one: Estimates, other: Estimates, rows: int) -> bool:
    return all(
        np.array_equal(getattr(one, f)[:rows], getattr(other, f)[:rows], equal_nan=True)
        for f in FIELDS
    )


def _sane(estimates: Estimates) -> None:
    for field in FIELDS:
        values = getattr(estimates, field)
        known = values[~np.isnan(values)]
        assert np.isfinite(known).all(), field
        assert (known >= 0).all(), field
    mean, low, high = estimates.mean, estimates.low, estimates.high
    known = ~np.isnan(mean)
    assert (low[known] <= mean[known] * (1 + 1e-9)).all()
    assert (mean[known] <= high[known] * (1 + 1e-9) + 1e-9).all()


@pytest.mark.parametrize("name", MODELS)
def test_what_was_read_is_what_is_said(name: str) -> None:
    readings = in_turn(*program(60, 4))
    read = np.isfinite(readings.counts)
    for estimates in (causal(find_model(name), readings), find_model(name).smooth(readings)):
        _sane(estimates)
        for field in ("mean", "low", "high"):
            assert np.array_equal(getattr(estimates, field)[read], readings.counts[read])
        assert not estimates.deviation[read].any()


@pytest.mark.parametrize("name", MODELS)
def test_an_altered_future_changes_no_causal_estimate(name: str) -> None:
    readings = in_turn(*program(80, 4))
    other = in_turn(*program(80, 4, seed=9))
    half = 40
    mixed = dataclasses.replace(
        readings,
        fixed=np.concatenate([readings.fixed[:half], other.fixed[half:]]),
        counts=np.concatenate([readings.counts[:half], other.counts[half:]]),
    )
    for rule in (causal, strict):
        assert _same(rule(find_model(name), readings), rule(find_model(name), mixed), half)


@pytest.mark.parametrize("name", MODELS)
def test_bad_values_are_as_if_nothing_was_read(name: str) -> None:
    readings = in_turn(*program(80, 4))
    rows = np.flatnonzero(np.isfinite(readings.counts[:, 1]))
    missing, spoilt = readings.counts.copy(), readings.counts.copy()
    missing[rows[3:5], 1] = np.nan
    spoilt[rows[3:5], 1] = [np.inf, -5.0]
    without = dataclasses.replace(readings, counts=missing)
    bad = dataclasses.replace(readings, counts=spoilt)
    for estimate in (lambda r: causal(find_model(name), r), find_model(name).smooth):
        hurt = estimate(bad)
        _sane(hurt)
        assert _same(hurt, estimate(without), 80)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("broken", [np.nan, np.inf, -1.0, 0.0])
def test_broken_fixed_counters_do_no_lasting_harm(name: str, broken: float) -> None:
    readings = in_turn(*program(80, 4))
    fixed = readings.fixed.copy()
    fixed[20:24] = broken
    readings = dataclasses.replace(readings, fixed=fixed)
    _sane(causal(find_model(name), readings))
    _sane(find_model(name).smooth(readings))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_constant_event_is_known_exactly(name: str, value: float) -> None:
    counts, fixed = program(120, 3)
    counts[:, 1] = value
    readings = in_turn(counts, fixed)
    estimates = causal(find_model(name), readings)
    if not name.startswith("rate-per"):
        assert np.allclose(estimates.mean[12:, 1], value, rtol=1e-6)
    _sane(estimates)


@pytest.mark.parametrize("name", MODELS)
def test_an_event_that_was_never_read_is_not_known(name: str) -> None:
    counts, fixed = program(3, 5)  # more sets than ticks
    readings = in_turn(counts, fixed)
    for estimates in (causal(find_model(name), readings), find_model(name).smooth(readings)):
        for field in FIELDS:
            assert np.isnan(getattr(estimates, field)[:, 3:]).all()
        assert np.isfinite(estimates.mean[:, :3]).all()


@pytest.mark.parametrize("name", MODELS)
def test_one_event_without_fixed_counters(name: str) -> None:
    counts, _ = program(40, 1)
    counts[5] = np.nan  # a tick was missed
    layout = Layout(("only",))
    readings = Readings(layout, np.ones(40), np.empty((40, 0)), counts, np.ones(40, dtype=bool))
    for estimates in (causal(find_model(name), readings), find_model(name).smooth(readings)):
        _sane(estimates)
        assert estimates.mean[5, 0] > 0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_time_that_stands_still_or_runs_backwards(name: str, seconds: float) -> None:
    readings = in_turn(*program(60, 3))
    times = readings.seconds.copy()
    times[30] = seconds
    readings = dataclasses.replace(readings, seconds=times)
    _sane(causal(find_model(name), readings))
    _sane(find_model(name).smooth(readings))


@pytest.mark.parametrize("name", MODELS)
def test_what_is_ahead_has_intervals_that_grow(name: str) -> None:
    readings = in_turn(*program(90, 3))
    filter_ = find_model(name).begin(readings.layout)
    for row in range(len(readings)):
        filter_.push(readings.tick(row))
    ahead = filter_.ahead(4)
    _sane(ahead)
    width: Array = ahead.high - ahead.low
    assert (width[-1] > 0.9 * width[0]).all()  # those of rates shrink with a rate that falls
    assert width[-1].sum() > width[0].sum()


@pytest.mark.parametrize("name", MODELS)
def test_a_run_without_ticks_has_no_estimates(name: str) -> None:
    layout = Layout(("one", "two"), ("cycles",))
    readings = Readings(
        layout, np.empty(0), np.empty((0, 1)), np.empty((0, 2)), np.empty(0, dtype=bool)
    )
    assert find_model(name).smooth(readings).mean.shape == (0, 2)
    assert causal(find_model(name), readings).mean.shape == (0, 2)


@pytest.mark.parametrize("name", MODELS)
def test_more_ticks_than_were_given_cannot_be_asked_for(name: str) -> None:
    filter_ = find_model(name).begin(Layout(("one",)))
    filter_.push(Tick(1.0, np.empty(0), np.array([3.0])))
    with pytest.raises((ValueError, IndexError)):
        filter_.recent(2)
