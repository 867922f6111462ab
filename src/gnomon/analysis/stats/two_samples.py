"""Tests whether two samples differ, for every event at once.

Arrays are runs x events. An event whose test cannot be made, for lack of variation, has
NaN as p-value: `unvarying` says what to think of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.stats.distributions import normal_two_sided, t_two_sided
from gnomon.analysis.stats.methods import Test

Array = NDArray[np.float64]

_EXACT_PERMUTATIONS = 20_000
_DRAWN_PERMUTATIONS = 9_999
_EXACT_RANKS = 8  # the smaller sample up to which ranks without ties are counted out


@dataclass(frozen=True, slots=True)
class Tested:
    """A statistic, its degrees of freedom (NaN where it has none) and p-value for each event."""

    statistic: Array
    df: Array
    p: Array


def run_test(test: Test, a: Array, b: Array, seed: int = 0) -> Tested:
    """Test every event; the seed matters to permutations that are too many to try all."""
    match test:
        case Test.WELCH:
            return welch(a, b)
        case Test.POOLED:
            return pooled(a, b)
        case Test.MANN_WHITNEY:
            return mann_whitney(a, b)
        case Test.PERMUTATION:
            return permutation(a, b, seed)


def welch(a: Array, b: Array) -> Tested:
    """Return Welch's t of b - a, which does not assume equal variances."""
    share_a, share_b = a.var(0, ddof=1) / len(a), b.var(0, ddof=1) / len(b)
    variance = share_a + share_b
    return _student(b.mean(0) - a.mean(0), variance, welch_df(share_a, len(a), share_b, len(b)))


def welch_df(share_a: Array, runs_a: int, share_b: Array, runs_b: int) -> Array:
    """Return the degrees of freedom by Welch and Satterthwaite of a sum of two variances."""
    top = np.maximum(share_a, share_b)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Relative to the larger one, since squares of large counts overflow.
        first, second = share_a / top, share_b / top
        df = (first + second) ** 2 / (first**2 / (runs_a - 1) + second**2 / (runs_b - 1))
    return np.asarray(df)


def pooled(a: Array, b: Array) -> Tested:
    """Return Student's t of b - a, which assumes equal variances."""
    df = len(a) + len(b) - 2
    squares = a.var(0, ddof=1) * (len(a) - 1) + b.var(0, ddof=1) * (len(b) - 1)
    variance = squares / df * (1 / len(a) + 1 / len(b))
    return _student(b.mean(0) - a.mean(0), variance, np.full(a.shape[1], float(df)))


def _student(difference: Array, variance: Array, df: Array) -> Tested:
    with np.errstate(invalid="ignore", divide="ignore"):
        t = difference / np.sqrt(variance)
        p = t_two_sided(t, df)
    return Tested(*(np.where(variance > 0, column, np.nan) for column in (t, df, p)))


def mann_whitney(a: Array, b: Array) -> Tested:
    """Return Mann and Whitney's U, the pairs in which b is larger, ties counting a half.

    It is exact for small samples without ties, and a normal approximation with
    corrections for ties and continuity otherwise.
    """
    runs_a, runs_b = len(a), len(b)
    above = (b[:, None, :] > a[None, :, :]).sum((0, 1))
    equal = (b[:, None, :] == a[None, :, :]).sum((0, 1))
    u = above + equal / 2
    together = np.sort(np.concatenate([a, b]), axis=0)
    ties = _tie_term(together)
    n = runs_a + runs_b
    middle = runs_a * runs_b / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        sigma = np.sqrt(runs_a * runs_b / 12 * ((n + 1) - ties / (n * (n - 1))))
        p = normal_two_sided(np.maximum(np.abs(u - middle) - 0.5, 0) / sigma)
    if min(runs_a, runs_b) <= _EXACT_RANKS:
        ways = _rank_ways(runs_a, runs_b)
        tail = np.cumsum(ways / ways.sum())
        exact = np.minimum(2 * tail[np.minimum(u, 2 * middle - u).astype(int)], 1.0)
        p = np.where(ties == 0, exact, p)
    constant = together[0] == together[-1]
    nothing = np.full(u.shape, np.nan)
    return Tested(np.where(constant, np.nan, u), nothing, np.where(constant, np.nan, p))


def _tie_term(ordered: Array) -> Array:
    """Return the sum of t^3 - t over groups of t equal values, for sorted columns."""
    new = np.vstack([np.ones((1, ordered.shape[1]), bool), ordered[1:] != ordered[:-1]])
    group = np.cumsum(new, axis=0) - 1
    sizes = np.zeros(ordered.shape)
    np.add.at(sizes, (group, np.arange(ordered.shape[1])[None, :]), 1.0)
    return np.asarray((sizes**3 - sizes).sum(0))


def _rank_ways(runs_a: int, runs_b: int) -> Array:
    """Return in how many arrangements U takes each of its values."""
    ways = np.zeros(runs_a * runs_b + 1)
    ways[0] = 1
    # The Gaussian binomial coefficient, factor by factor: (1 - q^(b+i)) / (1 - q^i).
    for i in range(1, runs_a + 1):
        step = runs_b + i
        ways[step:] -= ways[:-step].copy() if step <= runs_a * runs_b else 0
        for j in range(i, ways.size):
            ways[j] += ways[j - i]
    return ways


def permutation(a: Array, b: Array, seed: int = 0) -> Tested:
    """Return the difference of means and how often shuffled runs differ at least as much.

    All shuffles are tried where they are at most 20,000, otherwise 9,999 drawn ones.
    """
    together = np.concatenate([a, b])
    together = together - together.mean(0)
    marks = _shuffles(len(a), len(b), seed)
    sums = marks @ together
    seen = b.sum(0) - len(b) * np.concatenate([a, b]).mean(0)
    # Sums in another order differ in their last digits, and equal must count as equal.
    slack = 1e-9 * np.abs(together).sum(0)
    hits = (np.abs(sums) >= np.abs(seen) - slack).sum(0)
    exact = comb(len(together), len(b)) <= _EXACT_PERMUTATIONS
    p = hits / len(marks) if exact else (hits + 1) / (len(marks) + 1)
    constant = (together == together[0]).all(0)
    difference = np.where(constant, np.nan, b.mean(0) - a.mean(0))
    nothing = np.full(difference.shape, np.nan)
    return Tested(difference, nothing, np.where(constant, np.nan, p))


def _shuffles(runs_a: int, runs_b: int, seed: int) -> Array:
    """Return a row for each shuffle, with 1 for the runs that it gives to b."""
    n = runs_a + runs_b
    if comb(n, runs_b) <= _EXACT_PERMUTATIONS:
        marks = np.zeros((comb(n, runs_b), n))
        for row, chosen in enumerate(combinations(range(n), runs_b)):
            marks[row, chosen] = 1
        return marks
    generator = np.random.default_rng(seed)
    marks = np.tile(np.r_[np.zeros(runs_a), np.ones(runs_b)], (_DRAWN_PERMUTATIONS, 1))
    return generator.permuted(marks, axis=1)
