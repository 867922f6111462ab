"""The gate: whether a break stands, or is what noise alone shows as well.

The statistic of a break is how many times smaller the residual sum of squares is with it
than without. Noise alone makes it larger than one, and the more so the longer the noise
remembers: a random walk looks as if it had breaks everywhere. So the statistic is compared
with that of simulated noise of the same length and the same memory, where the memory (the
correlation of neighbours) is taken as long as the data allow.

Such noise hides real steps of a footprint, which jump rather than wander. So a second look asks
less: if the changes from each point to the next came in any other order, would they be as apart?
A ramp before a plateau, or rest after unrest, is; a walk is not, however its steps are distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gnomon import _native
from gnomon.analysis.phases.partitions import PERFECT, Problem, averaged

Floats = NDArray[np.float64]

LEVEL = 0.02
"""A break stands when noise shows one as clear in fewer cases than this."""

_TRIALS = 999
_SHUFFLES = 399
_SEED = 1
_MEMORY_LEVEL = 0.025  # the memory is at its upper confidence bound of this level
_MEMORIES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 1)
_LENGTHS = (6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512)
_LONGEST = _LENGTHS[-1]
_FEWEST_BLOCKS = 12  # on the shorter side of a break, when points are averaged


def p_value(given: Problem, breaks: Sequence[int], number: int, *, line: bool) -> float:
    """Return how often noise would show a break as clear as one of these.

    What is looked at are the two phases beside it. With several series it is enough that
    one of them has a break, and the value is multiplied by their number.
    """
    edges = (0, *breaks, given.x.size)
    first, at, last = edges[number : number + 3]
    values = []
    for row in given.y:
        alone = Problem(given.x, np.ascontiguousarray(row[None]), given.least)
        part, place = _shortened(alone.part(first, last), at - first)
        value = _p_value_of_one(part, place, line)
        values.append(value if value < LEVEL else min(value, _p_value_of_changes(part)))
    return min(1.0, len(values) * min(values))


def _shortened(given: Problem, at: int) -> tuple[Problem, int]:
    """Return a series of a length that can be simulated quickly, and the break in it."""
    points = given.x.size
    if points <= _LONGEST:
        return given, at
    block = -(-points // _LONGEST)
    short = min(at, points - at)
    if short >= _FEWEST_BLOCKS * block:
        return averaged(given, block), at // block
    # A brief phase would vanish in the means: look at its surroundings only.
    keep = _LONGEST - short
    return (given.part(0, at + keep), at) if at == short else (given.part(at - keep, points), keep)


def _p_value_of_one(given: Problem, at: int, line: bool) -> float:
    statistic = _native.segment_trials(given.x, given.y, line, given.least)
    without, best, memory = np.frombuffer(statistic)
    floor = given.floor
    if without <= floor:
        return 1.0  # straight already
    ratio = without / max(best, floor)
    length = max(n for n in _LENGTHS if n <= max(given.x.size, _LENGTHS[0]))
    # The shortest memory that noise of this length would hardly ever hide so well.
    low, high = 0, len(_MEMORIES) - 1
    while low < high:
        middle = (low + high) // 2
        _, shown = _noise(length, _MEMORIES[middle], line, given.least)
        if np.mean(shown <= memory) > _MEMORY_LEVEL:
            low = middle + 1
        else:
            high = middle
    ratios, _ = _noise(length, _MEMORIES[low], line, given.least)
    value = _share_above(ratios, ratio)
    if value < LEVEL:
        # Noise of a program is not normal: single outliers and large steps look like breaks.
        shuffled = _shuffled(given, at, _MEMORIES[low], line)
        value = max(value, _share_above(shuffled, ratio))
    return value


def _share_above(ratios: Floats, ratio: float) -> float:
    return float((1 + np.count_nonzero(ratios >= ratio)) / (1 + len(ratios)))


def _shuffled(given: Problem, at: int, memory: float, line: bool) -> Floats:
    """Return the statistics of noise made of the series' own surprises in random order."""
    rest = given.y[0] - given.y[0].mean()
    if line:
        x = given.x - given.x.mean()
        rest = rest - x * (x @ rest) / (x @ x)
    surprises = rest.copy()
    surprises[1:] -= memory * rest[:-1]
    surprises[0] = surprises[at] = np.median(surprises)  # the latter is the break, not noise
    draw = np.random.default_rng(_SEED)
    mixed = draw.permuted(np.tile(surprises, (_SHUFFLES, 1)), axis=1)
    noise = np.ascontiguousarray(_remembering(mixed.T, memory).T)
    found = np.frombuffer(_native.segment_trials(given.x, noise, line, given.least))
    without, best, _ = found.reshape(-1, 3).T
    floor = max(PERFECT * float(without.max()), 1e-300)
    return np.where(without <= floor, 1.0, without / np.maximum(best, floor))


def _remembering(steps: Floats, memory: float) -> Floats:
    """Return noise in which each value (row) keeps a share of the one before."""
    noise = steps.copy()
    for i in range(1, len(steps)):
        noise[i] += memory * noise[i - 1]
    return noise


@lru_cache(maxsize=128)
def _noise(length: int, memory: float, line: bool, least: int) -> tuple[Floats, Floats]:
    """Return the statistics and the neighbour correlations of simulated noise."""
    least = min(least, length // 2)
    steps = np.random.default_rng(_SEED).normal(size=(length, _TRIALS))
    if memory < 1:
        steps[0] /= np.sqrt(1 - memory**2)
    noise = np.ascontiguousarray(_remembering(steps, memory).T)
    x = np.arange(length, dtype=np.float64)
    found = np.frombuffer(_native.segment_trials(x, noise, line, least))
    without, best, shown = found.reshape(-1, 3).T
    return without / best, shown.copy()


def _p_value_of_changes(given: Problem) -> float:
    """Return how often the changes in another order would fall apart as clearly.

    Asked twice, of how large the changes are and of how much there is of them; so it counts twice.
    """
    changes = np.diff(given.y[0]) / np.diff(given.x)
    if changes.size < 2 * given.least or np.ptp(changes) == 0:
        return 1.0
    orders = np.tile(np.arange(changes.size), (_SHUFFLES, 1))
    orders = np.random.default_rng(_SEED).permuted(orders, axis=1)
    values = []
    for which in (changes, np.abs(changes)):
        ranks = _ranks(which)
        shuffled = _farthest_apart(ranks[orders], given.least)
        values.append(_share_above(shuffled, float(_farthest_apart(ranks[None], given.least)[0])))
    return min(1.0, 2 * min(values))


def _ranks(values: Floats) -> Floats:
    """Return the places in ascending order, those of equal values shared, around zero."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    places = np.cumsum(counts) - (counts - 1) / 2
    ranks: Floats = places[which] - places[which].mean()
    return ranks


def _farthest_apart(ranks: Floats, least: int) -> Floats:
    """Return for each row how far the means before and after the best place are apart."""
    size = ranks.shape[1]
    before = np.arange(1, size)
    apart = np.abs(np.cumsum(ranks, axis=1)[:, :-1]) / np.sqrt(before * (size - before))
    farthest: Floats = np.round(apart[:, least - 1 : size - least], 9).max(axis=1)
    return farthest
