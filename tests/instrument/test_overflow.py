"""Being told after so many events: by the kernel, or by a timer where hardware cannot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gnomon import _native
from gnomon.errors import NotPermittedError
from gnomon.events.event import Request
from gnomon.instrument.eventset import EventSet, State
from gnomon.instrument.overflow import Overflow, OverflowPlan
from gnomon.sources.base import Target
from gnomon.sources.perf.sampling import PerfSampler
from gnomon.sources.perf.source import PerfSource
from gnomon.sources.sampling import Sampling

from .machine import Machine

# A thread that dies of an exception is a failure, whoever started it.
pytestmark = [
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.usefixtures("countable"),
]

FAULTS = "page-faults"
MINOR = "minor-faults"


def _times(reports: list[Overflow], name: str) -> int:
    return sum(report.times for report in reports if report.events == (name,))


def _wait_until(done: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if done():
            return
        time.sleep(0.001)
    raise AssertionError("it did not happen")


# By the kernel


@pytest.mark.parametrize(
    ("threshold", "reports"), [(1, 1000), (7, 142), (10, 100), (1000, 1), (1001, 0)]
)
def test_a_thousand_faults_go_over_the_threshold_so_often(threshold: int, reports: int) -> None:
    found = []
    for _ in range(5):
        with EventSet(FAULTS) as counters:
            counters.on_overflow(FAULTS, threshold)
            counters.start()
            _native.known_faults(1000)
            count = counters.stop()[FAULTS]
            assert count is not None
            taken = counters.overflows()
            assert len(taken) == count // threshold  # faults of the interpreter's included
            assert counters.lost_overflows == 0
            found.append(len(taken))
    assert min(found) == reports


def test_a_report_says_when_where_and_in_which_thread() -> None:
    before = time.monotonic_ns()
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 10)
        counters.start()
        _native.known_faults(1000)
        counters.stop()
        reports = counters.overflows()
    after = time.monotonic_ns()
    times = [report.time for report in reports]
    assert times == sorted(times) and before <= times[0] <= times[-1] <= after
    assert {report.tid for report in reports} == {threading.get_native_id()}
    assert {report.events for report in reports} == {(FAULTS,)}
    assert {report.times for report in reports} == {1}
    assert all(report.ip for report in reports)


def test_reports_can_be_taken_while_it_runs_and_come_once() -> None:
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 10)
        counters.start()
        taken = 0
        for _ in range(10):
            _native.known_faults(100)
            taken += len(counters.overflows())
        count = counters.stop()[FAULTS]
        assert count is not None
        taken += len(counters.overflows())
        assert taken == count // 10
        assert counters.overflows() == []


def test_the_count_goes_on_beyond_the_last_overflow() -> None:
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 400)
        counters.start()
        _native.known_faults(1000)
        first = counters.read()[FAULTS]
        _native.known_faults(7)
        last = counters.stop()[FAULTS]
        assert first is not None and last is not None
        assert 1000 <= first <= last - 7
        assert len(counters.overflows()) == last // 400


def test_other_counters_keep_their_remainder_at_an_overflow() -> None:
    """The classic fault: restarting one counter reloads the others too."""
    with EventSet("page-faults,minor-faults,task-clock,time") as counters:
        counters.on_overflow(FAULTS, 3)
        counters.start()
        _native.known_faults(1000)
        values = counters.stop()
    # A fault of the interpreter's may fall between starting the one and the other.
    for name in (FAULTS, MINOR):
        assert 1000 <= (values[name] or 0) < 1010
    assert (values["time"] or 0) > 0


def test_each_report_names_the_event_that_went_over() -> None:
    with EventSet("page-faults,minor-faults,task-clock") as counters:
        counters.on_overflow(FAULTS, 10)
        counters.on_overflow(MINOR, 7)
        counters.start()
        _native.known_faults(1000)
        values = counters.stop()
        reports = counters.overflows()
    assert {name for report in reports for name in report.events} == {FAULTS, MINOR}
    for name, threshold in ((FAULTS, 10), (MINOR, 7)):
        count = values[name]
        assert count is not None
        assert _times(reports, name) == count // threshold


def test_a_reset_does_not_disturb_the_way_to_the_next_overflow() -> None:
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 100)
        counters.start()
        for _ in range(20):
            _native.known_faults(50)
            counters.reset()
        counters.stop()
        assert len(counters.overflows()) in (10, 11)


def test_overflow_can_be_switched_off_again_between_runs() -> None:
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 10)
        counters.start()
        _native.known_faults(100)
        counters.stop()
        counters.on_overflow(FAULTS, 0)
        counters.start()
        _native.known_faults(100)
        assert (counters.stop()[FAULTS] or 0) >= 100
        assert counters.overflows() == []


def test_an_event_with_overflow_can_be_removed_between_runs() -> None:
    with EventSet("page-faults,task-clock") as counters:
        counters.on_overflow(FAULTS, 10)
        counters.start()
        counters.stop()
        counters.remove(FAULTS)
        counters.start()
        assert list(counters.stop()) == ["task-clock"]


def test_a_new_start_forgets_reports_that_nobody_took() -> None:
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 10)
        counters.start()
        _native.known_faults(1000)
        counters.stop()
        counters.start()
        counters.stop()
        assert len(counters.overflows()) < 10


def test_reports_that_found_no_room_are_counted() -> None:
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 1)
        counters.start()
        _native.known_faults(30_000)
        lost_so_far = counters.lost_overflows
        count = counters.stop()[FAULTS]
        assert 0 < lost_so_far <= counters.lost_overflows
        assert len(counters.overflows()) + counters.lost_overflows == count


def test_the_thread_that_starts_a_set_is_the_one_that_overflows() -> None:
    seen: list[set[int | None]] = []
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 10)

        def work() -> None:
            counters.start()
            _native.known_faults(500)
            counters.stop()
            seen.append({report.tid for report in counters.overflows()})
            seen.append({threading.get_native_id()})

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen[0] == seen[1]


# Handlers


def test_a_handler_is_called_for_each_report_from_a_thread_of_its_own() -> None:
    reports: list[Overflow] = []
    callers: set[int] = set()

    def handler(report: Overflow) -> None:
        reports.append(report)
        callers.add(threading.get_ident())

    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 10, handler)
        counters.start()
        for _ in range(10):
            _native.known_faults(100)
            assert counters.overflows() == []
        count = counters.stop()[FAULTS]
    assert count is not None
    assert len(reports) == count // 10
    assert len(callers) == 1 and callers.isdisjoint({threading.get_ident()})


def test_a_handler_hears_of_it_while_the_set_runs() -> None:
    heard = threading.Event()
    with EventSet(FAULTS) as counters:
        counters.on_overflow(FAULTS, 10, lambda report: heard.set())
        counters.start()
        _native.known_faults(20)
        assert heard.wait(10)
        counters.stop()


def test_two_events_have_their_own_handlers_and_a_third_has_none() -> None:
    first: list[Overflow] = []
    second: list[Overflow] = []
    machine = Machine()
    with EventSet("alpha,beta,gamma", on=machine) as counters:
        counters.on_overflow("alpha", 10, first.append)
        counters.on_overflow("beta", 30, second.append)
        counters.on_overflow("gamma", 7000)
        counters.start()
        machine.run(100)
        counters.stop()
        rest = counters.overflows()
    assert (_times(first, "alpha"), _times(second, "beta")) == (10, 33)
    assert _times(rest, "gamma") == 1
    assert len(rest) == 1


def test_a_handler_that_fails_is_shown_and_called_again(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[Overflow] = []

    def handler(report: Overflow) -> None:
        calls.append(report)
        raise ValueError("a fault in the handler")

    hook = threading.excepthook
    threading.excepthook = threading.__excepthook__  # pytest's own would report a failure
    try:
        with EventSet(FAULTS) as counters:
            counters.on_overflow(FAULTS, 100, handler)
            counters.start()
            _native.known_faults(300)
            counters.stop()
    finally:
        threading.excepthook = hook
    assert len(calls) >= 3
    assert "a fault in the handler" in capsys.readouterr().err


def test_a_handler_may_read_the_set_and_stop_it() -> None:
    ended = threading.Event()
    machine = Machine()
    values: list[dict[str, int | None]] = []
    with EventSet("alpha", on=machine) as counters:

        def handler(report: Overflow) -> None:
            values.append(counters.read())
            if counters.state is State.RUNNING:
                counters.stop()
            ended.set()

        counters.on_overflow("alpha", 10, handler)
        counters.start()
        machine.run(25)
        assert ended.wait(10)
        assert counters.state is State.STOPPED
        assert machine.opened == 0
    assert values[0] == {"alpha": 25}


def test_closing_a_running_set_ends_its_threads() -> None:
    before = threading.active_count()
    for source in (Machine(), PerfSource()):
        event = "alpha" if isinstance(source, Machine) else FAULTS
        for _ in range(20):
            with EventSet(f"{event},time", on=source) as counters:
                counters.on_overflow(event, 1, lambda report: None)
                counters.on_overflow("time", 1000)
                counters.start()
                _native.known_faults(50)
    assert threading.active_count() == before


# By a timer


def test_a_timer_reports_how_often_the_threshold_was_passed() -> None:
    machine = Machine(width=4)
    with EventSet("alpha,beta", on=machine) as counters:
        counters.on_overflow("alpha", 7)
        counters.start()
        machine.run(100)
        assert counters.stop() == {"alpha": 100, "beta": 1000}
        reports = counters.overflows()
    assert _times(reports, "alpha") == 100 // 7
    assert {(report.ip, report.tid) for report in reports} == {(None, None)}


def test_a_timer_notices_while_the_set_runs() -> None:
    machine = Machine()
    with EventSet("alpha", on=machine) as counters:
        counters.on_overflow("alpha", 10)
        counters.start()
        total = 0
        for passed in (1, 2, 3):
            machine.run(10)
            total += _times(counters.overflows(), "alpha")
            assert total == passed
        counters.stop()
        assert counters.overflows() == []


def test_a_timer_does_not_report_what_was_before_the_start() -> None:
    """The time of day has passed every threshold long ago."""
    for _ in range(20):
        with EventSet("time") as counters:
            counters.on_overflow("time", 10**10)
            counters.start()
            counters.stop()
            counters.start()
            counters.stop()
            assert counters.overflows() == []


def test_time_itself_can_overflow() -> None:
    with EventSet("time,page-faults") as counters:
        counters.on_overflow("time", 1_000_000)
        begun = time.monotonic_ns()
        counters.start()
        _wait_until(lambda: (counters.read()["time"] or 0) > 20_000_000)
        value = counters.stop()["time"]
        ended = time.monotonic_ns()
        passed = _times(counters.overflows(), "time")
    assert value is not None
    assert value // 1_000_000 <= passed <= (ended - begun) // 1_000_000


def test_a_free_running_counter_that_cannot_interrupt_is_watched_by_a_timer() -> None:
    if not Path("/sys/bus/event_source/devices/msr/events/tsc").exists():
        pytest.skip("the kernel offers no msr/tsc/ here")
    source = PerfSource()
    [found] = source.availability([Request(source.resolve("msr/tsc/")[0])])
    if not found.countable:
        pytest.skip(f"msr/tsc/: {found.reason}")
    with EventSet("msr/tsc/") as counters:
        counters.on_overflow("msr/tsc/", 1_000_003)
        counters.start()
        _wait_until(lambda: (counters.read()["msr/tsc/"] or 0) > 20_000_000)
        value = counters.stop()["msr/tsc/"]
        reports = counters.overflows()
    assert value is not None
    assert (value // 1_000_003) - 1 <= _times(reports, "msr/tsc/") <= value // 1_000_003
    assert {report.ip for report in reports} == {None}


def test_when_the_counter_is_lost_the_reader_is_told_and_no_thread_dies() -> None:
    machine = Machine()
    with EventSet("alpha", on=machine) as counters:
        counters.on_overflow("alpha", 10)
        counters.start()
        machine.lost_counter = True
        before = threading.active_count()
        _wait_until(lambda: threading.active_count() < before)


# When it cannot be set up


def test_what_was_opened_before_a_refusal_is_closed_again() -> None:
    opened: list[PerfSampler] = []

    class Refusing(PerfSource):
        def sample(
            self, samplings: Sequence[Sampling], target: Target, *, pages: int = 128
        ) -> PerfSampler:
            if opened:
                raise NotPermittedError("one is enough.")
            opened.append(super().sample(samplings, target, pages=pages))
            return opened[0]

    with EventSet("page-faults,minor-faults", on=Refusing()) as counters:
        counters.on_overflow(FAULTS, 10)
        counters.on_overflow(MINOR, 10)
        with pytest.raises(NotPermittedError):
            counters.start()
        assert counters.state is State.STOPPED
    assert opened[0]._state == "closed"


def test_a_plan_takes_the_default_threshold_when_none_is_given() -> None:
    with EventSet(FAULTS) as counters:
        request = counters._requests[FAULTS]
    assert OverflowPlan.of(request, None, None).threshold == 101
