"""The compiled mixture and its twin say the same; what the mixture learns is right."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon._native import Mixture, MixtureOptions, smooth_mixture
from gnomon.analysis.estimate.mixture import AnalogueMixture
from gnomon.analysis.estimate.model import Layout, Tick, causal

from .series import in_turn, program
from .twin import Cell, Twin, smooth

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array

MEMORY = 6


def _options() -> MixtureOptions:
    options = MixtureOptions()
    options.memory = MEMORY
    return options


def _agree(result: Array, cells: list[list[Cell]]) -> None:
    # Both sum in the same order, but only one of them with fused operations on some machines.
    expected = np.array(cells).transpose(2, 0, 1)
    assert np.allclose(result, expected, rtol=1e-6, atol=1e-6, equal_nan=True)


_counts = st.one_of(
    st.just(0.0),
    st.integers(1, 50).map(float),
    st.floats(1, 1e9).map(round).map(float),
)
_spoilt = st.sampled_from([float("nan"), float("inf"), -1.0])
_cells = st.one_of(*[_counts] * 12, _spoilt)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Fixed counters, counts and ends of rotations of a short run, with mistakes in it."""
    events = draw(st.integers(1, 3))
    fixed = draw(st.integers(1, 2))
    rows = draw(st.integers(1, 24))
    read = np.full((rows, events), np.nan)
    for row in range(rows):
        for event in range(events):
            if row % events == event or draw(st.integers(0, 9)) == 0:
                read[row, event] = draw(_cells)
    some = [[draw(_cells) for _ in range(fixed)] for _ in range(rows)]
    ends = (np.arange(rows) + 1) % events == 0
    return np.array(some, dtype=float).reshape(rows, fixed), read, ends


@settings(deadline=None, max_examples=30)
@given(runs(), st.integers(0, 3))
def test_filter_and_twin_agree(run: tuple[Array, Array, Array], calibrated: int) -> None:
    fixed, counts, ends = run
    rows, events = counts.shape
    native = Mixture(events, fixed.shape[1], _options())
    twin = Twin(events, fixed.shape[1], MEMORY)
    if calibrated:
        known, before = program(calibrated * 5, events)
        before = np.ascontiguousarray(before[:, : fixed.shape[1]])
        native.calibrate(before, known, events)
        twin.calibrate(before.tolist(), known.tolist(), events)
    for row in range(rows):
        native.push(fixed[row], counts[row], bool(ends[row]))
        twin.push(fixed[row].tolist(), counts[row].tolist(), bool(ends[row]))
        if ends[row] or row == rows - 1:
            ticks = min(events, row + 1)
            result = np.empty((4, ticks, events))
            native.recent(result)
            _agree(result, twin.recent(ticks))
    ahead = np.empty((4, 3, events))
    native.ahead(ahead)
    _agree(ahead, twin.ahead(3))


@settings(deadline=None, max_examples=30)
@given(runs())
def test_smoother_and_twin_agree(run: tuple[Array, Array, Array]) -> None:
    fixed, counts, ends = run
    result = np.empty((4, *counts.shape))
    smooth_mixture(fixed, counts, ends, _options(), result)
    _agree(result, smooth(fixed.tolist(), counts.tolist(), ends.tolist(), MEMORY))


def test_old_readings_are_forgotten() -> None:
    """A filter that has run for long says what one says that saw only the end."""
    counts, fixed = program(60, 2)
    readings = in_turn(counts, fixed)
    native = Mixture(2, 2, _options())
    twin = Twin(2, 2, MEMORY)
    for row in range(len(readings)):
        tick = readings.tick(row)
        native.push(tick.fixed, tick.counts, tick.ends_rotation)
        twin.push(tick.fixed.tolist(), tick.counts.tolist(), tick.ends_rotation)
    result = np.empty((4, 2, 2))
    native.recent(result)
    _agree(result, twin.recent(2))
    assert native.kept == 60


def test_phases_are_recognised_by_the_fixed_counters() -> None:
    counts, fixed = program(800, 5)
    estimates = causal(AnalogueMixture(), in_turn(counts, fixed))
    late = slice(400, None)
    wrong = np.abs(estimates.mean - counts)[late].sum(axis=0) / counts[late].sum(axis=0)
    assert (wrong < 0.12).all()  # the noise is 5 %, phases differ by orders of magnitude


def test_a_calibration_is_worth_having() -> None:
    counts, fixed = program(300, 5)
    readings = in_turn(counts[150:], fixed[150:])
    known = in_turn(counts[:150], fixed[:150])
    calibration = type(known)(
        known.layout, known.seconds, known.fixed, counts[:150], known.ends_rotation
    )
    without = causal(AnalogueMixture(), readings)
    with_it = causal(AnalogueMixture(), readings, calibration)
    first = slice(0, 40)
    for_certain = np.abs(with_it.mean - counts[150:])[first].sum(axis=0)
    for_now = np.abs(without.mean - counts[150:])[first].sum(axis=0)
    assert (for_certain < for_now).all()


def test_a_reading_unlike_anything_before_stands_for_its_rotation() -> None:
    events = 4
    counts: Array = np.full((80, events), 100.0)
    counts += np.arange(80)[:, None] % 3
    counts[72:76] = 5000.0
    fixed = np.full((80, 1), 1e6)
    estimates = causal(AnalogueMixture(), in_turn(counts, fixed))
    assert np.allclose(estimates.mean[72:76], 5000.0)
    assert (estimates.mean[76:] < 5100).all()


