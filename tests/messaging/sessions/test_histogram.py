"""Histograms of times: the kernel's bins against plain arithmetic, quantiles against samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon import _native
from gnomon.messaging.sessions import Histogram

MOST = (1 << 40) - 1


def twin_bin(ticks: int) -> int:
    """Return the bin of a time, counted one by one: 64 of width 1, then 32 for each doubling."""
    ticks = min(ticks, MOST)
    if ticks < 64:
        return ticks
    doublings = ticks.bit_length() - 6
    return 64 + (doublings - 1) * 32 + (ticks >> doublings) - 32


@given(st.integers(0, 1 << 45))
def test_bins_are_those_of_the_twin(ticks: int) -> None:
    assert _native.notify_bin(ticks) == twin_bin(ticks)


@given(st.integers(0, MOST))
def test_a_time_lies_in_its_bin_which_is_narrow(ticks: int) -> None:
    number = _native.notify_bin(ticks)
    low, high = (_native.notify_bin_start(number + more) for more in (0, 1))
    assert low <= ticks < high
    assert high - low <= max(1, low / 31)


def histogram_of(nanoseconds: list[float], blocks: int = 1) -> Histogram:
    rows: dict[tuple[int, int], int] = {}
    for place, value in enumerate(nanoseconds):
        key = place % blocks, _native.notify_bin(int(value * _native.NOTIFY_TICKS_A_NS))
        rows[key] = rows.get(key, 0) + 1
    return Histogram.of_rows([(*key, count) for key, count in rows.items()], blocks)


@given(
    st.lists(st.floats(1, 1e9), min_size=1, max_size=60),
    st.sampled_from((0.5, 0.9, 0.99)),
    st.integers(1, 4),
)
def test_quantiles_are_those_of_the_samples(times: list[float], share: float, blocks: int) -> None:
    found = histogram_of(times, blocks)
    assert found.total == len(times)
    exact = float(np.quantile(times, share, method="inverted_cdf"))
    assert found.quantile(share) == pytest.approx(exact, rel=0.04, abs=0.2)
    assert found.mean == pytest.approx(np.mean(times), rel=0.04, abs=0.2)


@given(st.lists(st.lists(st.floats(1, 1e6), min_size=1, max_size=20), min_size=1, max_size=4))
def test_joined_histograms_keep_all_times_in_blocks_of_their_own(parts: list[list[float]]) -> None:
    joined = Histogram.joined([histogram_of(part) for part in parts])
    assert joined.counts.sum(1).tolist() == [len(part) for part in parts]
    whole = histogram_of([time for part in parts for time in part])
    assert joined.quantile(0.5) == whole.quantile(0.5)
    assert (joined.high > joined.low).all()


def test_nothing_has_no_quantile() -> None:
    assert np.isnan(Histogram.of_rows([], 1).quantile(0.5))
