"""From counts above thresholds to bins: exact where nothing varies, honest where it does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression  # type: ignore[import-untyped]

from gnomon.analysis.latency.bins import histogram, non_increasing
from gnomon.analysis.latency.run import (
    DEFAULT,
    Slice,
    SweepOrder,
    checked_edges,
    parse_edges,
    sweep_numbers,
)
from gnomon.errors import GnomonError, UsageError
from gnomon.machines.signals import FAST, SLOW
from gnomon_studies.sterz.thresholds import Score, score

MS = 1_000_000


def steady(counts: dict[int, int], sweeps: int, first: int = 0) -> list[Slice]:
    edges = list(counts)
    order = edges[first:] + edges[:first]
    return [
        Slice((s * len(edges) + i + 1) * MS, edge, counts[edge], MS)
        for s in range(sweeps)
        for i, edge in enumerate(order)
    ]


def test_a_steady_program_has_exact_bins_without_error() -> None:
    found = histogram(steady({3: 100, 10: 60, 100: 60, 300: 5}, 8, first=2), (3, 10, 100, 300))
    assert [each.count for each in found.bins] == pytest.approx([40 * 32, 0, 55 * 32, 5 * 32])
    assert [each.monotone for each in found.bins] == pytest.approx([40 * 32, 0, 55 * 32, 5 * 32])
    assert all(each.least == pytest.approx(each.most) for each in found.bins)
    assert found.bins[-1].high is None
    assert found.sweeps == 8
    assert found.seconds == pytest.approx(0.032)


def test_slices_are_normalised_by_the_time_they_were_counted() -> None:
    slices = steady({3: 100, 10: 50}, 6)
    halved = [
        each._replace(loads=each.loads // 2, running=each.running // 2) if each.edge == 3 else each
        for each in slices
    ]
    found = histogram(halved, (3, 10))
    assert found.bins[0].count == pytest.approx(found.bins[1].count)


def test_negative_bins_are_kept_and_flagged_and_the_monotone_view_has_none() -> None:
    found = histogram(steady({3: 100, 10: 120, 100: 10}, 6), (3, 10, 100))
    assert found.bins[0].count < 0
    assert found.bins[0].negative
    assert [each.monotone for each in found.bins] == pytest.approx([0, 100 * 18, 10 * 18])


def test_cost_is_loads_times_latency() -> None:
    found = histogram(steady({10: 100, 30: 40}, 6), (10, 30))
    assert found.bins[0].cost == pytest.approx(60 * 12 * 20)
    assert found.bins[1].cost == pytest.approx(40 * 12 * 30)


def test_an_edge_that_had_no_turn_is_an_error_with_what_to_do() -> None:
    with pytest.raises(GnomonError, match="let it run longer"):
        histogram([Slice(1, 3, 5, MS)], (3, 10))
    with pytest.raises(GnomonError, match="nothing was counted"):
        histogram([], (3, 10))


def test_sweeps_begin_anywhere_and_visit_every_edge_in_order() -> None:
    starts = {SweepOrder(51, seed).now for seed in range(40)}
    assert len(starts) > 15
    order = SweepOrder(5, 3)
    visited = [order.now, *(order.following() for _ in range(9))]
    assert sorted(visited[:5]) == list(range(5))
    assert all((b - a) % 5 == 1 for a, b in pairwise(visited))
    assert SweepOrder(51, 7).now == SweepOrder(51, 7).now


def test_a_lost_slice_costs_one_sweep_only() -> None:
    assert sweep_numbers([3, 1, 2, 3, 2, 3, 1, 2]) == [0, 0, 0, 1, 1, 2, 2, 2]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0.01, 100)), min_size=1, max_size=40))
def test_the_monotone_view_is_the_nearest_that_never_rises(rows: list[tuple[float, float]]) -> None:
    values, weights = (np.array(column) for column in zip(*rows, strict=True))
    found = non_increasing(values, weights)
    assert np.all(np.diff(found) <= 1e-6)
    twin = isotonic_regression(values, weights=weights, increasing=False).x
    assert found == pytest.approx(twin, abs=1e-6 * (1 + np.abs(values).max()))


def test_edges_are_lists_and_ranges() -> None:
    assert parse_edges(DEFAULT)[:3] == (3, 10, 20)
    assert len(parse_edges(DEFAULT)) == 51
    assert parse_edges("3, 5,10:20:5") == (3, 5, 10, 15, 20)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("2,10", "below 3"),
        ("10,3", "do not ascend"),
        ("3,3", "do not ascend"),
        ("3", "two edges"),
        ("3,x", "is not a latency"),
        ("3:10", "FIRST:LAST:STEP"),
        ("3,100000", "too high"),
        ("3:60000:1", "FIRST:LAST:STEP"),
    ],
)
def test_edges_that_make_no_bins_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_edges(text)


def test_too_many_edges_are_refused() -> None:
    with pytest.raises(UsageError, match="too many"):
        checked_edges(range(3, 1000))


def scores(rate: float, phase: float, runs: int) -> list[Score]:
    return [score(rate, phase, seed) for seed in range(runs)]


def mean(found: list[Score], field: str) -> float:
    return float(np.mean([getattr(each, field) for each in found]))


def test_slow_phases_at_a_million_loads_a_second() -> None:
    found = scores(1e6, SLOW, 6)
    assert mean(found, "monotone") <= 0.04
    assert min(each.least for each in found) >= -1e-9


RESONANT = 0.5
"""Phases as long as a sweep: evenly spread readings do better there than they differ by."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "phase"),
    [
        *((20e3, phase) for phase in (0.005, FAST, RESONANT, SLOW)),
        *((100e3, phase) for phase in (FAST, RESONANT)),
        *((1e6, phase) for phase in (0.005, FAST, 0.1, RESONANT, 1.0, SLOW)),
    ],
)
def test_sweeps_beat_pairs_and_intervals_cover(rate: float, phase: float) -> None:
    found = scores(rate, phase, 60)
    assert mean(found, "monotone") <= 0.8 * mean(found, "pairs")
    assert mean(found, "plain") <= 0.8 * mean(found, "pairs")
    covered = sum(each.inside for each in found) / sum(each.judged for each in found)
    assert 0.93 <= covered <= 0.97
    assert min(each.least for each in found) >= -1e-9


@pytest.mark.slow
def test_slow_phases_over_many_seeds() -> None:
    assert mean(scores(1e6, SLOW, 60), "monotone") <= 0.04
