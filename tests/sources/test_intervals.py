"""Interval recording: ticks on a fixed grid, and slices that keep what is missing missing."""

from __future__ import annotations

import statistics

import pytest

from gnomon import _native
from gnomon.measure.run import differences
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Snapshot, Thread

from .helpers import open_counting, user_spec

INTERVAL = 5_000_000
TICKS = 80


def _tick_times() -> list[int]:
    """Return the times of ticks while the machine may be busy with other things."""
    seen: list[int] = []
    with open_counting("task-clock", Thread()) as counting:
        ticks = counting.ticks(INTERVAL, lambda: len(seen) >= TICKS)
        seen.extend(snapshot.time for snapshot in ticks)
    return seen[:-1]  # the last one is read when counting stops, not by the clock


def test_ticks_stay_on_their_grid() -> None:
    times = _tick_times()
    # How far each tick is from a whole number of intervals after the first.
    offsets = [(time - times[0] + INTERVAL // 2) % INTERVAL - INTERVAL // 2 for time in times]
    third = len(offsets) // 3
    early, late = statistics.median(offsets[:third]), statistics.median(offsets[-third:])
    # A clock that began anew with each tick would have gone astray by then.
    assert abs(late - early) < INTERVAL / 4


def test_the_mean_distance_of_ticks_is_the_interval() -> None:
    times = _tick_times()
    indices = [round((time - times[0]) / INTERVAL) for time in times]
    slope, _ = statistics.linear_regression(indices, times)
    assert slope == pytest.approx(INTERVAL, rel=0.02)
    assert times == sorted(set(times))


def test_ticks_that_come_too_late_are_counted_and_told() -> None:
    with open_counting("task-clock", Thread()) as counting:
        ticks = list(counting.ticks(1, lambda: True))  # no machine reads each nanosecond
    assert len(ticks) > 1
    assert any("came too late and were dropped" in text for text in counting.warnings)


def test_a_ticker_reads_nothing_after_its_stop() -> None:
    group = _native.Group([user_spec(1)], 0, -1)
    ticker = _native.Ticker([group], 100_000)
    ticker.start()
    while not ticker.drain():
        pass
    ticker.stop()
    ticker.drain()
    assert ticker.drain() == b""
    ticker.stop()
    group.close()


def test_a_group_that_cannot_be_read_gives_words_of_ones() -> None:
    group = _native.Group([user_spec(1)], 0, -1)
    group.close()
    ticker = _native.Ticker([group], 100_000)
    ticker.start()
    row = b""
    while not row:
        row = ticker.drain()
    ticker.stop()
    assert row[8 : 8 * ticker.row_words] == b"\xff" * 8 * (ticker.row_words - 1)


def _reading(value: int | None, enabled: int, running: int, time: int = 0) -> Reading:
    status = Status.COUNTED if value is not None else Status.NOT_COUNTED
    return Reading(time, "cycles", "process", value, enabled, running, status)


def _slice(before: Reading | None, after: Reading) -> Reading:
    earlier = None if before is None else Snapshot(before.time, (before,))
    [found] = differences(earlier, Snapshot(after.time, (after,)), run=7)
    return found


def test_a_slice_is_the_difference_of_values_and_times() -> None:
    found = _slice(_reading(100, 50, 40, 1), _reading(130, 70, 55, 2))
    assert found == Reading(2, "cycles", "process", 30, 20, 15, Status.COUNTED, 7)


def test_the_first_slice_begins_at_zero() -> None:
    assert _slice(None, _reading(100, 50, 40)).value == 100


def test_a_slice_without_its_turn_on_the_counter_has_no_value() -> None:
    found = _slice(_reading(100, 50, 40), _reading(100, 70, 40))
    assert found.value is None
    assert found.status is Status.NOT_COUNTED
    assert (found.enabled, found.running) == (20, 0)


def test_a_slice_in_which_the_task_slept_counted_zero() -> None:
    found = _slice(_reading(100, 50, 40), _reading(100, 50, 40))
    assert found.value == 0
    assert found.status is Status.COUNTED


def test_a_first_turn_after_a_wait_keeps_its_count() -> None:
    assert _slice(_reading(None, 50, 0), _reading(30, 70, 20)).value == 30


def test_a_refused_event_stays_refused() -> None:
    refused = Reading(0, "cycles", "process", None, 0, 0, Status.NOT_SUPPORTED)
    found = _slice(refused, refused)
    assert found.value is None
    assert found.status is Status.NOT_SUPPORTED


def test_places_are_kept_apart() -> None:
    before = Snapshot(1, tuple(_reading(10 * i, 5, 5)._replace(scope=f"cpu/{i}") for i in range(3)))
    after = Snapshot(2, tuple(_reading(11 * i, 6, 6)._replace(scope=f"cpu/{i}") for i in range(3)))
    assert [(r.scope, r.value) for r in differences(before, after)] == [
        ("cpu/0", 0),
        ("cpu/1", 1),
        ("cpu/2", 2),
    ]
