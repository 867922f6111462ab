"""From counts above thresholds, or from samples, to a histogram with intervals.

Thresholds are counted one after the other. The rate of loads above an edge is all that was counted
there over all the time it was counted. A bin is the difference of two such rates. How far it may
be off is told by the sweeps themselves: their second differences have in them whatever varies from
one slice to another, chance and phases of the program alike, but not what changes slowly, which
sweeps that are evenly spread do not suffer from. Of phases as long as sweeps they have more in
them than makes the mean wrong: `rhythm` tells how much.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gnomon.analysis.latency.result import LatencyBin
from gnomon.analysis.latency.run import sweep_numbers
from gnomon.errors import GnomonError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.analysis.latency.run import LoadSample, Slice

    Floats = NDArray[np.float64]

LEAST_SWEEPS = 5
"""With fewer the sweeps do not tell how far they are off, and chance alone has to."""

_QUANTILE = 0.975  # either end of an interval of 95 %
_TWO_SIDED = 1.959964
_SPREAD = 1.944  # how much less second differences tell than independent values would
_LEAST_OBSERVED = 0.05  # below, degrees of freedom are as good as infinite


class Histogram(NamedTuple):
    """Bins, from how many sweeps they are, and how much time they stand for, in s."""

    bins: tuple[LatencyBin, ...]
    sweeps: int
    seconds: float


def histogram(slices: Sequence[Slice], edges: Sequence[int]) -> Histogram:
    """Return the histogram over these edges, for all the time in which any edge was counted."""
    counts, seconds, order = _by_sweep(slices, edges)
    times = np.nansum(seconds, axis=0)
    if not np.all(times > 0):
        missing = [str(edge) for edge, time in zip(edges, times, strict=True) if not time > 0]
        raise GnomonError(
            f"some edges were never counted, such as {missing[0]} cycles: "
            "let it run longer, use shorter slices or fewer edges."
        )
    # Of a recording some edges may be left out, but not the time in which they were counted.
    whole = sum(each.running for each in slices) / 1e9
    rates = np.nansum(counts, axis=0) / times
    raw = rates - np.append(rates[1:], 0.0)
    falling = np.append(non_increasing(rates, times), 0.0)
    off = _deviations(counts, seconds, rates, whole, order)
    bins = tuple(
        LatencyBin(
            low=edge,
            high=edges[j + 1] if j + 1 < len(edges) else None,
            count=float(raw[j]) * whole,
            least=float(raw[j] - off[j]) * whole,
            most=float(raw[j] + off[j]) * whole,
            monotone=float(falling[j] - falling[j + 1]) * whole,
        )
        for j, edge in enumerate(edges)
    )
    return Histogram(bins, len(counts), whole)


def _by_sweep(
    slices: Sequence[Slice], edges: Sequence[int]
) -> tuple[Floats, Floats, Sequence[int]]:
    """Return counts and seconds, (sweep, edge), and the numbers of edges in order of time.

    Where there is no reading counts and seconds are not a number.
    """
    place = {edge: number for number, edge in enumerate(edges)}
    used = [each for each in slices if each.edge in place and each.running > 0]
    if not used:
        raise GnomonError("nothing was counted: the program may have ended before the first slice.")
    sweeps = sweep_numbers([each.edge for each in used])
    counts = np.full((sweeps[-1] + 1, len(edges)), np.nan)
    seconds = np.full_like(counts, np.nan)
    order = [place[each.edge] for each in used]
    for sweep, number, each in zip(sweeps, order, used, strict=True):
        counts[sweep, number] = each.loads
        seconds[sweep, number] = each.running / 1e9
    return counts, seconds, order


def _deviations(
    counts: Floats, seconds: Floats, rates: Floats, whole: float, order: Sequence[int]
) -> Floats:
    """Return how far the rate of each bin may be off, either way, at the level of intervals."""
    length = np.nanmean(seconds, axis=0)
    # How far each sweep pulls the rate of an edge away from where it is.
    pulls = (counts - rates * seconds) / length
    felt = felt_shares(pulls, rates / length, order)
    both = pulls - np.append(pulls[:, 1:], np.zeros((len(pulls), 1)), axis=1)
    # What was counted itself is known: only the rest of the time is a guess.
    unseen = 1 - np.nansum(seconds, axis=0) / whole
    return np.array(
        [
            _deviation(both[:, j], _of_chance(counts, seconds, j), float(felt[j]), unseen[j])
            for j in range(len(rates))
        ]
    )


def _deviation(pulls: Floats, chance: float, felt: float, unseen: float) -> float:
    """Return how far the rate of a bin may be off, from how far each sweep pulls it.

    `chance` is the least variance that the rate has, and of what sweeps vary by beyond that the
    share `felt` makes their mean wrong.
    """
    from gnomon.analysis.stats.distributions import t_quantile

    pulls = pulls[~np.isnan(pulls)]
    sweeps = len(pulls)
    if sweeps < LEAST_SWEEPS:
        return float(t_quantile(_QUANTILE, 2.0) * np.sqrt(chance))
    if not pulls.any():
        return 0.0
    bends = pulls[2:] - 2 * pulls[1:-1] + pulls[:-2]
    observed = felt * float((bends**2).sum()) / (6 * (sweeps - 2)) / sweeps
    variance = observed + (1 - felt) * chance
    # Chance is known without a guess; only the part that was observed has few degrees of freedom.
    freedom = (sweeps - 2) / _SPREAD / max(observed / variance, _LEAST_OBSERVED) ** 2
    return float(t_quantile(_QUANTILE, freedom) * np.sqrt(variance * unseen))


def _of_chance(counts: Floats, seconds: Floats, j: int) -> float:
    """Return the variance of a bin's rate if loads came independently and nothing else varied."""
    total = 0.0
    for edge in (j, j + 1):
        if edge < counts.shape[1]:
            total += (np.nansum(counts[:, edge]) + 1) / np.nansum(seconds[:, edge]) ** 2
    return float(total)


