"""Levels of a curve get the names of reported caches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.analysis.memory.plateaus import (
    Plateaus,
    measured_caches,
    name_levels,
    named_latencies,
    notes_on_caches,
)
from gnomon.analysis.memory.result import CurvePoint, LatencyCurve, Level, Ramp, Times
from gnomon.stress.nodes import Cache

KIB, MIB = 1 << 10, 1 << 20
CACHES = (
    Cache(1, 32 * KIB, 64, (0,)),
    Cache(2, 512 * KIB, 64, (0,)),
    Cache(3, 32 * MIB, 64, (0, 1)),
)


def plateaus(*ramps: tuple[int, float], first: float = 1.0, last: int = 256 * MIB) -> Plateaus:
    """Return levels between ramps of (size, latency after it)."""
    edges = [16 * KIB, *(size for size, _ in ramps), last]
    latencies = [first, *(latency for _, latency in ramps)]
    levels = tuple(Level(latency, edges[i], edges[i + 1]) for i, latency in enumerate(latencies))
    return Plateaus(levels, tuple(Ramp(size, size // 2, size * 2) for size, _ in ramps))


def curve(found: Plateaus) -> LatencyCurve:
    """Return a curve that has been divided so."""
    points = tuple(CurvePoint(level.first, Times((level.latency,))) for level in found.levels)
    names = name_levels(found, CACHES)
    levels = tuple(replace(each, name=n) for each, n in zip(found.levels, names, strict=True))
    return LatencyCurve(4096, points, levels, found.ramps)


def test_caches_are_named_by_their_sizes() -> None:
    found = plateaus((33 * KIB, 4.0), (600 * KIB, 18.0), (28 * MIB, 110.0))
    assert name_levels(found, CACHES) == ("L1", "L2", "L3", "local DRAM")


def test_a_last_cache_that_others_use_is_named_nevertheless() -> None:
    found = plateaus((33 * KIB, 4.0), (600 * KIB, 18.0), (3 * MIB, 110.0))
    assert name_levels(found, CACHES) == ("L1", "L2", "L3", "local DRAM")
    caches = measured_caches(curve(found), CACHES)
    assert [cache.measured for cache in caches] == [33 * KIB, 600 * KIB, 3 * MIB]
    (note,) = notes_on_caches(caches)
    assert note.startswith("L3 held about 3 MiB for this CPU, of 32 MiB reported")


def test_of_two_ramps_the_steeper_ends_a_last_cache_that_others_use() -> None:
    found = plateaus((33 * KIB, 4.0), (600 * KIB, 17.0), (2 * MIB, 96.0), (5 * MIB, 156.0))
    assert name_levels(found, CACHES) == ("L1", "L2", "L3", "level 4", "local DRAM")
    names = [cache.name for cache in measured_caches(curve(found), CACHES)]
    assert names == ["L1", "L2", "L3", "level 4"]


def test_a_ramp_that_fits_no_cache_is_counted() -> None:
    found = plateaus((33 * KIB, 4.0), (600 * KIB, 18.0), (28 * MIB, 110.0), (200 * MIB, 160.0))
    assert name_levels(found, CACHES) == ("L1", "L2", "L3", "level 4", "local DRAM")


def test_a_curve_that_ends_before_memory_has_none() -> None:
    found = plateaus((33 * KIB, 4.0), last=256 * KIB)
    assert name_levels(found, CACHES) == ("L1", "L2")
    missing = {each.name: each.measured for each in measured_caches(curve(found), CACHES)}
    assert missing == {"L1": 33 * KIB, "L2": None, "L3": None}


def test_where_nothing_is_reported_caches_are_counted() -> None:
    found = plateaus((33 * KIB, 4.0), (600 * KIB, 18.0))
    assert name_levels(found, ()) == ("L1", "L2", "local DRAM")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(st.lists(st.integers(17 * KIB, 250 * MIB), max_size=5, unique=True))
def test_every_level_has_a_name_of_its_own_and_caches_keep_their_order(sizes: list[int]) -> None:
    ramps = [(size, 2.0 ** (place + 1)) for place, size in enumerate(sorted(sizes))]
    names = name_levels(plateaus(*ramps), CACHES)
    assert len(names) == len(ramps) + 1
    assert len(set(names)) == len(names)
    caches = [name for name in names if name.startswith("L")]
    assert caches == sorted(caches)


def test_latencies_have_cycles_beside_nanoseconds() -> None:
    found = named_latencies(curve(plateaus((33 * KIB, 4.0))), (), 2.5)
    assert [(each.name, each.ns) for each in found] == [("L1", 1.0), ("local DRAM", 4.0)]
    assert found[1].cycles == pytest.approx(10.0)
