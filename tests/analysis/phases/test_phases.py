"""Phases of series: planted breaks are found, noise is left whole."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.analysis.phases import PhasesResult, Shape
from gnomon.errors import GnomonError, UsageError
from gnomon.views.show import show

from .twins import Floats

POINTS = 150


def _noise(seed: int, memory: float = 0.0, points: int = POINTS) -> Floats:
    noise = np.random.default_rng(seed).normal(size=points)
    for i in range(1, points):
        noise[i] += memory * noise[i - 1]
    return noise


def _phases(values: Floats, **options: Any) -> PhasesResult:
    return gn.phases((np.arange(values.size) * 10.0, values), **options)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_a_ramp_that_ends_is_found_within_a_sample(seed: int, memory: float) -> None:
    at = 40 + 7 * seed
    ramp = np.minimum(np.arange(POINTS), at) * 4.0
    result = _phases(ramp + 0.5 * _noise(seed, memory))
    [found] = result.breaks
    assert abs(found.time - 10 * at) <= 10
    assert found.low <= 10 * at <= found.high
    assert result.phases[0].fits[0].slope == pytest.approx(0.4, rel=0.02)
    assert result.phases[1].fits[0].slope == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_a_jump_is_found_to_the_sample(seed: int) -> None:
    at = 30 + 15 * seed
    result = _phases(np.where(np.arange(POINTS) < at, 0.0, 20.0) + _noise(seed))
    assert [found.index for found in result.breaks] == [at]
    assert result.shape is Shape.LEVELS


def test_up_then_level_then_down_are_three_phases() -> None:
    t = np.arange(200.0)
    shape = np.minimum(t, 60) * 3 - np.maximum(t - 140, 0) * 2
    result = _phases(shape + 0.3 * _noise(1, points=200))
    assert [
        abs(found.index - true) <= 2 for found, true in zip(result.breaks, (60, 140), strict=True)
    ]
    assert len(result) == 3


def test_a_walk_with_a_clear_break_is_split() -> None:
    """The noise of a footprint adds up; a ramp of a hundred times its steps stands out."""
    ramp = np.minimum(np.arange(POINTS), 60) * 5.0
    result = _phases(ramp + np.cumsum(0.1 * _noise(3)))
    assert [abs(found.index - 60) <= 1 for found in result.breaks] == [True]


@pytest.mark.parametrize("memory", [0.0, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("shape", ["auto", "levels"])
def test_noise_is_hardly_ever_split(memory: float, shape: str) -> None:
    results = [_phases(_noise(seed, memory, 80), shape=shape) for seed in range(100)]
    split = sum(len(result) > 1 for result in results)
    assert split <= 8  # 5 % are allowed; more than 8 of 100 would be bad luck in 6 % of runs


def test_allocations_at_random_are_hardly_ever_split() -> None:
    split = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        sizes = draw.exponential(1e6, 120) * (draw.random(120) < 0.3)
        split += len(_phases(np.cumsum(sizes))) > 1
    assert split <= 6


def test_the_refusal_says_why() -> None:
    result = _phases(np.cumsum(_noise(5)))
    assert len(result) == 1
    assert result.decision.startswith("one phase: BIC would have")
    assert [choice.chosen for choice in result.choices].count(True) == 1
    assert any(choice.p_value for choice in result.choices)


def test_one_outlier_is_not_a_phase() -> None:
    values = 0.1 * _noise(1)
    values[-2] = -100.0
    assert len(_phases(values)) == 1


def test_a_straight_line_and_a_constant_stay_whole() -> None:
    assert len(_phases(np.arange(50.0) * 4096)) == 1
    result = _phases(np.full(50, 7.0))
    assert result.decision == "one phase: values never changes"


def test_without_noise_a_break_is_exact() -> None:
    result = _phases(np.minimum(np.arange(80.0), 33) * 4096)
    assert len(result) == 2
    assert result.breaks[0].time == pytest.approx(330)
    assert result.phases[1].fits[0].slope == 0
    assert result.phases[0].fits[0].growth == pytest.approx(33 * 4096)


def test_an_offset_of_a_terabyte_changes_neither_breaks_nor_slopes() -> None:
    values = np.round(np.minimum(np.arange(POINTS), 60) * 4096 + 100 * _noise(1))
    plain, shifted = _phases(values), _phases(values + 1e12)
    assert [found.time for found in shifted.breaks] == [found.time for found in plain.breaks]
    for one, other in zip(plain.phases, shifted.phases, strict=True):
        assert other.fits[0].slope == one.fits[0].slope


def test_intervals_of_breaks_cover() -> None:
    """Of breaks in noise that hides the sample, 95 % intervals should hold the true one."""
    covered = found = 0
    for seed in range(80):
        at = 40 + seed % 60
        result = _phases(
            np.where(np.arange(POINTS) < at, 0.0, 1.5) + _noise(seed), exactly=2, shape="levels"
        )
        [one] = result.breaks
        found += 1
        covered += one.low <= 10 * at - 5 <= one.high
    assert covered / found >= 0.88


def test_series_are_split_together() -> None:
    times = np.arange(POINTS, dtype=np.float64) * 10
    first = gn.PhaseSeries("a", times, np.where(times < 500, 0.0, 9.0) + _noise(1))
    second = gn.PhaseSeries("b", times, 1e9 * (np.where(times < 1000, 0.0, 9.0) + _noise(2)))
    result = gn.phases((first, second), shape="levels")
    assert [found.index for found in result.breaks] == [50, 100]
    assert [fit.series for fit in result.phases[0].fits] == ["a", "b"]


def test_times_need_not_be_regular() -> None:
    draw = np.random.default_rng(1)
    times = np.cumsum(draw.uniform(0.1, 30.0, 200))
    values = np.minimum(times, times[90]) + draw.normal(0, 5, 200)
    [found] = gn.phases((times, values)).breaks
    assert found.low <= times[90] <= found.high


def test_many_points_are_split_in_more_than_two() -> None:
    t = np.arange(60_000.0)
    values = np.where(t < 20_000, 0.0, np.where(t < 45_678, 5.0, -5.0)) + _noise(1, points=60_000)
    result = gn.phases((t, values), shape="levels")
    assert [
        abs(found.index - true) <= 2
        for found, true in zip(result.breaks, (20_000, 45_678), strict=True)
    ]
    assert "60,000 points" in result.warnings[0]


def test_a_brief_last_phase_of_a_long_run_is_found() -> None:
    t = np.arange(5_000.0)
    values = np.where(t < 4_980, 0.0, 50.0) + _noise(1, points=5_000)
    assert [found.index for found in gn.phases((t, values)).breaks] == [4_980]


def test_so_many_phases_can_be_asked_for() -> None:
    result = _phases(_noise(1), exactly=3)
    assert len(result) == 3
    assert result.decision == "3 phases, as asked for"
    assert all(found.p_value is None for found in result.breaks)


@pytest.mark.parametrize(
    ("times", "values", "words"),
    [
        ([0, 1, 2, 3], [1, 2, 3, 4], "too few to split"),
        (range(20), [*range(19), np.nan], "not a number"),
        (range(20), [*range(19), np.inf], "not a number"),
        ([*range(19), 18], range(20), "must ascend"),
        ([*range(19), 3], range(20), "must ascend"),
        (range(20), range(19), "same length"),
    ],
)
def test_bad_series_are_refused_in_words(times: Any, values: Any, words: str) -> None:
    with pytest.raises(GnomonError, match=words):
        gn.phases((times, values))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_phases": 0}, "must be at least 1"),
        ({"exactly": 0}, "must be at least 1"),
        ({"min_points": 2}, "at least 3 points"),
        ({"shape": "hinge", "exactly": 3}, "a hinge has two phases"),
        ({"shape": "round"}, "'round' is not a shape"),
        ({"by": " , "}, "nothing to split by"),
    ],
)
def test_bad_options_are_refused_in_words(options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _phases(_noise(1), **options)


def test_what_is_no_series_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="times and values"):
        gn.phases(3)
    with pytest.raises(GnomonError, match="too few for 9 phases"):
        _phases(_noise(1, points=20), exactly=9)
    assert len(_phases(_noise(1, points=20), max_phases=10**9)) == 1


def _footprint(*plateaus: tuple[float, int]) -> Floats:
    return np.concatenate([np.full(points, level) for level, points in plateaus])


# Resident memory in MiB every 10 ms, as read: three arrays in turn, filled, worked on, and freed.
_IMPORTS = [
    7.5,
    7.5,
    8.0,
    9.1,
    9.7,
    11.8,
    13.9,
    15.5,
    15.5,
    16.2,
    17.4,
    18.0,
    18.0,
    18.0,
    18.6,
    18.7,
]
_IMPORTS += [
    18.9,
    19.3,
    19.9,
    20.2,
    20.9,
    20.9,
    21.2,
    21.7,
    21.8,
    21.8,
    22.3,
    22.4,
    23.7,
    24.0,
    24.8,
]
_ROUNDS = _footprint((40.2, 27), (70.3, 1), (70.7, 66), (47.8, 54), (24.9, 5))
_NUMPY = np.concatenate((_IMPORTS, _ROUNDS))
# The same of sqlite3: inserts, an index, and queries.
_SORTING = np.linspace(5.6, 7.9, 22)
_SQLITE = _footprint((3.99, 6), (5.72, 5), (5.945, 43), (8.004, 120), (5.6, 1))
_SQLITE = np.concatenate((_SQLITE, _SORTING, _footprint((8.0, 140))))


def test_three_rounds_of_numpy_come_apart() -> None:
    result = _phases(2.0**20 * _NUMPY)
    steps = [np.argmax(_NUMPY >= 40), np.argmax(_NUMPY >= 70), _NUMPY.size - 59, _NUMPY.size - 5]
    assert [found.index for found in result.breaks][-4:] == steps
    assert len(result) <= 6
    for phase in result.phases[-4:]:
        assert phase.fits[0].slope == 0
    rounds = [phase.fits[0].final for phase in result.phases[-4:]]
    assert rounds == [mib * 2**20 for mib in (40.2, 70.7, 47.8, 24.9)]


def test_insert_index_and_select_of_sqlite_come_apart() -> None:
    result = _phases(2.0**20 * _SQLITE)
    found = [each.index for each in result.breaks]
    assert {54, 174} <= set(found)  # where the index begins, and where it is written
    assert any(abs(index - 195) <= 3 for index in found)


def test_the_kernels_of_stream_come_apart_by_what_they_load_and_store() -> None:
    """Copy and scale load and store alike, and so do add and triad; two of three come apart."""
    draw = np.random.default_rng(1)
    loads = np.repeat([1.5e9, 4.7e9, 5.25e9], (34, 50, 77)) * draw.normal(1, 0.01, 161)
    stores = np.repeat([0.9e9, 1.58e9, 1.05e9], (34, 50, 77)) * draw.normal(1, 0.01, 161)
    times = np.arange(161.0)
    series = [
        gn.PhaseSeries(name, times, values, "/s", is_rate=True)
        for name, values in (("loads", loads), ("stores", stores))
    ]
    assert [found.index for found in gn.phases(series).breaks] == [34, 84]


def test_a_level_is_never_told_as_a_rate_and_never_negative() -> None:
    """A ramp that bends lets its line begin below nothing: memory does not."""
    bent: Floats = np.concatenate((np.linspace(0, 8, 40) ** 2 * 1e6, np.full(80, 64e6)))
    times = 10e6 * np.arange(bent.size, dtype=np.float64)
    series = gn.PhaseSeries("footprint:rss", times, bent, "B")
    result = gn.phases(series, exactly=2, shape="lines")
    assert all(fit.first >= 0 <= fit.last for phase in result.phases for fit in phase.fits)
    assert result.phases[1].fits[0].slope == 0
    for phase in result.phases:
        [fit] = phase.fits
        assert fit.peak is not None
        assert fit.final is not None
        assert 0 <= fit.level <= fit.peak
    assert "/s" not in result.headline
    stream = io.StringIO()
    show(result, stream)
    assert "B/s" not in stream.getvalue()
