"""Tests of two samples against scipy's, and corrections against obvious twins."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from gnomon.analysis.stats.methods import Correction, Test
from gnomon.analysis.stats.two_samples import (
    corrected,
    full_split,
    guarded,
    mann_whitney,
    permutation,
    pooled,
    run_test,
    welch,
)

Array = NDArray[np.float64]
EVENTS = 12


def _samples(runs_a: int, runs_b: int, *, rounded: bool = False) -> tuple[Array, Array]:
    generator = np.random.default_rng(runs_a * 100 + runs_b)
    scale = np.logspace(0, 12, EVENTS)
    a = generator.normal(10, 1, (runs_a, EVENTS)) * scale
    b = generator.normal(10.7, 2, (runs_b, EVENTS)) * scale
    return (np.round(a / scale), np.round(b / scale)) if rounded else (a, b)


@pytest.mark.parametrize(("runs_a", "runs_b"), [(2, 2), (5, 5), (3, 11), (20, 7)])
@pytest.mark.parametrize("equal", [False, True])
def test_t_tests_agree_with_scipy(runs_a: int, runs_b: int, equal: bool) -> None:
    a, b = _samples(runs_a, runs_b)
    ours = pooled(a, b) if equal else welch(a, b)
    theirs = stats.ttest_ind(b, a, equal_var=equal)
    np.testing.assert_allclose(ours.statistic, theirs.statistic, rtol=1e-12)
    np.testing.assert_allclose(ours.p, theirs.pvalue, rtol=1e-9)
    np.testing.assert_allclose(ours.df, theirs.df, rtol=1e-12)


def test_a_t_far_out_keeps_its_digits() -> None:
    a = np.array([[0.0], [1e-6], [-1e-6], [2e-6], [0.0], [1e-6]])
    ours, theirs = welch(a, a + 1e3), stats.ttest_ind(a + 1e3, a, equal_var=False)
    assert 0 < ours.p[0] < 1e-30
    np.testing.assert_allclose(ours.p, theirs.pvalue, rtol=1e-6)


@pytest.mark.parametrize(("runs_a", "runs_b"), [(3, 3), (5, 5), (8, 12), (9, 10), (30, 25)])
@pytest.mark.parametrize("rounded", [False, True])
def test_mann_whitney_agrees_with_scipy(runs_a: int, runs_b: int, rounded: bool) -> None:
    a, b = _samples(runs_a, runs_b, rounded=rounded)
    ours = mann_whitney(a, b)
    theirs = [stats.mannwhitneyu(b[:, i], a[:, i]) for i in range(EVENTS)]
    np.testing.assert_allclose(ours.statistic, [t.statistic for t in theirs])
    np.testing.assert_allclose(ours.p, [t.pvalue for t in theirs], rtol=1e-9)


def test_permutations_are_all_tried_where_they_are_few() -> None:
    a, b = _samples(4, 5)
    ours = permutation(a, b)
    for event in range(EVENTS):
        together = np.concatenate([a[:, event], b[:, event]])
        seen = abs(b[:, event].mean() - a[:, event].mean())
        shuffled = []
        for chosen in combinations(range(9), 5):
            rest = [i for i in range(9) if i not in chosen]
            shuffled.append(abs(together[list(chosen)].mean() - together[rest].mean()))
        share = np.mean(np.array(shuffled) >= seen * (1 - 1e-9))
        assert ours.p[event] == pytest.approx(share)


def test_many_permutations_are_drawn_the_same_way_every_time() -> None:
    a, b = _samples(12, 12)
    first, again = permutation(a, b, seed=3), permutation(a, b, seed=3)
    np.testing.assert_array_equal(first.p, again.p)
    exact = stats.ttest_ind(b, a).pvalue
    np.testing.assert_allclose(first.p, exact, atol=0.03)


@pytest.mark.parametrize("test", Test)
def test_an_event_without_variation_has_no_p_value_but_a_judgement(test: Test) -> None:
    a, b = np.full((5, 2), 7.0), np.column_stack([np.full(5, 7.0), np.full(5, 8.0)])
    result = run_test(test, a, b)
    assert np.isnan(result.p[0])
    judged = guarded(result.p, a, b)
    assert judged[0] == 1.0
    assert judged[1] == pytest.approx(max(full_split(5, 5), np.nan_to_num(result.p[1])))


@pytest.mark.parametrize(("ups_a", "ups_b"), [(0, 5), (1, 5), (0, 4), (2, 3)])
def test_an_event_with_two_values_is_judged_by_barnards_exact_test(ups_a: int, ups_b: int) -> None:
    a = np.array([[1e6 + (i < ups_a)] for i in range(5)])
    b = np.array([[1e6 + (i < ups_b)] for i in range(5)])
    table = [[ups_a, ups_b], [5 - ups_a, 5 - ups_b]]
    exact = stats.barnard_exact(table).pvalue
    assert guarded(np.array([0.0]), a, b)[0] == pytest.approx(exact, rel=0.01)


def test_samples_of_unequal_size_must_pass_the_pooled_test_as_well() -> None:
    a, b = _samples(4, 16)
    judged = guarded(welch(a, b).p, a, b)
    np.testing.assert_array_equal(judged, np.maximum(welch(a, b).p, pooled(a, b).p))


_CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(_CHANCES)
def test_benjamini_hochberg_is_the_least_level_that_lets_an_event_through(p: list[float]) -> None:
    q = corrected(np.array(p))
    for i, mine in enumerate(p):
        levels = []
        for other in p:
            if other >= mine:
                rank = sum(x <= other for x in p)
                levels.append(other * len(p) / rank)
        assert q[i] == pytest.approx(min(1.0, *levels), rel=1e-12, abs=1e-300)


@given(_CHANCES)
def test_holm_lies_between_the_p_values_and_bonferroni(p: list[float]) -> None:
    chances = np.array(p)
    holm = corrected(chances, Correction.HOLM)
    bonferroni = corrected(chances, Correction.BONFERRONI)
    assert (holm >= chances - 1e-15).all()
    assert (holm <= bonferroni + 1e-15).all()
    ordered = sorted(range(len(p)), key=lambda i: p[i])
    running = 0.0
    for rank, i in enumerate(ordered):
        running = max(running, p[i] * (len(p) - rank))
        assert holm[i] == pytest.approx(min(1.0, running))


def test_what_was_not_tested_does_not_count_in_the_family() -> None:
    q = corrected(np.array([0.01, np.nan, 0.04]))
    np.testing.assert_allclose(q, [0.02, np.nan, 0.04])
