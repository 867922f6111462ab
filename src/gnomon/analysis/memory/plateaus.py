"""Plateaus in a curve of latencies over sizes, and the names of levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from gnomon.analysis.memory.result import (
    LatencyCurve,
    Level,
    MeasuredCache,
    NamedLatency,
    NodePair,
    Ramp,
)
from gnomon.errors import UsageError
from gnomon.stress.nodes import Cache
from gnomon.units import format_bytes

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


# ---- names ------------------------------------------------------------------------------------


MEMORY = "local DRAM"
_FAR = 2.0  # octaves: further from what is reported, a ramp is another thing
_BEYOND = 1.5  # times a cache's size
_LITTLE = 0.5  # of what is reported


def name_levels(found: Plateaus, caches: Sequence[Cache]) -> tuple[str, ...]:
    """Return a name for each level: of the reported cache whose size fits best, in order.

    The last level is memory. Where nothing is reported, caches are counted from L1 on.
    """
    matched = _match(found, caches)
    names = []
    for place in range(len(found.ramps)):
        cache = matched.get(place)
        if cache is not None:
            names.append(f"L{cache.level}")
        else:
            names.append(f"level {place + 1}" if caches else f"L{place + 1}")
    largest = max((cache.size for cache in caches), default=0)
    reaches = found.levels[-1].last > 1.5 * largest
    names.append(MEMORY if reaches else _cut_off(matched, caches))
    return tuple(names)


def _cut_off(matched: dict[int, Cache], caches: Sequence[Cache]) -> str:
    """Name the last level of a curve that ends before memory: the cache after the last found."""
    below = max((cache.level for cache in matched.values()), default=0)
    return next((f"L{cache.level}" for cache in caches if cache.level > below), MEMORY)


def _match(found: Plateaus, caches: Sequence[Cache]) -> dict[int, Cache]:
    """Pair ramps with caches, both in order, so that they differ least; far ones stay alone."""
    ordered = sorted(caches, key=lambda cache: cache.level)
    count_of_ramps = len(found.ramps)
    best: tuple[float, dict[int, Cache]] = (math.inf, {})
    for count in range(min(count_of_ramps, len(ordered)) + 1):
        for places in combinations(range(count_of_ramps), count):
            for chosen in combinations(ordered, count):
                pairs = list(zip(places, chosen, strict=True))
                apart = [_apart(found, place, cache, ordered) for place, cache in pairs]
                if any(each > _FAR for each in apart):
                    continue
                # One that stays alone costs as much as a pair that is just near enough.
                cost = sum(apart) + _FAR * (count_of_ramps - count)
                if cost < best[0]:
                    best = (cost, dict(pairs))
    return best[1]


def _apart(found: Plateaus, place: int, cache: Cache, ordered: Sequence[Cache]) -> float:
    """Return by how many octaves a ramp is from the size of a cache.

    Of the last cache, others may leave us little: other CPUs, or other guests of a hypervisor.
    Any ramp beyond the cache before it will do then, the steepest best: what follows it may be
    the mixture that a cache shared with others gives.
    """
    size = found.ramps[place].size
    apart = math.log2(size / cache.size)
    is_last = cache is ordered[-1] and len(ordered) > 1
    if is_last and apart < 0 and size > _BEYOND * ordered[-2].size:
        rise = math.log2(found.levels[place + 1].latency / found.levels[place].latency)
        return min(-apart, max(1.0, _FAR - 0.2 * rise))
    return abs(apart)


def measured_caches(curve: LatencyCurve, caches: Sequence[Cache]) -> tuple[MeasuredCache, ...]:
    """Return every cache that was found or is reported, smallest first."""
    reported = {f"L{cache.level}": cache.size for cache in caches}
    found = [
        MeasuredCache(level.name, ramp.size, ramp.begins, reported.get(level.name), level.latency)
        for ramp, level in zip(curve.breakpoints, curve.levels, strict=False)
    ]
    names = {each.name for each in found}
    last = {level.name: level for level in curve.levels}
    found += [
        MeasuredCache(name, None, None, size, last[name].latency if name in last else None)
        for name, size in reported.items()
        if name not in names
    ]
    return tuple(sorted(found, key=lambda each: each.measured or each.reported or 0))


def notes_on_caches(caches: Sequence[MeasuredCache]) -> tuple[str, ...]:
    """Say which caches hold far less than is reported, and why that may be."""
    return tuple(
        f"{each.name} held about {format_bytes(each.measured)} for this CPU, of "
        f"{format_bytes(each.reported)} reported: other CPUs, or other guests of the same host, "
        "may use the rest."
        for each in caches
        if each.measured and each.reported and each.measured < _LITTLE * each.reported
    )


def named_latencies(
    curve: LatencyCurve | None, matrix: Sequence[NodePair], clock: float
) -> tuple[NamedLatency, ...]:
    """Return what loads may take on this machine, by name: caches, memory, other nodes."""
    found = []
    if curve is not None:
        found += [
            NamedLatency(level.name, level.latency, level.latency * clock) for level in curve.levels
        ]
    if len({pair.memory for pair in matrix} | {pair.cpus for pair in matrix}) > 1:
        for pair in matrix:
            ns = pair.latency.best
            found.append(NamedLatency(f"node {pair.cpus}->{pair.memory}", ns, ns * clock))
    elif curve is None and matrix:
        ns = matrix[0].latency.best
        found.append(NamedLatency(MEMORY, ns, ns * clock))
    return tuple(found)
