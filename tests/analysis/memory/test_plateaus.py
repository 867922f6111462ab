"""Levels and their ends are found in curves that are made of known ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnomon.analysis.memory.plan import curve_sizes
from gnomon.analysis.memory.plateaus import find_plateaus
from gnomon.errors import UsageError

SIZES = curve_sizes(16 << 10, 256 << 20, 4)


def curve(
    caches: list[tuple[int, float]],
    memory: float,
    *,
    softness: float = 0.05,
    noise: float = 0.0,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return latencies over SIZES: caches of (size, latency), missed ever more from their size on.

    `softness` is in octaves; noise only ever adds, as disturbances do.
    """
    x = np.log2(np.array(SIZES, float))
    latencies = [latency for _, latency in caches] + [memory]
    found = np.full(len(SIZES), latencies[0])
    for (size, _), low, high in zip(caches, latencies, latencies[1:], strict=False):
        misses = 1 / (1 + np.exp(-(x - np.log2(size)) / softness))
        found += (high - low) * misses
    random = np.random.default_rng(seed)
    return found * (1 + np.abs(random.normal(0, noise, found.size)) if noise else 1)


CACHES = [(48 << 10, 1.2), (1 << 20, 4.0), (32 << 20, 18.0)]


@pytest.mark.parametrize("softness", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_three_caches_and_memory_are_found(softness: float, noise: float) -> None:
    found = find_plateaus(SIZES, curve(CACHES, 110.0, softness=softness, noise=noise).tolist())
    assert len(found.levels) == 4
    for level, latency in zip(found.levels, (1.2, 4.0, 18.0, 110.0), strict=True):
        assert level.latency == pytest.approx(latency, rel=0.15)
    for ramp, (size, _) in zip(found.ramps, CACHES, strict=True):
        assert ramp.begins < ramp.size < ramp.ends
        assert ramp.size == pytest.approx(size, rel=0.2)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(2, 10), min_size=1, max_size=3),
    st.lists(st.floats(2.5, 8), min_size=3, max_size=3),
    st.integers(0, 1000),
)
def test_any_hierarchy_is_found(gaps: list[int], rises: list[float], seed: int) -> None:
    exponents = np.cumsum([1.5, *[max(gap / 2, 2.0) for gap in gaps]])[: len(gaps)]
    caches, latency = [], 1.0
    for exponent, rise in zip(exponents, rises, strict=False):
        size = int((16 << 10) * 2**exponent)
        if size < 64 << 20:
            caches.append((size, latency))
            latency *= rise
    found = find_plateaus(SIZES, curve(caches, latency, noise=0.03, seed=seed).tolist())
    assert len(found.ramps) == len(caches)
    for ramp, (size, _) in zip(found.ramps, caches, strict=True):
        assert ramp.size == pytest.approx(size, rel=0.25)


def test_a_flat_curve_is_one_level() -> None:
    found = find_plateaus(SIZES, curve([], 5.0, noise=0.05).tolist())
    assert len(found.levels) == 1
    assert found.ramps == ()
    assert (found.levels[0].first, found.levels[0].last) == (SIZES[0], SIZES[-1])


def test_a_burst_of_disturbance_is_no_level() -> None:
    latencies = curve(CACHES, 110.0)
    latencies[12:16] *= 3
    assert len(find_plateaus(SIZES, latencies.tolist()).levels) == 4


def test_sizes_measured_densely_do_not_rule() -> None:
    plain = curve(CACHES, 110.0, softness=0.2)
    dense = sorted({*SIZES, *(round((24 << 20) * 2 ** (step / 32)) for step in range(30))})
    latencies = np.interp(np.log2(dense), np.log2(SIZES), plain)
    found = find_plateaus(dense, latencies.tolist())
    assert len(found.levels) == 4


@pytest.mark.parametrize(
    ("sizes", "latencies"),
    [([1024, 2048], [1.0, 2.0]), ([1024, 1024, 2048], [1.0, 1.0, 1.0]), ([1, 2, 3], [1.0, 0, 1.0])],
)
def test_what_is_no_curve_is_refused(sizes: list[int], latencies: list[float]) -> None:
    with pytest.raises(UsageError):
        find_plateaus(sizes, latencies)
