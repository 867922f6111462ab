"""Splitting series into phases: candidates, the gate, breaks with intervals, fitted lines."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gnomon import _native, units
from gnomon.analysis.phases.gate import LEVEL, p_value
from gnomon.analysis.phases.partitions import EXACT_UP_TO, Problem, choices, problem, without
from gnomon.analysis.phases.result import Break, Choice, PhaseFit, PhaseSeries, Shape
from gnomon.errors import GnomonError, UsageError

Floats = NDArray[np.float64]

# Hansen (2000): 95 % of the likelihood ratio of a break between two free fits; where the
# lines meet the break is an ordinary parameter, and the ratio chi-squared.
_FREE_RATIO, _HINGE_RATIO = 7.35, 3.84

_PLATEAU = 0.9
"""The share of a phase's points that are the same where it is a plateau, whatever the rest do."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The choice that was made, its breaks, and the reasons."""

    choice: Choice
    choices: tuple[Choice, ...]
    breaks: tuple[Break, ...]
    decision: str
    warnings: tuple[str, ...]


def split(
    series: tuple[PhaseSeries, ...],
    shapes: tuple[Shape, ...],
    max_phases: int,
    min_points: int,
    exactly: int | None,
) -> Answer:
    """Return the phases of the series: the best by BIC of those whose every break stands."""
    _check(series, min_points)
    given = problem(series[0].times, [one.values for one in series], min_points)
    most = exactly or max_phases
    warnings = []
    if given.x.size > EXACT_UP_TO and most > 2:
        warnings.append(
            f"{given.x.size:,} points: three or more phases were searched on averaged points, "
            "and their breaks then refined"
        )
    ranked = choices(given, shapes, most)
    if exactly is not None:
        ranked = [choice for choice in ranked if choice.phases == exactly]
        if not ranked:
            raise GnomonError(
                f"{given.x.size} points are too few for {exactly} phases of {min_points}."
            )
        chosen = replace(ranked[0], chosen=True)
        judged, decision = [chosen, *ranked[1:]], f"{exactly} phases, as asked for"
    else:
        judged, decision = _judge(given, ranked, series)
        chosen = next(choice for choice in judged if choice.chosen)
    return Answer(
        chosen,
        tuple(sorted(judged, key=lambda choice: (choice.phases, choice.bic))),
        _breaks(given, chosen, series),
        decision,
        tuple(warnings),
    )


def _check(series: tuple[PhaseSeries, ...], min_points: int) -> None:
    for one in series:
        if one.times.shape != one.values.shape or one.times.ndim != 1:
            raise UsageError(f"{one.name}: times and values must be two rows of the same length.")
        if not (np.isfinite(one.times).all() and np.isfinite(one.values).all()):
            raise UsageError(f"{one.name} has a value or time that is not a number: leave it out.")
        if (np.diff(one.times) <= 0).any():
            raise UsageError(f"the times of {one.name} must ascend, each only once: sort them.")
    points = series[0].times.size
    if any(one.times.size != points or (one.times != series[0].times).any() for one in series):
        raise UsageError("series that are split together must have the same times.")
    if points < 2 * min_points:
        raise GnomonError(
            f"{points} points of {series[0].name} are too few to split: phases of {min_points} "
            f"need {2 * min_points}; read more often, as in -i 1ms, or let the program run longer."
        )


