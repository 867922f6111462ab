"""Event sets: what they count is exact, belongs to a thread, and survives reset and failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from gnomon import _native
from gnomon.errors import (
    NotPermittedError,
    NotSupportedError,
    StateError,
    UnknownEventError,
    UsageError,
)
from gnomon.instrument.eventset import EventSet, State, Values
from gnomon.recording.contents import Status
from gnomon.sources.base import Thread
from gnomon.sources.perf.source import PerfSource

from .machine import Machine

pytestmark = pytest.mark.usefixtures("countable")

FAULTS = "page-faults"


def _known(values: Values, name: str = FAULTS) -> int:
    value = values[name]
    assert value is not None
    return value


def _count_faults(pages: int) -> int:
    with EventSet(FAULTS) as counters:
        counters.start()
        _native.known_faults(pages)
        return _known(counters.stop())


# Exactness


@pytest.mark.parametrize("pages", [1, 100, 5000])
def test_known_faults_are_counted_exactly(pages: int) -> None:
    # Now and then the interpreter has a fault of its own, never fewer than ours.
    counts = [_count_faults(pages) for _ in range(20)]
    assert min(counts) == pages


def test_several_events_are_counted_together_and_each_under_its_name() -> None:
    with EventSet("page-faults,minor-faults:u,task-clock,major-faults") as counters:
        counters.start()
        _native.known_faults(200)
        values = counters.stop()
    assert list(values) == ["page-faults", "minor-faults:u", "task-clock", "major-faults"]
    assert _known(values) >= 200
    assert _known(values, "minor-faults:u") >= 200
    assert _known(values, "task-clock") > 0


def test_it_can_be_started_again_and_begins_from_zero() -> None:
    with EventSet(FAULTS) as counters:
        for pages in (1000, 10, 500):
            counters.start()
            _native.known_faults(pages)
            assert pages <= _known(counters.stop()) < pages + 10


def test_a_value_beyond_53_bits_stays_exact() -> None:
    machine = Machine(width=48, rate=lambda name, number: 2**47 + 1)
    with EventSet("alpha", on=machine) as counters:
        counters.start()
        machine.run(1000)
        assert counters.stop() == {"alpha": 1000 * (2**47 + 1)}


# What is in a set


def test_a_failed_add_of_several_adds_none_of_them() -> None:
    with EventSet(FAULTS) as counters:
        for text in (
            "task-clock,no-such-event",
            "task-clock,page-faults",
            "task-clock,{context-switches",
            "task-clock,task-clock",
            "task-clock:z",
        ):
            with pytest.raises(UsageError):
                counters.add(text)
            assert counters.events == (FAULTS,)


@pytest.mark.parametrize(
    "twins", ["page-faults,faults", "time,wall-time", "context-switches,cs", "gnomon::time,time"]
)
def test_one_event_under_two_names_is_refused(twins: str) -> None:
    with pytest.raises(UsageError, match="in the set already as"):
        EventSet(twins)


def test_an_event_at_another_privilege_level_is_another_event() -> None:
    with EventSet("page-faults,page-faults:u") as counters:
        assert counters.events == ("page-faults", "page-faults:u")


def test_an_unknown_event_comes_with_suggestions() -> None:
    with pytest.raises(UnknownEventError, match="did you mean page-faults"):
        EventSet("page-fault")


def test_events_can_be_changed_between_runs() -> None:
    machine = Machine()
    with EventSet(["alpha", "beta"], on=machine) as counters:
        counters.start()
        machine.run(3)
        assert counters.stop() == {"alpha": 3, "beta": 30}
        counters.remove("alpha")
        counters.add("gamma")
        counters.start()
        machine.run(2)
        assert counters.stop() == {"beta": 20, "gamma": 200}


def test_what_was_measured_stays_readable_until_the_next_start() -> None:
    machine = Machine()
    with EventSet("alpha,beta", on=machine) as counters:
        counters.start()
        machine.run(3)
        values = counters.stop()
        machine.run(5)
        counters.remove("alpha")
        assert counters.read() == values
        counters.start()
        assert counters.read() == {"beta": 0}


def test_an_empty_set_does_not_start() -> None:
    with EventSet() as counters, pytest.raises(StateError, match="add one first"):
        counters.start()


def test_a_closed_set_does_nothing_more() -> None:
    counters = EventSet(FAULTS)
    counters.close()
    counters.close()
    for call in (counters.start, counters.stop, counters.read, counters.reset):
        with pytest.raises(StateError, match="closed"):
            call()
    with pytest.raises(StateError, match="closed"):
        counters.add("task-clock")
    assert counters.overflows() == []


def test_leaving_the_block_closes_it_even_while_it_runs() -> None:
    machine = Machine()
    with pytest.raises(ZeroDivisionError), EventSet("alpha", on=machine) as counters:
        counters.start()
        _ = 1 // 0
    assert counters.state is State.CLOSED
    assert machine.opened == 0


# Synthetic events


@pytest.mark.parametrize("names", ["time", "elapsed-cycles", "time,elapsed-cycles", "wall-time"])
def test_a_set_of_synthetic_events_alone_starts_and_counts(names: str) -> None:
    with EventSet(names) as counters:
        counters.start()
        first = counters.read()
        _native.known_loop(1_000_000)
        second = counters.read()
        last = counters.stop()
        assert counters.read() == last
    for name in names.split(","):
        assert 0 <= _known(first, name) < _known(second, name) <= _known(last, name)


def test_synthetic_events_count_beside_others() -> None:
    with EventSet("time,page-faults,elapsed-cycles") as counters:
        before = time.monotonic_ns()
        counters.start()
        _native.known_faults(100)
        values = counters.stop()
        after = time.monotonic_ns()
    assert list(values) == ["time", "page-faults", "elapsed-cycles"]
    assert 0 < _known(values, "time") <= after - before
    assert _known(values) >= 100
    assert _known(values, "elapsed-cycles") > 0


def test_synthetic_events_are_reset_and_accumulated_like_others() -> None:
    sums: dict[str, int] = {}
    with EventSet("time") as counters:
        counters.start()
        start = time.monotonic_ns()
        for _ in range(5):
            _native.known_loop(100_000)
            counters.accumulate(sums)
        counters.reset()
        rest = _known(counters.stop(), "time")
        end = time.monotonic_ns()
    assert sums["time"] > 0
    assert sums["time"] + rest <= end - start


def test_synthetic_events_go_with_any_source() -> None:
    machine = Machine()
    with EventSet("alpha,time", on=machine) as counters:
        counters.start()
        machine.run(4)
        values = counters.stop()
    assert values["alpha"] == 4
    assert _known(values, "time") > 0


# Reading, resetting, adding up


def test_reset_begins_anew_without_a_gap() -> None:
    machine = Machine(width=8)
    with EventSet("alpha,gamma", on=machine) as counters:
        counters.start()
        seen = 0
        for slices in (5, 1, 300, 2):
            machine.run(slices)
            assert counters.read() == {"alpha": slices, "gamma": 100 * slices}
            counters.reset()
            assert counters.read() == {"alpha": 0, "gamma": 0}
            seen += slices
        assert machine.happened["alpha"] == seen
        assert counters.stop() == {"alpha": 0, "gamma": 0}


def test_reset_of_a_stopped_set_leaves_zeros() -> None:
    machine = Machine()
    with EventSet("alpha", on=machine) as counters:
        counters.reset()
        with pytest.raises(StateError, match="must be started"):
            counters.read()
        counters.start()
        machine.run(3)
        counters.stop()
        counters.reset()
        assert counters.read() == {"alpha": 0}


def test_accumulate_loses_nothing_between_reading_and_going_on() -> None:
    """Something happens at every look at the counters, and all of it must arrive."""
    machine = Machine()
    machine.slices_a_look = 3
    sums: dict[str, int] = {"alpha": 1000}
    with EventSet("alpha,delta", on=machine) as counters:
        counters.start()
        for _ in range(10):
            machine.run(7)
            counters.accumulate(sums)
        last = counters.stop()
    assert sums["alpha"] - 1000 + _known(last, "alpha") == machine.happened["alpha"]
    assert sums["delta"] + _known(last, "delta") == machine.happened["delta"]


def test_accumulated_faults_are_those_that_one_long_count_sees() -> None:
    sums: dict[str, int] = {}
    with EventSet(FAULTS) as whole, EventSet(FAULTS) as parts:
        whole.start()
        parts.start()
        for _ in range(50):
            _native.known_faults(20)
            parts.accumulate(sums)
        rest = parts.stop()
        total = whole.stop()
    assert sums[FAULTS] + _known(rest) <= _known(total) <= sums[FAULTS] + _known(rest) + 5
    assert sums[FAULTS] >= 1000


def test_details_of_an_exact_count_have_full_coverage_and_no_error() -> None:
    with EventSet("page-faults,time") as counters:
        counters.start()
        _native.known_faults(10)
        counters.stop()
        for count in counters.details().values():
            assert (count.coverage, count.error, count.status) == (1.0, 0.0, Status.COUNTED)


def test_a_caller_cannot_change_what_a_set_remembers() -> None:
    machine = Machine()
    with EventSet("alpha", on=machine) as counters:
        counters.start()
        machine.run(2)
        counters.stop().clear()
        counters.details().clear()
        assert counters.read() == {"alpha": 2}


# Threads


def _in_threads(*calls: Callable[[], None]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_set_counts_the_thread_that_starts_it_and_no_other() -> None:
    with EventSet(FAULTS) as mine:
        mine.start()
        _in_threads(lambda: _native.known_faults(3000))
        here = _known(mine.stop())
        theirs: list[int] = []

        def count_there() -> None:
            mine.start()
            _native.known_faults(300)
            theirs.append(_known(mine.stop()))

        _in_threads(count_there)
    assert here < 300
    assert 300 <= theirs[0] < 600


def test_threads_with_sets_of_their_own_count_side_by_side() -> None:
    barrier = threading.Barrier(4)
    found: dict[int, int] = {}

    def count(pages: int) -> None:
        with EventSet(FAULTS) as counters:
            counters.start()
            barrier.wait()
            _native.known_faults(pages)
            barrier.wait()
            found[pages] = _known(counters.stop())

    _in_threads(*(lambda p=pages: count(p) for pages in (1000, 2000, 3000, 4000)))
    for pages, counted in found.items():
        assert pages <= counted < pages + 500


def test_a_running_set_can_be_read_from_another_thread() -> None:
    with EventSet(FAULTS) as counters:
        counters.start()
        _native.known_faults(1000)
        seen: list[int] = []
        _in_threads(lambda: seen.append(_known(counters.read())))
        assert 1000 <= seen[0] <= _known(counters.stop())


def test_another_thread_can_be_the_target() -> None:
    ready, go, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        ready.set()
        go.wait()
        _native.known_faults(500)
        done.set()
        go.clear()
        go.wait()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    assert thread.native_id is not None
    with EventSet(FAULTS, target=Thread(thread.native_id)) as counters:
        counters.start()
        _native.known_faults(5000)
        go.set()
        done.wait()
        counted = _known(counters.stop())
    go.set()
    thread.join()
    assert 500 <= counted < 1000


# What cannot be counted


def test_an_exact_set_refuses_more_events_than_counters_with_the_reason() -> None:
    machine = Machine(counters=2)
    with EventSet("alpha,beta,gamma", on=machine) as counters:
        with pytest.raises(NotSupportedError, match="3 events do not fit on 2 counters"):
            counters.start()
        assert counters.state is State.STOPPED
        assert machine.opened == 0
        counters.remove("gamma")
        counters.start()
        machine.run(1)
        assert counters.stop() == {"alpha": 1, "beta": 10}


def test_an_exact_set_refuses_what_this_machine_cannot_count_with_the_reason() -> None:
    if PerfSource().has_core_pmu:
        pytest.skip("this machine has a PMU in its cores and counts cycles")
    with EventSet("page-faults,cycles") as counters:
        with pytest.raises(NotSupportedError, match=r"cycles: .*no .*PMU"):
            counters.start()
        assert counters.state is State.STOPPED


def test_with_fewer_rights_values_keep_the_names_that_were_asked_for() -> None:
    machine = Machine(user_only=True)
    with EventSet("alpha,beta:u", on=machine) as counters:
        counters.on_overflow("alpha", 2)
        counters.start()
        machine.run(5)
        assert counters.stop() == {"alpha": 5, "beta:u": 50}
        assert sum(report.times for report in counters.overflows()) == 2


def test_two_events_that_fewer_rights_make_one_are_refused() -> None:
    machine = Machine(user_only=True)
    with EventSet("alpha,alpha:u", on=machine) as counters:
        with pytest.raises(NotPermittedError, match="'alpha' can only be counted as 'alpha:u'"):
            counters.start()
        assert (counters.state, machine.opened) == (State.STOPPED, 0)


def test_a_counter_that_is_lost_on_the_way_is_an_error_and_ends_the_run() -> None:
    machine = Machine()
    with EventSet("alpha", on=machine) as counters:
        counters.on_overflow("alpha", 5)
        counters.start()
        machine.run(1)
        machine.lost_counter = True
        with pytest.raises(NotSupportedError, match="the counter was lost"):
            counters.read()
        with pytest.raises(NotSupportedError, match="the counter was lost"):
            counters.stop()
        assert counters.state is State.STOPPED
        assert machine.opened == 0
        machine.lost_counter = False
        counters.start()
        machine.run(2)
        assert counters.stop() == {"alpha": 2}


def test_what_was_not_counted_cannot_be_accumulated_and_changes_nothing() -> None:
    machine = Machine(counters=1)
    with EventSet("alpha,beta", on=machine, multiplex=True) as counters:
        counters.start()
        machine.run(1)
        sums = {"alpha": 5}
        with pytest.raises(NotSupportedError, match="'beta' was not counted"):
            counters.accumulate(sums)
        assert sums == {"alpha": 5}
        assert counters.read() == {"alpha": 1, "beta": None}
