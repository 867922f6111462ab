"""Levels of a latency curve: where it is flat, and the sizes at which it leaves for the next level.

Latency over size, both as logarithms, is taken to be flat pieces joined by ramps. Disturbances
only ever add latency, and more memory is never faster, so a later lower value corrects an earlier
higher one. Among all ways to divide the points the best for each number of ramps is found exactly
(dynamic programming over flat pieces), and the number of ramps is the one that the Bayesian
information criterion prefers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gnomon.analysis.memory.result import Level, Ramp
from gnomon.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_RAMPS = 5
LEAST_RISE = 1.4
"""The next level is slower by this factor at least."""
LEAST_OCTAVES = 0.75
"""A level is flat over this much of the sizes at least (both ends may be cut off)."""
_NOISE = 0.08  # of log2(latency): what is not worth another level


@dataclass(frozen=True, slots=True)
class Plateaus:
    """What a curve is made of; a ramp lies between each level and the next."""

    levels: tuple[Level, ...]
    ramps: tuple[Ramp, ...]


def find_plateaus(sizes: Sequence[int], latencies: Sequence[float]) -> Plateaus:
    """Divide a curve; sizes ascend, latencies are in ns."""
    import numpy as np

    if len(sizes) != len(latencies) or len(sizes) < 3:
        raise UsageError("a curve needs three sizes or more, and a latency for each.")
    if any(b <= a for a, b in pairwise(sizes)) or min(latencies) <= 0:
        raise UsageError("sizes of a curve ascend, and latencies are more than 0.")
    x = np.log2(np.asarray(sizes, float))
    envelope = np.minimum.accumulate(np.asarray(latencies, float)[::-1])[::-1]
    pieces = _divide(x, np.log2(envelope))
    levels = tuple(
        Level(float(np.median(envelope[i : j + 1])), sizes[i], sizes[j]) for i, j in pieces
    )
    ramps = tuple(
        Ramp(_half_point(x[a : b + 1], envelope[a : b + 1], low, high), sizes[a], sizes[b])
        for (_, a), (b, _), low, high in zip(pieces, pieces[1:], levels, levels[1:], strict=False)
    )
    return Plateaus(levels, ramps)


def _half_point(
    x: NDArray[np.float64], latencies: NDArray[np.float64], low: Level, high: Level
) -> int:
    """Return the size at which latency is half way between two levels."""
    half = (low.latency + high.latency) / 2
    after = next((i for i, value in enumerate(latencies) if value >= half), len(latencies) - 1)
    before = max(after - 1, 0)
    rise = latencies[after] - latencies[before]
    share = min(1.0, (half - latencies[before]) / rise) if rise > 0 else 0.5
    return round(2 ** float(x[before] + share * (x[after] - x[before])))


def _divide(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the flat pieces, first and last point of each."""
    import numpy as np

    weights = _weights(x)
    flats = _Flats(x, y, weights)
    count = flats.first.size
    n, total = x.size, float(weights.sum())
    begins = np.where(flats.first == 0, flats.cost, np.inf)
    best_bic, best = math.inf, (0, n - 1)
    tables: list[NDArray[np.int64]] = []
    chosen: list[tuple[int, int]] = [best]
    ramp_costs = [flats.costs_before(at) for at in range(count)]
    for ramps in range(MOST_RAMPS + 1):
        ends = np.where(flats.last == n - 1, begins, np.inf)
        at = int(np.argmin(ends))
        if np.isfinite(ends[at]):
            parameters = 1 + 3 * ramps
            misfit = float(ends[at]) / total + _NOISE**2
            bic = total * math.log(misfit) + parameters * math.log(total)
            if bic < best_bic:
                best_bic, chosen = bic, flats.pieces(at, tables)
        following = np.full(count, np.inf)
        came = np.zeros(count, np.int64)
        for place, (before, costs) in enumerate(ramp_costs):
            if before.size:
                totals = begins[before] + costs
                least = int(np.argmin(totals))
                following[place] = totals[least] + flats.cost[place]
                came[place] = before[least]
        tables.append(came)
        begins = following
    return chosen


def _weights(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each point counts: as much as it covers, or sizes measured densely rule."""
    import numpy as np

    covers = np.gradient(x)
    found: NDArray[np.float64] = np.minimum(covers / np.median(covers), 1.0)
    return found


class _Flats:
    """All pieces of a curve that may be flat, and what it costs to take them so."""

    def __init__(
        self, x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> None:
        import numpy as np

        self._x = x
        n = x.size
        first, last = np.triu_indices(n)
        inner = (first > 0) & (last < n - 1)
        long = x[last] - x[first] >= np.where(inner, LEAST_OCTAVES, LEAST_OCTAVES / 2) - 1e-9
        self.first, self.last = first[long], last[long]
        zero = np.zeros(1)
        # Weighted sums of the points before each place.
        self._n, self._y, self._yy, self._xs, self._xx, self._xy = (
            np.concatenate((zero, np.cumsum(weights * each)))
            for each in (np.ones(n), y, y * y, x, x * x, x * y)
        )
        counts = self._n[self.last + 1] - self._n[self.first]
        sums = self._y[self.last + 1] - self._y[self.first]
        self.mean = sums / counts
        self.cost = np.maximum(
            self._yy[self.last + 1] - self._yy[self.first] - sums * self.mean, 0.0
        )

    def costs_before(self, at: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the pieces that may come before one, and what the ramps from them cost."""
        import numpy as np

        begin = self.first[at]
        rise = self.mean[at] - self.mean
        before = np.flatnonzero((self.last < begin) & (rise >= math.log2(LEAST_RISE)))
        ends, d, level = self.last[before], rise[before], self.mean[before]
        x0 = self._x[ends]
        width = self._x[begin] - x0

        def inside(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            found: NDArray[np.float64] = sums[begin] - sums[ends + 1]
            return found

        n = inside(self._n)
        sy, sx = inside(self._y), inside(self._xs)
        t = (sx - n * x0) / width
        tt = (inside(self._xx) - 2 * x0 * sx + n * x0 * x0) / width**2
        yt = (inside(self._xy) - x0 * sy) / width
        cost = (
            inside(self._yy) - 2 * level * sy + n * level**2 - 2 * d * yt + 2 * level * d * t
        ) + d * d * tt
        return before, np.maximum(cost, 0.0)

    def pieces(self, at: int, tables: list[NDArray[np.int64]]) -> list[tuple[int, int]]:
        """Follow the choices back from the last piece."""
        found = [(int(self.first[at]), int(self.last[at]))]
        for came in reversed(tables):
            at = int(came[at])
            found.append((int(self.first[at]), int(self.last[at])))
        return found[::-1]