def _judge(
    given: Problem, ranked: list[Choice], series: tuple[PhaseSeries, ...]
) -> tuple[list[Choice], str]:
    """Return the choices with the first that stands marked, and the decision in words."""
    names = " and ".join(one.name for one in series)
    if not any(np.ptp(row) > 0 for row in given.y):
        only = next(choice for choice in ranked if choice.phases == 1)
        return [replace(only, chosen=True)], f"one phase: {names} never changes"
    waiting = list(ranked)
    judged: list[Choice] = []
    seen: set[tuple[int, ...]] = set()
    known: dict[tuple[int, ...], float] = {}
    while True:
        best = min(waiting, key=lambda choice: (choice.bic, choice.phases))
        waiting.remove(best)
        seen.add(best.breaks)
        values = _p_values(given, best, known)
        weakest = max(values, default=None)
        if weakest is None or weakest < LEVEL:
            chosen = replace(best, p_value=weakest, chosen=True)
            considered = [c for c in waiting if c in ranked]
            return [*judged, chosen, *considered], _words(chosen, judged)
        judged.append(replace(best, p_value=weakest))
        # The other breaks may be worth keeping all the same.
        rest = without(given, best, values.index(weakest))
        if rest.breaks not in seen and rest.breaks not in (c.breaks for c in waiting):
            waiting.append(rest)


def _words(chosen: Choice, refused: list[Choice]) -> str:
    if chosen.phases == 1:
        if not refused:
            return "one phase: BIC prefers it"
        best = refused[0]
        return (
            f"one phase: BIC would have {best.phases}, but autocorrelated noise alone would look "
            f"like this in {units.number(best.p_value, '%')} of cases"
        )
    weakest = units.number(max(chosen.p_value or 0, 0.001), "%", digits=2)
    text = (
        f"{chosen.phases} phases ({chosen.shape}): autocorrelated noise alone would show a break "
        f"as clear as the weakest in at most {weakest} of cases"
    )
    if refused:
        more = ", ".join(map(str, sorted({choice.phases for choice in refused})))
        text += f"; in splits into {more} phases it could explain one"
    return text


def _p_values(given: Problem, choice: Choice, known: dict[tuple[int, ...], float]) -> list[float]:
    """Return the value of each break, which goes by the phases beside it and is asked once."""
    line = choice.shape is not Shape.LEVELS
    edges = (0, *choice.breaks, given.x.size)
    for i in range(len(choice.breaks)):
        if (line, *edges[i : i + 3]) not in known:
            known[line, *edges[i : i + 3]] = p_value(given, choice.breaks, i, line=line)
    return [known[line, *edges[i : i + 3]] for i in range(len(choice.breaks))]


def _breaks(given: Problem, choice: Choice, series: tuple[PhaseSeries, ...]) -> tuple[Break, ...]:
    edges = [0, *choice.breaks, given.x.size]
    line = choice.shape is not Shape.LEVELS
    only_rates = all(one.is_rate for one in series)
    found = []
    for number, at in enumerate(choice.breaks):
        first = edges[number]
        part = given.part(first, edges[number + 2])
        ratio = _FREE_RATIO
        if choice.shape is Shape.HINGE:
            raw, where = _native.hinge_costs(part.x, part.y, part.least)
            costs, ratio = np.frombuffer(raw), _HINGE_RATIO
            time = float(np.frombuffer(where)[at - first])
        else:
            costs = np.frombuffer(_native.split_costs(part.x, part.y, line, part.least))
            before, after = given.x[at - 1], given.x[at]
            # A rate holds up to the time it was read: there the next one begins.
            time = float(before if only_rates else (before + after) / 2)
        low, high = _likely(part, costs, at - first, ratio)
        # Without a verdict on the whole nobody has asked for one on each break.
        judged = choice.p_value is not None
        value = p_value(given, choice.breaks, number, line=line) if judged else None
        found.append(Break(time, float(part.x[low - 1]), float(part.x[high]), at, value))
    return tuple(found)


def _likely(part: Problem, costs: Floats, at: int, ratio: float) -> tuple[int, int]:
    """Return the first and the last break that the data could as well mean."""
    best = max(float(costs[at]), part.floor)
    points = part.y.size * _independent(part)
    near = np.flatnonzero(points * (costs - best) / best <= ratio)
    return int(near.min(initial=at)), int(near.max(initial=at))


