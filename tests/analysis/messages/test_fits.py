"""Fits over sizes on made data: parameters come back, switches are found, errors are told."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon import _native
from gnomon.analysis.messages.fits import (
    best_pieces,
    fit_curve,
    fit_hockney,
    predict,
    time_of,
)
from gnomon.analysis.messages.measure import SIZES
from gnomon.analysis.messages.result import Bench, Bins, Curve, Passes, Regime, Row, Timing
from gnomon.analysis.messages.statistics import times_over_sizes
from gnomon.messaging import Quantity
from gnomon.messaging.sessions import Histogram
from gnomon.views.blocks import Finding, Tone
from gnomon.views.describe.messages_bench import describe

X = np.array(SIZES, dtype=np.float64)
NOISE = 0.03


def noisy(times: np.ndarray, seed: int, noise: float = NOISE) -> np.ndarray:
    factors = np.exp(np.random.default_rng(seed).normal(0, noise, times.size))
    return np.asarray(times * factors)


def test_one_line_comes_back_without_noise() -> None:
    fit = fit_hockney(X, 5000 + 0.25 * X)
    [piece] = fit.segments
    assert piece.startup.value == pytest.approx(5000)
    assert piece.per_byte.value == pytest.approx(0.25)
    assert fit.error < 1e-9
    assert time_of(fit, 1000) == pytest.approx(5250)


@pytest.mark.parametrize("seed", range(3))
def test_noise_leaves_a_held_out_error_of_its_own_size(seed: int) -> None:
    fit = fit_hockney(X, noisy(5000 + 0.25 * X, seed))
    assert fit.error <= 0.1
    assert fit.segments[0].startup.value == pytest.approx(5000, rel=0.1)
    assert fit.segments[-1].per_byte.value == pytest.approx(0.25, rel=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_a_protocol_switch_is_found(seed: int) -> None:
    eager, rendezvous = 2000 + 0.5 * X, 30_000 + 0.1 * X
    fit = fit_hockney(X, noisy(np.where(X <= 16384, eager, rendezvous), seed))
    assert fit.error <= 0.1
    edges = [piece.largest for piece in fit.segments]
    assert 16384 in edges
    after = next(piece for piece in fit.segments if piece.smallest == 32768)
    assert after.startup.value == pytest.approx(30_000, rel=0.2)


def test_intervals_hold_what_made_the_data() -> None:
    held = [
        (
            piece.startup.low <= 5000 <= piece.startup.high,
            piece.per_byte.low <= 0.25 <= piece.per_byte.high,
        )
        for seed in range(24)
        for piece in fit_hockney(X, noisy(5000 + 0.25 * X, seed)).segments
        if piece.smallest == 0 and piece.largest == X[-1]
    ]
    assert len(held) > 15  # most of them are one piece, as they should be
    start, slope = np.mean(held, axis=0)
    assert start >= 0.85
    assert slope >= 0.85


@pytest.mark.parametrize("place", [3, 8, 12])
def test_a_size_measured_while_others_ran_moves_nothing_else(place: int) -> None:
    y = noisy(300 + 0.5 * X, 5)
    y[place] *= 3
    fit = fit_hockney(X, y)
    assert fit.error <= 0.1
    others = [time_of(fit, size) / (300 + 0.5 * size) for size in X if size != X[place]]
    assert max(abs(ratio - 1) for ratio in others) < 0.15


def test_times_never_fall_with_size() -> None:
    for piece in best_pieces(X, noisy(np.full(X.size, 1000.0), 3, 0.2)):
        assert piece.slope >= 0
    assert predict(best_pieces(X[:2], np.array([10.0, 20.0])), 5.0) > 0


def timing(size: int, value: float) -> Timing:
    within = Quantity(value, 0.98 * value, 1.02 * value)
    return Timing(size, 1, within, None, None, None, value, Bins((value,), (value,), (1,)))


def row(sizes: tuple[int, ...] = SIZES) -> Row:
    """A row made by LogGP: o_s 300, o_r 200, L 1500, g 400, G 0.5."""
    return Row(
        "pipe",
        Regime.AWAKE,
        (0, 1),
        tuple(timing(size, 2 * (2000 + 0.5 * size)) for size in sizes),
        tuple(timing(size, 300 + 0.1 * size) for size in sizes),
        tuple(timing(size, 200 + 0.1 * size) for size in sizes),
        tuple(timing(size, 400 + 0.5 * size) for size in sizes),
    )


def curve_of(found: Row) -> Curve | None:
    """Fit a row of which each time was taken once."""
    times = [np.array([timing.p50.value]) for timing in found.round_trips]
    return fit_curve(found, [Histogram(each, each, np.array([[1]])) for each in times])


def test_loggp_and_plogp_come_back() -> None:
    curve = curve_of(row())
    assert curve is not None
    loggp, plogp = curve.loggp, curve.plogp
    assert loggp is not None
    assert plogp is not None
    assert loggp.gap is not None
    assert loggp.latency.value == pytest.approx(1500)
    assert (loggp.send.value, loggp.receive.value, loggp.gap.value) == (300, 200, 400)
    assert loggp.gap_per_byte.value == pytest.approx(0.5)
    assert loggp.latency.low < 1500 < loggp.latency.high
    assert plogp.latency.value == pytest.approx(1600)
    assert [gap.value for gap in plogp.gaps] == pytest.approx([400 + 0.5 * m for m in SIZES])
    assert plogp.error < 0.01
    assert loggp.error < 0.01


def test_few_sizes_have_no_curve() -> None:
    assert curve_of(row((0, 64, 1024))) is None


def passed(times: list[float]) -> Histogram:
    """Return what passes of these times leave: a fast one has more messages, all have blocks."""
    bins = sorted(set(times))
    counts = np.zeros((len(times) * _native.NOTIFY_BLOCKS, len(bins)), dtype=np.int64)
    for number, time in enumerate(times):
        blocks = slice(number * _native.NOTIFY_BLOCKS, (number + 1) * _native.NOTIFY_BLOCKS)
        counts[blocks, bins.index(time)] = max(1, int(1e6 / time))
    return Histogram(np.array(bins), np.array(bins), counts)


NEAR, FAR = 100 + 0.1 * X, 400 + 0.4 * X


def passes_of(*rows: np.ndarray) -> list[Histogram]:
    return [passed(list(each)) for each in np.array(rows).T]


def test_passes_on_another_machine_are_left_out() -> None:
    moved = np.where(X < 1000, NEAR, FAR)  # in the middle of a pass
    lost = np.where(X == 4096, 8e6, FAR)  # while somebody else had the CPU
    times, passes = times_over_sizes(passes_of(FAR, lost, FAR, moved, FAR, NEAR, NEAR))
    assert [each.value for each in times] == pytest.approx(FAR)
    assert passes.count == 7
    assert passes.kept == 5
    assert passes.others == pytest.approx(0.25)


@pytest.mark.parametrize("near", [3, 4, 5])
def test_passes_of_two_machines_make_the_curve_of_one(near: int) -> None:
    times, passes = times_over_sizes(passes_of(*[NEAR] * near, *[FAR] * (8 - near)))
    assert [each.value for each in times] == pytest.approx(NEAR if near >= 4 else FAR)
    assert passes.kept == max(near, 8 - near)


def test_passes_that_agree_are_all_kept() -> None:
    rows = [noisy(FAR, seed) for seed in range(5)]
    alone = np.where(X == 0, 1e5, FAR)  # of the smallest size, before the first pass
    histograms = passes_of(*rows)
    histograms[0] = Histogram.joined([passed([float(alone[0])]), histograms[0]])
    times, passes = times_over_sizes(histograms)
    assert passes == Passes(5, 5)
    assert [each.value for each in times] == pytest.approx(FAR, rel=2 * NOISE)
    assert all(each.low <= each.value <= each.high for each in times)


def test_what_is_left_out_of_a_fit_is_said() -> None:
    rows = passes_of(FAR, FAR, FAR, NEAR)
    timings = tuple(timing(size, 1.0) for size in SIZES)
    curve = fit_curve(Row("poll", Regime.AWAKE, (0, 1), timings), rows)
    assert curve is not None
    bench = Bench((), curves=(curve,), error=0.01)
    [found] = [block for block in describe(bench) if isinstance(block, Finding)]
    assert found.tone is Tone.DOUBT
    assert found.text.startswith(
        "poll: 1 of 4 passes over sizes were discarded: messages in them were"
    )
    assert "4.0 times as fast" in found.text