def test_when_the_fixed_counters_no_longer_tell_readings_are_believed() -> None:
    random = np.random.default_rng(1)
    rows, events = 800, 4
    busy = np.repeat(random.integers(0, 2, rows // 5), 5)
    level = np.where(busy, 1000.0, 100.0)
    # Not at the ends of rotations, where linear scaling would be right by chance.
    lasting = np.repeat(random.uniform(100, 1000, rows // 42 + 1), 42)[:rows]
    level[rows // 2 :] = lasting[rows // 2 :]
    counts = (level[:, None] * random.uniform(0.95, 1.05, (rows, events))).round()
    fixed = np.where(busy, 3e6, 1e6)[:, None] * random.uniform(0.99, 1.01, (rows, 1))
    taken = in_turn(counts, fixed)
    truth, estimated = (
        each[700:].reshape(-1, events, events).sum(axis=1)
        for each in (counts, causal(AnalogueMixture(), taken).mean)
    )
    scaled = events * np.nansum(taken.counts[700:].reshape(-1, events, events), axis=1)
    wrong, reference = (np.abs(each - truth).sum(axis=0) for each in (estimated, scaled))
    assert wrong.sum() < 1.05 * reference.sum()
    assert (wrong < 2 * reference).all()  # one of four is 1.6 times as wrong here


@pytest.mark.parametrize(("read_in", "stands_for"), [([73], 4), ([71, 73], 1)])
def test_a_surprise_stands_for_itself_beside_a_reading_as_foreseen(
    read_in: list[int], stands_for: int
) -> None:
    counts: Array = np.random.default_rng(3).normal(100.0, 20.0, (80, 4)).round()
    counts[73, 0] = 5000.0
    taken = in_turn(counts, np.full((80, 1), 1e6))
    read = taken.counts.copy()
    read[68:76] = np.nan
    read[read_in, 0] = counts[read_in, 0]
    estimates = causal(AnalogueMixture(), dataclasses.replace(taken, counts=read))
    assert (estimates.mean[72:76, 0] > 4000).sum() == stands_for


def test_without_fixed_counters_counts_follow_the_length_of_ticks() -> None:
    seconds = np.tile([1.0, 1.0, 4.0, 4.0, 1.0, 1.0, 2.0], 40)
    counts = np.round(seconds[:, None] * [1000.0, 70.0, 5e6])
    taken = in_turn(counts, np.empty((len(seconds), 0)))
    estimates = causal(AnalogueMixture(), dataclasses.replace(taken, seconds=seconds))
    assert np.allclose(estimates.mean[60:], counts[60:])


def test_refused_readings_are_counted() -> None:
    filter_ = Mixture(3, 1, _options())
    nothing = np.ones(1)
    filter_.push(nothing, np.array([np.inf, np.nan, 1.0]), True)
    filter_.push(nothing, np.array([-1.0, np.nan, 1.0]), True)
    assert filter_.refused == [2, 0, 0]


@pytest.mark.parametrize(("count", "highest"), [(100.0, 200.0), (0.0, 1.0)])
def test_a_single_reading_makes_nobody_certain(count: float, highest: float) -> None:
    layout = Layout(("a", "b"), (), ((0,), (1,)))
    filter_ = AnalogueMixture().begin(layout)
    filter_.push(Tick(1.0, np.empty(0), np.array([count, np.nan]), ends_rotation=False))
    filter_.push(Tick(1.0, np.empty(0), np.array([np.nan, 5.0]), ends_rotation=True))
    found = filter_.recent(1)
    assert found.mean[0, 0] == count
    assert found.low[0, 0] == 0
    assert highest <= found.high[0, 0] < 1.1 * highest
    assert filter_.ahead(1).high[0, 0] >= highest


@pytest.mark.parametrize("shape", [(4, 1, 2), (3, 1, 3), (4, 2, 3)])
def test_results_must_fit(shape: tuple[int, int, int]) -> None:
    filter_ = Mixture(3, 1, _options())
    filter_.push(np.ones(1), np.ones(3), True)
    with pytest.raises((ValueError, IndexError)):
        filter_.recent(np.empty(shape))


def test_a_surprise_is_taken_back_by_a_second_reading_in_its_rotation() -> None:
    layout = Layout(tuple("abcd"), ("clock",), tuple((place,) for place in range(4)))
    filter_ = AnalogueMixture().begin(layout)
    random = np.random.default_rng(2)

    def push(event: int, value: float, last: bool) -> None:
        counts = np.full(4, np.nan)
        counts[event] = value
        filter_.push(Tick(0.02, np.array([random.uniform(0.99, 1.01) * 1e6]), counts, last))

    for _ in range(30):
        for event in range(4):
            push(event, 100 * random.uniform(0.95, 1.05), event == 3)
    push(1, 100.0, False)
    push(0, 5000.0, False)
    push(0, 100.0, False)
    push(2, 100.0, True)
    first = filter_.recent(4).mean[:, 0]
    assert first[1] == 5000.0
    assert (first[[0, 3]] < 200).all()
