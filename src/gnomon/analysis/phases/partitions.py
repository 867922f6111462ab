"""The best partitions of series into one, two, ... phases."""

from __future__ import annotations

import math
from dataclasses import dataclass
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
