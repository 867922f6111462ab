"""Calls in the wrong order are refused with a StateError, and change nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gnomon.errors import StateError, UsageError
from gnomon.sources.base import Counting, Thread

from .case import Bench
from .checks import check_never_backwards, check_one_sentence, totals

INTERVAL = 5_000_000


def _first_tick(counting: Counting) -> object:
    return next(iter(counting.ticks(INTERVAL, lambda: True)))


def _refused(call: Callable[[], object]) -> None:
    with pytest.raises(StateError) as caught:
        call()
    check_one_sentence(caught.value)


def test_nothing_but_start_is_allowed_before_the_start(bench: Bench) -> None:
    with bench.open(bench.case.brief) as counting:
        _refused(counting.read)
        _refused(counting.stop)
        _refused(lambda: counting.wait(0))
        counting.start()
        counting.wait()
        assert all(totals(counting.stop()).values())


def test_a_second_start_is_refused_while_running(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as counting:
        counting.start()
        _refused(counting.start)
        _refused(lambda: _first_tick(counting))
        counting.read()
        counting.stop()


def test_a_second_stop_is_refused(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as counting:
        counting.start()
        final = counting.stop()
        _refused(counting.stop)
        assert counting.read() == final


def test_a_command_cannot_be_started_again(bench: Bench) -> None:
    with bench.open(bench.case.brief) as counting:
        counting.start()
        counting.wait()
        counting.stop()
        _refused(counting.start)


def test_a_restarted_counting_goes_on_from_its_totals(bench: Bench) -> None:
    if not (bench.case.restarts and bench.case.threads):
        pytest.skip("the source cannot start a counting again")
    with bench.open(Thread()) as counting:
        counting.start()
        bench.case.work()
        first = counting.stop()
        bench.case.work()
        counting.start()
        bench.case.work()
        second = counting.stop()
    check_never_backwards([first, second])
    for label, value in totals(first).items():
        assert totals(second)[label] > value


def test_nothing_is_allowed_after_close(bench: Bench) -> None:
    counting = bench.open(bench.case.brief)
    counting.start()
    counting.close()
    for call in (counting.start, counting.read, counting.stop, lambda: _first_tick(counting)):
        _refused(call)


def test_close_may_come_at_any_time_and_again(bench: Bench) -> None:
    ready, running, stopped = (bench.open(bench.case.lengthy) for _ in range(3))
    running.start()
    stopped.start()
    stopped.stop()
    for counting in (ready, running, stopped):
        counting.close()
        counting.close()


def test_a_signal_to_a_closed_counting_goes_nowhere(bench: Bench) -> None:
    counting = bench.open(bench.case.brief)
    counting.close()
    counting.interrupt(15)


def test_an_exception_in_the_block_closes_and_passes_through(bench: Bench) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        bench.open(bench.case.lengthy) as counting,
    ):
        counting.start()
        raise ZeroDivisionError
    _refused(counting.read)


@pytest.mark.parametrize("interval", [0, -1])
def test_an_interval_that_is_not_positive_is_refused(bench: Bench, interval: int) -> None:
    with bench.open(bench.case.brief) as counting:
        with pytest.raises(UsageError) as caught:
            next(iter(counting.ticks(interval, lambda: True)))
        check_one_sentence(caught.value)
