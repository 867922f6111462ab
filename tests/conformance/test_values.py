"""Counts are totals that never go backwards, and what is missing is never zero."""

from __future__ import annotations

import itertools

import pytest

from gnomon.errors import NotPermittedError, NotSupportedError
from gnomon.recording.contents import Status
from gnomon.sources.base import Thread

from .case import Bench
from .checks import (
    check_missing_is_not_zero,
    check_never_backwards,
    check_one_sentence,
    totals,
)

READS = 300


def test_every_event_counts_something_over_the_brief_command(bench: Bench) -> None:
    with bench.open(bench.case.brief) as counting:
        counting.start()
        assert counting.wait()
        final = counting.stop()
    counted = totals(final)
    for request in counting.requests:
        assert counted[request.label] > 0
    check_missing_is_not_zero(final)


def test_totals_never_go_backwards_over_many_reads(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as counting:
        counting.start()
        snapshots = [counting.read() for _ in range(READS)]
        snapshots.append(counting.stop())
        snapshots.append(counting.read())
    assert len(snapshots[-1].readings) >= len(counting.requests)
    check_never_backwards(snapshots)


def test_totals_of_own_thread_grow_with_its_work(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    with bench.open(Thread()) as counting:
        counting.start()
        snapshots = [counting.read()]
        for _ in range(20):
            bench.case.work()
            snapshots.append(counting.read())
    check_never_backwards(snapshots)
    for earlier, later in itertools.pairwise(snapshots):
        for label, value in totals(earlier).items():
            assert totals(later)[label] > value


def test_stop_freezes_the_values(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as counting:
        counting.start()
        final = counting.stop()
        assert not counting.wait(0.01)
        assert counting.read() == final
        assert counting.read() == final


def test_stop_freezes_what_a_thread_does_afterwards(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    with bench.open(Thread()) as counting:
        counting.start()
        bench.case.work()
        final = counting.stop()
        bench.case.work()
        assert counting.read() == final


def test_every_request_appears_in_every_snapshot(bench: Bench) -> None:
    events = bench.case.event_list
    if bench.case.refused:
        events += f",{bench.case.refused}"
    with bench.open(bench.case.brief, events) as counting:
        labels = {request.label for request in counting.requests}
        counting.start()
        first = counting.read()
        counting.wait()
        final = counting.stop()
    assert len(labels) == len(counting.requests)
    assert {reading.event for reading in first.readings} == labels
    assert {reading.event for reading in final.readings} == labels


def test_a_group_counts_like_its_members(bench: Bench) -> None:
    with bench.open(bench.case.brief, f"{{{bench.case.event_list}}}") as counting:
        counting.start()
        counting.wait()
        final = counting.stop()
    assert set(totals(final)) == set(bench.case.events)
    assert all(totals(final).values())
    check_missing_is_not_zero(final)


def test_a_refused_event_has_a_status_and_no_value(bench: Bench) -> None:
    if not bench.case.refused:
        pytest.skip("this machine counts every event that was tried")
    events = f"{bench.case.refused},{bench.case.event_list}"
    with bench.open(bench.case.brief, events) as counting:
        refused = counting.refused
        counting.start()
        counting.wait()
        snapshots = [counting.read(), counting.stop()]
    assert [reading.event for reading in refused] == [bench.case.refused]
    for readings in (refused, *(snapshot.readings for snapshot in snapshots)):
        [reading] = [r for r in readings if r.event == bench.case.refused]
        assert reading.value is None
        assert reading.status in (Status.NOT_SUPPORTED, Status.NOT_PERMITTED)
        assert (reading.enabled, reading.running) == (0, 0)
    assert any(bench.case.refused in warning for warning in counting.warnings)
    for snapshot in snapshots:
        check_missing_is_not_zero(snapshot)


def test_a_refused_member_does_not_take_its_group_along(bench: Bench) -> None:
    if not bench.case.refused:
        pytest.skip("this machine counts every event that was tried")
    events = f"{{{bench.case.event_list},{bench.case.refused}}}"
    with bench.open(bench.case.brief, events) as counting:
        counting.start()
        counting.wait()
        final = counting.stop()
    assert set(totals(final)) == set(bench.case.events)


def test_an_exact_counting_counts_all_the_time(bench: Bench) -> None:
    with bench.source.open(bench.groups(), bench.case.brief, exact=True) as counting:
        counting.start()
        counting.wait()
        final = counting.stop()
    assert all(totals(final).values())
    for reading in final.readings:
        assert reading.status is Status.COUNTED
        assert reading.running == reading.enabled


def test_an_exact_counting_refuses_what_cannot_be_counted(bench: Bench) -> None:
    if not bench.case.refused:
        pytest.skip("this machine counts every event that was tried")
    groups = bench.groups(f"{bench.case.event_list},{bench.case.refused}")
    with pytest.raises((NotSupportedError, NotPermittedError), match=bench.case.refused) as caught:
        bench.source.open(groups, bench.case.brief, exact=True)
    check_one_sentence(caught.value)


def test_a_command_that_was_not_waited_for_has_counts(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as counting:
        counting.start()
        final = counting.stop()
        assert counting.exit_status is None
    assert {reading.event for reading in final.readings} == set(bench.case.events)


def test_the_end_of_the_command_brings_the_values_without_a_stop(bench: Bench) -> None:
    with bench.open(bench.case.brief) as counting:
        counting.start()
        early = counting.read()
        counting.wait()
        late = counting.read()
        final = counting.stop()
    check_never_backwards([early, late, final])
    check_missing_is_not_zero(early)
    assert all(totals(late).values())
    assert totals(late) == totals(final)
    # A source that knows values at the end only must not keep quiet about it.
    assert set(totals(early)) == set(bench.case.events) or counting.warnings
