"""Two samples of runs, many events at once: do they differ, by how much, what would tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.stats.distributions import (
    log_choose,
    normal_two_sided,
    t_quantile,
    t_two_sided,
)
from gnomon.analysis.stats.methods import Correction, Test

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


# Far out in the tail, where a family of hundreds of events is decided, Welch's t is too bold for
# samples of unequal size, and no t is right for an event that knows two values only. The p-value
# that counts is therefore the largest of the chosen test's, the pooled t's for unequal sizes, and
# an exact one for events with two values.
_LARGEST = 60  # runs a side up to which tables of two values are worked out
_CHANCES = np.linspace(0.005, 0.995, 199)


def guarded(p: Array, a: Array, b: Array) -> Array:
    """Return p-values that hold for few runs, events with two values and unequal samples.

    An event without variation within the samples gets a p-value as well: 1 where they
    agree, and where they differ the most that chance can do with two values.
    """
    result = p.copy()
    if len(a) != len(b):
        result = np.fmax(result, pooled(a, b).p)
    together = np.concatenate([a, b])
    low, high = together.min(0), together.max(0)
    two_valued = ((together == low) | (together == high)).all(0) & (low != high)
    if max(len(a), len(b)) <= _LARGEST and two_valued.any():
        table = _two_value_table(len(a), len(b))
        chosen = np.flatnonzero(two_valued)
        ups_a = (a[:, chosen] == high[chosen]).sum(0)
        ups_b = (b[:, chosen] == high[chosen]).sum(0)
        result[chosen] = np.fmax(result[chosen], table[ups_a, ups_b])
    result[low == high] = 1.0
    return np.asarray(np.where(np.isnan(result), full_split(len(a), len(b)), result))


def full_split(runs_a: int, runs_b: int) -> float:
    """Return the most that two values by chance can do to fall apart into a and b."""
    n = runs_a + runs_b
    return float(2 * (runs_a / n) ** runs_a * (runs_b / n) ** runs_b)


@lru_cache(maxsize=16)
def _two_value_table(runs_a: int, runs_b: int) -> Array:
    """Return the unconditional exact p-value for each number of upper values in a and in b.

    Tables are ordered by the pooled z, and the chance of the upper value is the one that
    makes the p-value largest.
    """
    x, y = np.arange(runs_a + 1), np.arange(runs_b + 1)
    share = (x[:, None] + y[None, :]) / (runs_a + runs_b)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(y / runs_b - (x / runs_a)[:, None]) / np.sqrt(share * (1 - share))
    z: Array = np.round(np.nan_to_num(ratio), 9).astype(np.float64)
    chances_a, chances_b = _binomial(runs_a), _binomial(runs_b)
    weight = chances_a[:, :, None] * chances_b[:, None, :]  # (chance, x, y)
    order = np.argsort(-z, axis=None, kind="stable")
    tail = np.cumsum(weight.reshape(len(_CHANCES), -1)[:, order], axis=1).max(0)
    ordered = z.ravel()[order]
    last = np.searchsorted(-ordered, -ordered, side="right") - 1  # ties belong together
    table = np.empty(order.size)
    table[order] = np.minimum(tail[last], 1.0)
    return table.reshape(z.shape)


def _binomial(runs: int) -> Array:
    k = np.arange(runs + 1)
    chance = _CHANCES[:, None]
    return np.asarray(
        np.exp(log_choose(runs, k) + k * np.log(chance) + (runs - k) * np.log(1 - chance))
    )


RESAMPLES = 2000
FEWEST_TO_RESAMPLE = 5
_BLOCK = 500  # events at a time, which bounds the memory


@dataclass(frozen=True, slots=True)
class Ratios:
    """The ratio b / a of means for each event, NaN without one, between `low` and `high`.

    Where the data do not bound the ratio `low` is 0 and `high` infinite.
    """

    ratio: Array
    low: Array
    high: Array


def ratio_intervals(a: Array, b: Array, level: float = 0.95, seed: int = 0) -> Ratios:
    """Return ratios of means with a symmetric percentile-t bootstrap interval on a log scale.

    The interval is never narrower than Welch's on the same scale, which few runs need;
    below five runs a side, where resamples repeat each other, it is Welch's.
    """
    mean_a, mean_b = a.mean(0), b.mean(0)
    defined = (mean_a > 0) & (mean_b > 0)
    ratio = np.full(mean_a.shape, np.nan)
    ratio[defined] = mean_b[defined] / mean_a[defined]
    low, high = ratio.copy(), ratio.copy()
    if min(len(a), len(b)) < 2:
        low[:], high[:] = np.nan, np.nan
        return Ratios(ratio, low, high)
    for start in range(0, ratio.size, _BLOCK):
        block = np.flatnonzero(defined[start : start + _BLOCK]) + start
        if block.size:
            reach = _reach(a[:, block], b[:, block], level, seed)
            with np.errstate(over="ignore"):
                low[block] = ratio[block] * np.exp(-reach)
                high[block] = ratio[block] * np.exp(reach)
    return Ratios(ratio, low, high)


def _reach(a: Array, b: Array, level: float, seed: int) -> Array:
    """Return how far the interval of the logarithm goes to each side."""
    share_a = _relative_share(a.mean(0), a.var(0, ddof=1), len(a))
    share_b = _relative_share(b.mean(0), b.var(0, ddof=1), len(b))
    error = np.sqrt(share_a + share_b)
    varying = error > 0
    df = np.where(varying, welch_df(share_a, len(a), share_b, len(b)), 1.0)
    factor = t_quantile((1 + level) / 2, df)
    if min(len(a), len(b)) >= FEWEST_TO_RESAMPLE:
        factor = np.maximum(factor, _studentised(a, b, error, level, seed))
    return np.asarray(np.where(varying, factor * np.where(varying, error, 1.0), 0.0))


def _studentised(a: Array, b: Array, error: Array, level: float, seed: int) -> Array:
    """Return the quantile of |T| over resamples; infinite where resamples have no ratio."""
    generator = np.random.default_rng(seed)
    means_a, shares_a = _resampled(a, generator)
    means_b, shares_b = _resampled(b, generator)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.log(means_b / b.mean(0)) - np.log(means_a / a.mean(0))
        t = np.abs(shift / np.sqrt(shares_a + shares_b))
    # A resample in which nothing varies says nothing, one without a ratio anything.
    t[(shares_a + shares_b == 0) & (shift == 0)] = 0.0
    t[~np.isfinite(t)] = np.inf
    rank = min(int(np.ceil(level * (RESAMPLES + 1))), RESAMPLES) - 1
    return np.asarray(np.where(error > 0, np.partition(t, rank, axis=0)[rank], 0.0))


def _resampled(sample: Array, generator: np.random.Generator) -> tuple[Array, Array]:
    """Return means and relative squared errors of resamples x events."""
    runs = len(sample)
    weights = generator.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    mean = sample.mean(0)
    centred = sample - mean
    shift = weights @ centred
    variance = np.maximum(weights @ centred**2 - shift**2, 0.0) * runs / (runs - 1)
    # What rounding leaves of a variance of zero must not pass for one.
    variance[variance < 1e-12 * centred.var(0)] = 0.0
    means = mean + shift
    means[np.abs(means) < 1e-12 * np.abs(sample).max(0)] = 0.0
    return means, _relative_share(means, variance, runs)


def _relative_share(mean: Array, variance: Array, runs: int) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(variance / runs / mean**2)


POWER = 0.8
MOST_RUNS = 1_000_000


def runs_needed(difference: Array, variance_a: Array, variance_b: Array, level: float) -> Array:
    """Return the runs a side that show a difference with a chance of 80 %, at a level.

    The level is that of a single test: for a family of events it is the corrected one.
    NaN where more than a million runs would be needed.
    """
    low = np.full(difference.shape, 2.0)
    high = np.full(difference.shape, float(MOST_RUNS))
    spread = variance_a + variance_b
    seen = _shows(high, difference, spread, level)
    while (high - low > 0.5).any():
        middle = np.floor((low + high) / 2)
        enough = _shows(middle, difference, spread, level)
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    return np.where(seen, high, np.nan)


def _shows(runs: Array, difference: Array, spread: Array, level: float) -> NDArray[np.bool_]:
    df = 2 * (runs - 1)
    needed = t_quantile(1 - level / 2, df) + t_quantile(POWER, df)
    seen = (np.abs(difference) >= needed * np.sqrt(spread / runs)) & (difference != 0)
    return np.asarray(seen, bool)


def corrected(p: Array, correction: Correction = Correction.BH) -> Array:
    """Return q-values for the p-values of a family; NaN stands for a test that was not made."""
    q = np.full(p.shape, np.nan)
    made = np.flatnonzero(~np.isnan(p))
    if made.size:
        q[made] = _ADJUST[correction](p[made])
    return q


def _benjamini_hochberg(p: Array) -> Array:
    order = np.argsort(p)[::-1]
    scaled = p[order] * (p.size / np.arange(p.size, 0, -1))
    return _put_back(np.minimum.accumulate(scaled), order)


def _holm(p: Array) -> Array:
    order = np.argsort(p)
    scaled = p[order] * np.arange(p.size, 0, -1)
    return _put_back(np.maximum.accumulate(scaled), order)


def _bonferroni(p: Array) -> Array:
    return np.minimum(p * p.size, 1.0)


def _none(p: Array) -> Array:
    return p


def _put_back(q: Array, order: NDArray[np.intp]) -> Array:
    result = np.empty_like(q)
    result[order] = np.minimum(q, 1.0)
    return result


_ADJUST = {
    Correction.BH: _benjamini_hochberg,
    Correction.HOLM: _holm,
    Correction.BONFERRONI: _bonferroni,
    Correction.NONE: _none,
}
