"""The best partitions of series into one, two, ... phases, and whether a break in them stands.

The statistic of a break is how many times smaller the residual sum of squares is with it
than without. Noise alone makes it larger than one, and the more so the longer the noise
remembers: a random walk looks as if it had breaks everywhere. So the statistic is compared
with that of simulated noise of the same length and the same memory, where the memory (the
correlation of neighbours) is taken as long as the data allow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gnomon import _native
from gnomon.analysis.phases.result import Choice, Shape

Floats = NDArray[np.float64]

EXACT_UP_TO = 20_000
"""Points up to which three or more phases are found over all of them at once."""
PERFECT = 1e-12
"""A share of the squares that counts as nothing: below it rounding decides."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Series to be cut: `x` is (point,), `y` (series, point), each series scaled to weigh alike."""

    x: Floats
    y: Floats
    least: int

    @property
    def floor(self) -> float:
        """The cost below which a fit is perfect but for rounding."""
        return PERFECT * max(_native.segment_cost(self.x, self.y, False), 1e-300)

    def part(self, first: int, last: int) -> Problem:
        """Return the problem of some of the points."""
        inside = np.ascontiguousarray(self.y[:, first:last])
        return Problem(self.x[first:last], inside, self.least)


def problem(x: Floats, rows: list[Floats], least: int) -> Problem:
    """Return series that count alike: each is divided by its standard deviation."""
    scaled = []
    for row in rows:
        shifted = row - row[0]
        deviation = float(np.std(shifted))
        scaled.append(shifted / deviation if deviation > 0 else shifted)
    return Problem(np.ascontiguousarray(x), np.ascontiguousarray(np.stack(scaled)), least)


def choices(given: Problem, shapes: tuple[Shape, ...], most: int) -> list[Choice]:
    """Return the best partition for each number of phases and shape, the best criterion first."""
    most = min(most, given.x.size // given.least)  # more would not find room
    found: list[Choice] = []
    for shape in shapes:
        if shape is Shape.HINGE:
            found += _hinge(given) if most >= 2 else []
        else:
            found += _free(given, shape, most)
    if not any(choice.phases == 1 for choice in found):
        found += _free(given, Shape.LINES, 1)
    return sorted(found, key=lambda choice: (choice.bic, choice.phases))


def _free(given: Problem, shape: Shape, most: int) -> list[Choice]:
    line = shape is Shape.LINES
    points = given.x.size
    if most > 2 and points > EXACT_UP_TO:
        partitions = _coarse_then_fine(given, line, most)
    elif most > 2:
        partitions = _native.partitions(given.x, given.y, line, given.least, most)
    else:
        partitions = [(_native.segment_cost(given.x, given.y, line), [])]
        at, _, cost = _native.best_split(given.x, given.y, line, given.least)
        if most == 2 and at:
            partitions.append((cost, [at]))
    made = []
    for number, (cost, breaks) in enumerate(partitions, 1):
        made.append(_choice(given, number, shape, cost, tuple(breaks)))
    return made


def _hinge(given: Problem) -> list[Choice]:
    at, _, cost = _native.best_hinge(given.x, given.y, given.least)
    if not at:
        return []
    return [_choice(given, 2, Shape.HINGE, cost, (at,))]


def _choice(
    given: Problem, number: int, shape: Shape, cost: float, breaks: tuple[int, ...]
) -> Choice:
    values = given.y.size
    # What each series of a phase takes, and the breaks, which all series share.
    each = {Shape.LEVELS: number, Shape.LINES: 2 * number, Shape.HINGE: number + 1}[shape]
    parameters = each * len(given.y) + number - 1
    bic = values * math.log(max(cost, given.floor) / values) + parameters * math.log(given.x.size)
    return Choice(number, shape, cost, parameters, bic, breaks)


def averaged(given: Problem, block: int) -> Problem:
    """Return the means of so many points at a time; a rest at the end is left out."""
    whole = given.x.size // block * block
    x = given.x[:whole].reshape(-1, block).mean(axis=1)
    y = given.y[:, :whole].reshape(len(given.y), -1, block).mean(axis=2)
    return Problem(np.ascontiguousarray(x), np.ascontiguousarray(y), given.least)


def _coarse_then_fine(given: Problem, line: bool, most: int) -> list[tuple[float, list[int]]]:
    """Return partitions found over means of some points each, every break then set exactly."""
    block = -(-given.x.size // (EXACT_UP_TO // 2))
    rough = averaged(given, block)
    return [
        _settled(given, line, [place * block for place in places])
        for _, places in _native.partitions(rough.x, rough.y, line, rough.least, most)
    ]


def without(given: Problem, choice: Choice, number: int) -> Choice:
    """Return a choice with one break fewer; those beside it find their places anew."""
    rest = [place for i, place in enumerate(choice.breaks) if i != number]
    shape = Shape.LINES if choice.shape is Shape.HINGE else choice.shape
    line = shape is Shape.LINES
    cost, breaks = _settled(given, line, rest)
    return _choice(given, choice.phases - 1, shape, cost, tuple(breaks))


def _settled(given: Problem, line: bool, breaks: list[int]) -> tuple[float, list[int]]:
    """Return the cost and the breaks, each set anew between its neighbours until none moves.

    No single one could then be better; that several together could be is possible but rare.
    """
    edges = [0, *breaks, given.x.size]
    moved = True
    while moved:
        moved = False
        for i in range(1, len(edges) - 1):
            part = given.part(edges[i - 1], edges[i + 1])
            costs = np.frombuffer(_native.split_costs(part.x, part.y, line, given.least))
            best = int(np.argmin(costs))
            if costs[best] < costs[edges[i] - edges[i - 1]]:
                edges[i], moved = edges[i - 1] + best, True
    parts = (given.part(a, b) for a, b in pairwise(edges))
    cost = sum(_native.segment_cost(part.x, part.y, line) for part in parts)
    return cost, edges[1:-1]


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
        values.append(_p_value_of_one(part, place, line))
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
