"""How much of what sweeps differ by makes a histogram wrong.

Phases that change at the pace of sweeps, or a little slower, make one sweep differ from the next;
yet sweeps that are evenly spread meet all phases nearly as often as they occur, so that the mean
over sweeps is better than their differences tell. How much better depends on the rhythm of the
program, and that is seen at every slice, whichever edge it was counted for: what is slow for one
edge is mostly slow for the next. The course of all slices is therefore sampled at nearly the pace
of the sweeps, from every beginning, and the error of such samples compared with their differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST_EDGES = 10
"""With fewer edges no other pace is near that of the sweeps."""

LEAST_SWEEPS = 10
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
    if edges < LEAST_EDGES or sweeps < LEAST_SWEEPS:
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
