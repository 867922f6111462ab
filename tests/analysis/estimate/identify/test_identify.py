"""Identification: processes are found again, doubts are said, and what is stored is whole."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.analysis.estimate.identify import (
    close,
    identify,
    identify_series,
    load_parameters,
    store_parameters,
)
from gnomon.analysis.estimate.identify.autocorrelation import simulate
from gnomon.analysis.estimate.identify.store import store_file
from gnomon.analysis.estimate.result import Identification
from gnomon.errors import GnomonError, UsageError

INTERVAL = 0.04


@given(seed=st.integers(0, 10**6), beta=st.floats(2.0, 55.0), ratio=st.floats(0.1, 2.0))
@settings(max_examples=8, deadline=None)
def test_a_process_is_found_again(seed: int, beta: float, ratio: float) -> None:
    random = np.random.default_rng(seed)
    sets = simulate((1e6, ratio * 1e6, beta), INTERVAL, 3000, 10, random)
    found = identify_series(sets, INTERVAL)
    assert found.doubt == ""
    assert found.sigma == pytest.approx(ratio * 1e6, rel=0.1)
    assert found.beta == pytest.approx(beta, rel=0.2)
    assert found.samples == 30_000


def test_closure_scatters_about_the_truth() -> None:
    closure = close((8.7e6, 7.25e6, 40.0), INTERVAL, repeats=5)
    assert closure.sigma == pytest.approx(7.25e6, rel=0.01)
    assert closure.beta == pytest.approx(40.0, rel=0.03)
    assert 0 < closure.beta_error < 3


def test_noise_is_told_from_the_process() -> None:
    random = np.random.default_rng(1)
    sets = simulate((100.0, 10.0, 2.0), INTERVAL, 3000, 10, random)
    noisy = [each + random.normal(0, 5, each.size) for each in sets]
    found = identify_series(noisy, INTERVAL)
    assert found.sigma == pytest.approx(10.0, rel=0.1)
    assert found.beta == pytest.approx(2.0, rel=0.2)
    assert found.noise == pytest.approx(5.0, rel=0.15)


def test_white_noise_is_called_so() -> None:
    found = identify_series([np.random.default_rng(2).normal(5, 1, 3000)], INTERVAL)
    assert "white noise" in found.doubt
    assert found.sigma == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(
    ("series", "doubt"),
    [
        (np.full(500, 3.0), "never changes"),
        (np.zeros(500), "never changes"),
        (np.arange(10.0), "too few"),
        (np.full(200, np.nan), "too few"),
    ],
)
def test_series_that_say_nothing_have_a_doubt(series: object, doubt: str) -> None:
    found = identify_series([np.asarray(series)], INTERVAL)
    assert doubt in found.doubt


def test_gaps_are_left_out() -> None:
    (series,) = simulate((100.0, 10.0, 3.0), INTERVAL, 9000, 1, np.random.default_rng(3))
    series[::50] = np.inf
    found = identify_series([series], INTERVAL)
    assert found.beta == pytest.approx(3.0, rel=0.35)
    assert math.isfinite(found.sigma)


def test_events_that_took_turns_are_as_far_apart_as_their_readings() -> None:
    sets = simulate((100.0, 10.0, 1.0), INTERVAL, 12_000, 2, np.random.default_rng(7))
    for each in sets:
        each[np.arange(each.size) % 4 != 1] = np.nan
    found = identify_series(sets, INTERVAL)
    assert found.beta == pytest.approx(1.0, rel=0.3)
    assert found.samples == 6000


def _identification(tmp: Path) -> Identification:
    del tmp
    random = np.random.default_rng(4)
    sets = simulate((1e10, 2e9, 10.0), INTERVAL, 2000, 2, random)
    return Identification(
        "my machine/1",
        "./a.out",
        INTERVAL,
        {
            "cycles": identify_series(sets, INTERVAL),
            "L1 misses:u": identify_series(sets, INTERVAL),
            "nothing": identify_series([np.zeros(100)], INTERVAL),
        },
    )


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    found = _identification(tmp_path)
    path = store_parameters(found, tmp_path)
    assert path == store_file("my machine/1", "./a.out", tmp_path)
    again = load_parameters("my machine/1", "./a.out", tmp_path)
    assert set(again) == {"cycles", "L1 misses:u"}
    assert again["cycles"].beta == found.events["cycles"].beta
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_storing_again_replaces(tmp_path: Path) -> None:
    found = _identification(tmp_path)
    path = store_parameters(found, tmp_path)
    path.write_text("half of a fil")
    store_parameters(found, tmp_path)
    assert load_parameters("my machine/1", "./a.out", tmp_path)


def test_stores_that_are_missing_or_broken_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing is stored of 'x' on 'y'"):
        load_parameters("y", "x", tmp_path)
    path = store_parameters(_identification(tmp_path), tmp_path)
    text = path.read_text()
    path.write_text(text.replace("sigma = ", "sigma = -"))
    with pytest.raises(GnomonError, match="sigma must be above zero"):
        load_parameters("my machine/1", "./a.out", tmp_path)
    path.write_text(text.replace("beta = ", "beta = 'x' # "))
    with pytest.raises(GnomonError, match="must be a number"):
        load_parameters("my machine/1", "./a.out", tmp_path)


def test_no_recording_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="at least one recording"):
        identify([])