def non_increasing(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what is nearest to the values, in squares weighed, of all series that never rise."""
    levels: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        level, mass, size = value, weight, 1
        while levels and levels[-1] < level:
            before, earlier = masses.pop(), levels.pop()
            total = mass + before
            level = (level * mass + earlier * before) / total if total else max(level, earlier)
            mass, size = total, size + sizes.pop()
        levels.append(level)
        masses.append(mass)
        sizes.append(size)
    return np.repeat(levels, sizes)


# ---- samples ---------------------------------------------------------------------------


def sample_histogram(samples: Iterable[LoadSample], edges: Sequence[int]) -> tuple[LatencyBin, ...]:
    """Return the histogram over these edges; loads faster than the first are left out."""
    stood_for = [0.0] * len(edges)
    squares = [0.0] * len(edges)
    sources: list[dict[str, float]] = [{} for _ in edges]
    for sample in samples:
        place = bisect_right(edges, sample.cycles) - 1
        if place < 0:
            continue
        stood_for[place] += sample.loads
        squares[place] += float(sample.loads) ** 2
        found = sources[place]
        found[sample.source] = found.get(sample.source, 0.0) + sample.loads
    bins = []
    for j, edge in enumerate(edges):
        count = stood_for[j]
        off = _TWO_SIDED * sqrt(squares[j])  # samples are few of many: chance alone
        high = edges[j + 1] if j + 1 < len(edges) else None
        bins.append(
            LatencyBin(edge, high, count, max(count - off, 0.0), count + off, count, sources[j])
        )
    return tuple(bins)


# ---- phases that all edges feel --------------------------------------------------------------
#
# Phases that change at the pace of sweeps, or a little slower, make one sweep differ from the next;
# yet sweeps that are evenly spread meet all phases nearly as often as they occur, so that the mean
# over sweeps is better than their differences tell. How much better depends on the rhythm of the
# program, and that is seen at every slice, whichever edge it was counted for: what is slow for one
# edge is mostly slow for the next. The course of all slices is therefore sampled at nearly the pace
# of the sweeps, from every beginning, and the error of such samples is compared with their
# differences.


RHYTHM_EDGES = 10
"""With fewer edges no other pace is near that of the sweeps."""

RHYTHM_SWEEPS = 10
"""With fewer sweeps the course is too short to tell its rhythm."""

_BESIDE = (0.04, 0.06, 0.08, 0.10)
"""Paces that are tried, beside that of sweeps, at which each edge's own mean is taken away."""

_LEAST_EXCESS = 0.2  # of the differences, that chance does not explain


def felt_shares(pulls: Floats, chance: Floats, order: Sequence[int]) -> Floats:
    """Return for each bin the share of its variance between sweeps that makes its mean wrong.

    `pulls` are how far each reading is from the mean of its edge (sweep, edge), `chance` the
    variance that a reading of each edge has if loads come independently, and `order` the edges of
    all readings in time. Variance by chance is not meant: all of that is felt.
    """
    sweeps, edges = pulls.shape
    if edges < RHYTHM_EDGES or sweeps < RHYTHM_SWEEPS:
        return np.ones(edges)
    spread = np.sqrt(np.nanmean(pulls**2, axis=0))
    spread[spread == 0] = 1.0  # above all latencies nothing is counted, nor does it vary
    spread *= _signs(pulls / spread)
    course = _in_time(pulls / spread, order)
    noise = float(np.mean((chance / spread**2)[np.asarray(order)]))
    errors, differences = _compared(course, _steps(edges))
    sizes = np.sign(spread) * np.sqrt(np.maximum(spread**2 - chance, 0.0))
    return np.array(
        [
            _share(errors, differences, noise, own, other)
            for own, other in zip(sizes, np.append(sizes[1:], 0.0), strict=True)
        ]
    )


def _signs(relative: Floats) -> Floats:
    """Return for each edge whether it rises when the first one does, or falls."""
    together = np.nansum(relative[:, :-1] * relative[:, 1:], axis=0)
    signs: Floats = np.cumprod(np.append(1.0, np.where(together >= 0, 1.0, -1.0)))
    return signs


def _in_time(relative: Floats, order: Sequence[int]) -> Floats:
    """Return the readings one after the other, as they were taken."""
    columns = [iter(column[~np.isnan(column)].tolist()) for column in relative.T]
    return np.array([next(columns[edge]) for edge in order])


def _steps(edges: int) -> list[int]:
    apart = sorted({round(edges * share) for share in _BESIDE} - {0})
    return [edges + sign * each for each in apart for sign in (-1, 1)]


def _compared(course: Floats, steps: Sequence[int]) -> tuple[Floats, Floats]:
    """Return squares of errors and of second differences, of a reading and of what changes next.

    Both are matrices of products (reading, change to the next slice), for one reading a step.
    """
    both = np.stack((course[:-1], course[:-1] - course[1:]))
    errors, differences = np.zeros((2, 2)), np.zeros((2, 2))
    for step in steps:
        rounds = both.shape[1] // step
        grid = both[:, : rounds * step].reshape(2, rounds, step)
        off = grid.mean(axis=1) - grid.mean(axis=(1, 2))[:, None]
        bends = (grid[:, 2:] - 2 * grid[:, 1:-1] + grid[:, :-2]).reshape(2, -1)
        errors += off @ off.T * rounds / step
        differences += bends @ bends.T / (6 * bends.shape[1])
    return errors / len(steps), differences / len(steps)


def _share(errors: Floats, differences: Floats, noise: float, own: float, other: float) -> float:
    """Return the share for a bin whose edges move by so much when the program does."""
    # own x now - other x next = (own - other) x now + other x (now - next)
    mix = np.array([own - other, other])
    known = (own**2 + other**2) * noise
    apart = float(mix @ differences @ mix)
    excess = apart - known
    if excess <= _LEAST_EXCESS * apart:
        return 1.0
    return float(np.clip((mix @ errors @ mix - known) / excess, 0.0, 1.0))
