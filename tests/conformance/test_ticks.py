"""Interval recording: ticks in order, whose differences add up to the totals."""

from __future__ import annotations

import pytest

from gnomon.errors import StateError
from gnomon.measure.run import differences
from gnomon.sources.base import Snapshot

from .case import Bench
from .checks import check_missing_is_not_zero, check_never_backwards, totals
from .traces import traces

INTERVAL = 2_000_000


def test_times_increase_and_totals_never_go_backwards(bench: Bench) -> None:
    with bench.open(bench.case.brief) as counting:
        snapshots = list(counting.ticks(INTERVAL, lambda: False))
    assert len(snapshots) > 1
    times = [snapshot.time for snapshot in snapshots]
    assert times == sorted(set(times))
    check_never_backwards(snapshots)
    for snapshot in snapshots:
        check_missing_is_not_zero(snapshot)


def test_differences_add_up_to_the_final_totals(bench: Bench) -> None:
    with bench.open(bench.case.brief) as counting:
        snapshots = list(counting.ticks(INTERVAL, lambda: False))
        final = counting.read()
    assert snapshots[-1] == final
    sums = dict.fromkeys(totals(final), 0)
    times = dict.fromkeys(totals(final), 0)
    before: Snapshot | None = None
    for snapshot in snapshots:
        for reading in differences(before, snapshot):
            assert reading.value is None or reading.value >= 0
            sums[reading.event] += reading.value or 0
            times[reading.event] += reading.enabled
        before = snapshot
    assert sums == totals(final)
    assert all(sums.values())
    assert sum(times.values()) == sum(reading.enabled for reading in final.readings)


def test_ticks_end_with_the_command(bench: Bench) -> None:
    with bench.open(bench.case.brief) as counting:
        for _ in counting.ticks(INTERVAL, lambda: False):
            pass
        assert counting.exit_status == 0


def test_ticks_end_when_told(bench: Bench) -> None:
    seen: list[Snapshot] = []
    with bench.open(bench.case.lengthy) as counting:
        seen.extend(counting.ticks(INTERVAL, lambda: True))
        assert counting.exit_status is None
        assert counting.read() == seen[-1]


def test_refused_events_are_in_every_tick(bench: Bench) -> None:
    if not bench.case.refused:
        pytest.skip("this machine counts every event that was tried")
    with bench.open(bench.case.brief, f"{bench.case.refused},{bench.case.event_list}") as counting:
        snapshots = list(counting.ticks(INTERVAL, lambda: False))
    for snapshot in snapshots:
        [reading] = [r for r in snapshot.readings if r.event == bench.case.refused]
        assert reading.value is None


def test_reading_between_ticks_agrees_with_them(bench: Bench) -> None:
    snapshots: list[Snapshot] = []
    with bench.open(bench.case.brief) as counting:
        for tick in counting.ticks(INTERVAL, lambda: False):
            now = counting.read()
            for label, value in totals(tick).items():
                assert totals(now)[label] >= value
            snapshots.append(now)
    check_never_backwards(snapshots)


def test_ticks_end_after_a_stop_between_them(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as counting:
        ticks = iter(counting.ticks(INTERVAL, lambda: False))
        next(ticks)
        final = counting.stop()
        *_, last = ticks
        assert last == final


def test_giving_up_the_iteration_leaves_nothing_running(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as counting:
        before = traces()
        for _ in counting.ticks(INTERVAL, lambda: False):
            break
        assert not before.added()
        assert counting.read() == counting.read()


def test_closing_between_ticks_ends_them(bench: Bench) -> None:
    for _ in range(20):
        counting = bench.open(bench.case.lengthy)
        ticks = iter(counting.ticks(100_000, lambda: False))
        next(ticks)
        counting.close()
        with pytest.raises((StopIteration, StateError)):
            next(ticks)


def test_an_exception_between_ticks_passes_through(bench: Bench) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        bench.open(bench.case.lengthy) as counting,
    ):
        for _ in counting.ticks(INTERVAL, lambda: False):
            raise ZeroDivisionError