def _independent(part: Problem) -> float:
    """Return the share of the points that counts when neighbours resemble each other."""
    trials = _native.segment_trials(part.x, part.y, True, part.least)
    memory = float(np.clip(np.frombuffer(trials).reshape(-1, 3)[:, 2].mean(), 0.0, 0.95))
    return (1 - memory) / (1 + memory)


def fits(
    series: tuple[PhaseSeries, ...],
    answer: Answer,
    edges: list[float],
    per_second: float,
) -> list[tuple[PhaseFit, ...]]:
    """Return how each series runs through each phase; `per_second` units of time are a second."""
    columns = [_fit_one(one, answer, edges, per_second) for one in series]
    return list(zip(*columns, strict=True))


def _fit_one(
    one: PhaseSeries, answer: Answer, edges: list[float], per_second: float
) -> list[PhaseFit]:
    x, base = one.times, one.values[0]
    y = one.values - base
    points = [0, *answer.choice.breaks, x.size]
    lines: list[tuple[float, float, float]] = []  # where, value there, slope
    if answer.choice.shape is Shape.HINGE:
        place = answer.breaks[0].time
        scale = max(float(x[-1] - x[0]), 1e-300)
        t = (x - place) / scale
        columns = np.column_stack((np.ones_like(t), np.minimum(t, 0), np.maximum(t, 0)))
        value, before, after = np.linalg.lstsq(columns, y, rcond=None)[0]
        lines = [(place, value, before / scale), (place, value, after / scale)]
    else:
        level = answer.choice.shape is Shape.LEVELS
        for first, last in itertools.pairwise(points):
            lines.append(_line(x[first:last], y[first:last], level=level))
    nothing = 1e-9 * float(np.ptp(y))  # a change this small is rounding
    never_negative = bool((one.values >= 0).all())
    made = []
    pieces = zip(lines, itertools.pairwise(edges), itertools.pairwise(points), strict=True)
    for (place, value, steepness), (start, end), inside in pieces:
        slope = steepness
        low, high = max(start, float(x[0])), min(end, float(x[-1]))
        ends = [float(base + value + slope * (at - place)) for at in (low, high)]
        ends = [0.0 if abs(end) <= nothing else end for end in ends]
        if abs(slope) * (high - low) <= nothing:
            slope, ends = 0.0, [ends[0]] * 2
        if never_negative and min(ends) < 0:
            ends = [max(end, 0.0) for end in ends]
            slope = (ends[1] - ends[0]) / (high - low)
        at, read = x[slice(*inside)], one.values[slice(*inside)]
        # Of a level the mean over time: readings may be missing where the machine was busy.
        mean = read.mean() if one.is_rate else np.diff(at) @ (read[1:] + read[:-1]) / 2 / np.ptp(at)
        told = (float(mean), float(read.max()), float(read[-1]))
        made.append(PhaseFit(one.name, ends[0], ends[1], slope * per_second, one.unit, *told))
    return made


def _line(x: Floats, y: Floats, *, level: bool) -> tuple[float, float, float]:
    """Return a place, the value there and the slope; of a plateau the slope is zero."""
    usual = float(np.median(y))
    if not level and np.mean(np.abs(y - usual) <= 1e-9 * np.ptp(y)) >= _PLATEAU:
        return float(x[0]), usual, 0.0
    middle, mean = float(x.mean()), float(y.mean())
    if level:
        return middle, mean, 0.0
    t, rest = x - middle, y - mean
    slope = float(t @ rest) / max(float(t @ t), 1e-300)
    left = rest - slope * t
    squares = max(float(left @ left), 1e-300)
    # Neighbours that resemble each other tell less; by BIC a slope must be worth its parameter.
    memory = min(max(float(left[1:] @ left[:-1]) / squares, 0.0), 0.95)
    independent = x.size * (1 - memory) / (1 + memory)
    gain = math.log(max(float(rest @ rest), 1e-300) / squares)
    pays = independent * gain > math.log(max(independent, 2.0))
    return middle, mean, slope if pays else 0.0
