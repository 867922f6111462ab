"""Metrics over estimates: values, deviations, intervals, and what must never come out."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.analysis.estimate.model import Estimates
from gnomon.analysis.estimate.propagation import bounds_of, formula_estimates
from gnomon.events.formula import Formula
from gnomon.events.metrics import load_metrics

RATIO = Formula.parse("misses / accesses")
HITS = Formula.parse("1 - misses / accesses")


def estimates(means: list[list[float]], deviations: list[list[float]]) -> Estimates:
    mean, deviation = np.array(means), np.array(deviations)
    return Estimates(mean, deviation, np.maximum(mean - 1.645 * deviation, 0), mean + deviation)


def test_certain_counts_give_a_certain_ratio() -> None:
    found = formula_estimates(RATIO, estimates([[10, 40]], [[0, 0]]), ("misses", "accesses"))
    assert found.mean[0, 0] == 0.25
    assert found.deviation[0, 0] == 0
    assert found.low[0, 0] == found.high[0, 0] == 0.25


def test_small_deviations_propagate_by_the_tangent() -> None:
    found = formula_estimates(RATIO, estimates([[100, 400]], [[5, 8]]), ("misses", "accesses"))
    expected = 0.25 * np.hypot(5 / 100, 8 / 400)
    assert found.deviation[0, 0] == pytest.approx(expected, rel=1e-6)


def test_large_deviations_cover_as_they_should() -> None:
    random = np.random.default_rng(1)
    rows = 2000
    truth = random.gamma(4, 25, (rows, 2))
    guess = np.full((rows, 2), 100.0)
    found = formula_estimates(
        RATIO, estimates(guess.tolist(), np.full((rows, 2), 50.0).tolist()), ("misses", "accesses")
    )
    ratio = truth[:, 0] / truth[:, 1]
    inside = np.mean((ratio >= found.low[:, 0]) & (ratio <= found.high[:, 0]))
    assert 0.86 < inside < 0.94


def test_hit_rates_stay_between_0_and_1() -> None:
    wild = estimates([[500, 10], [0, 5], [3, 0.1]], [[900, 30], [2, 9], [1, 1]])
    found = formula_estimates(HITS, wild, ("misses", "accesses"), bounds=(0.0, 1.0))
    for each in (found.mean, found.low, found.high):
        assert ((each >= 0) & (each <= 1)).all()
    assert (found.deviation <= 0.5).all()


def test_no_accesses_have_no_hit_rate() -> None:
    found = formula_estimates(HITS, estimates([[0, 0]], [[0, 0]]), ("misses", "accesses"))
    assert np.isnan(found.mean[0, 0])


def test_constants_may_change_from_tick_to_tick() -> None:
    formula = Formula.parse("misses * 32 / time")
    found = formula_estimates(
        formula,
        estimates([[10.0], [10.0]], [[0.0], [0.0]]),
        ("misses",),
        {"time": np.array([0.5, 1.0])},
    )
    assert found.mean[:, 0].tolist() == [640.0, 320.0]


def test_shares_are_bounded_and_other_metrics_are_not_negative() -> None:
    table = load_metrics()
    assert bounds_of(table["l1d_miss_rate"]) == (0.0, 100.0)
    assert bounds_of(table["cpu_utilisation"]) == (0.0, None)
    assert bounds_of(table["ipc"]) == (0.0, None)
