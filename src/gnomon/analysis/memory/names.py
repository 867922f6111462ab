"""Which level of a latency curve is which cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from gnomon.analysis.memory.plateaus import Plateaus
from gnomon.analysis.memory.result import LatencyCurve, MeasuredCache, NamedLatency, NodePair
from gnomon.stress.cores import Cache
from gnomon.units import format_bytes

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
