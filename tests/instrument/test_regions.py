"""Regions of a program: nested, recursive, in threads, and honest about their own cost."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gnomon import _native
from gnomon.errors import NotSupportedError, StateError, UnknownEventError, UsageError
from gnomon.instrument import regions
from gnomon.instrument.regions import configure, region, report
from gnomon.instrument.result import RegionCount
from gnomon.sources.perf.source import PerfSource

pytestmark = pytest.mark.usefixtures("fresh_regions")

FAULTS = "page-faults:u"


def _paths() -> dict[str, int]:
    return {"/".join(found.path): found.instances for found in report().regions}


# Counting


def test_a_region_counts_what_happens_inside_it() -> None:
    _native.known_faults(5000)
    with region("work"):
        _native.known_faults(1000)
    _native.known_faults(5000)
    found = report()["work"]
    assert found.instances == 1
    assert 1000 <= found.raw[FAULTS] < 1100
    assert found.raw["task-clock:u"] > 0
    assert found.wall >= found.raw["task-clock:u"] > 0
    assert found.shortest == found.longest == found.wall


def test_instances_are_added_up() -> None:
    for pages in (100, 200, 300):
        with region("work"):
            _native.known_faults(pages)
    found = report()["work"]
    assert found.instances == 3
    assert 600 <= found.raw[FAULTS] < 700
    assert found.shortest <= found.wall / 3 <= found.longest < found.wall


def test_what_is_inside_is_also_part_of_what_is_around_it() -> None:
    with region("outer"):
        _native.known_faults(100)
        for _ in range(2):
            with region("inner"):
                _native.known_faults(200)
    found = report()
    assert _paths() == {"outer": 1, "outer/inner": 2}
    assert 400 <= found["inner"].raw[FAULTS] < 450
    assert 500 <= found["outer"].raw[FAULTS] < 600
    assert found["outer"].wall > found["inner"].wall


def test_one_name_in_two_places_is_two_regions() -> None:
    with region("a"), region("shared"):
        pass
    with region("b"), region("shared"), region("deep"):
        pass
    assert _paths() == {"a": 1, "a/shared": 1, "b": 1, "b/shared": 1, "b/shared/deep": 1}
    found = report()
    assert found["b/shared"].path == ("b", "shared")
    assert found["shared"].path == ("a", "shared")  # the first of that name
    assert [r.path for r in found.regions] == sorted(r.path for r in found.regions)
    with pytest.raises(KeyError):
        _ = found["c"]


def test_recursion_nests_a_region_in_itself() -> None:
    def descend(depth: int) -> None:
        with region("descend"):
            _native.known_faults(10)
            if depth:
                descend(depth - 1)

    descend(3)
    descend(1)
    assert _paths() == {
        "descend": 2,
        "descend/descend": 2,
        "descend/descend/descend": 1,
        "descend/descend/descend/descend": 1,
    }
    assert report()["descend"].raw[FAULTS] >= 60


def test_a_decorated_function_runs_inside_a_region_and_stays_itself() -> None:
    @region("function")
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert add(2, b=3) == 5
    assert add(2) == 3
    assert (add.__name__, add.__doc__) == ("add", "Add.")
    assert report()["function"].instances == 2


def test_a_function_that_gives_control_away_is_not_decorated() -> None:
    def generate() -> Iterator[int]:
        yield 1

    async def wait() -> None:
        pass

    for function in (generate, wait):
        with pytest.raises(UsageError, match="gives control away"):
            region("function")(function)


def test_an_exception_ends_the_region_and_goes_on() -> None:
    with pytest.raises(ZeroDivisionError), region("outer"), region("failing"):
        _ = 1 // 0
    with region("after"):
        pass
    assert _paths() == {"after": 1, "outer": 1, "outer/failing": 1}


def test_the_same_name_gives_the_same_region() -> None:
    assert region("one") is region("one")
    assert region("one").name == "one"


# Regions that are not nested


def _step(name: str) -> Iterator[None]:
    with region(name):
        yield
        yield


def test_interleaved_generators_are_refused() -> None:
    first, second = _step("first"), _step("second")
    next(first)
    next(second)
    next(first)
    with pytest.raises(StateError, match="'first' is not the innermost open one"):
        next(first)
    next(second)
    with pytest.raises(StateError, match="'second' is not the innermost"):
        next(second)
    with region("after"):
        pass
    # What was left open inside is not counted; what it was inside of is.
    assert _paths() == {"after": 1, "first": 1}


def test_generators_one_after_the_other_are_fine() -> None:
    for name in ("first", "second"):
        assert len(list(_step(name))) == 2
    assert _paths() == {"first": 1, "second": 1}


def test_interleaved_tasks_are_refused() -> None:
    async def work(name: str) -> None:
        with region(name):
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(work("a"), work("b"))

    with pytest.raises(StateError, match="must be nested"):
        asyncio.run(both())


def test_a_region_that_was_never_begun_cannot_end() -> None:
    with pytest.raises(StateError):
        region("open").__exit__(None, None, None)
    assert _paths() == {}


def test_a_region_that_another_thread_began_cannot_end_here() -> None:
    entered = region("there")
    begun, done = threading.Event(), threading.Event()

    def work() -> None:
        with entered:
            begun.set()
            done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    with pytest.raises(StateError):
        entered.__exit__(None, None, None)
    done.set()
    thread.join()
    assert _paths() == {"there": 1}


# Threads


def test_a_hundred_short_threads_are_all_counted() -> None:
    def work() -> None:
        with region("outer"), region("inner"):
            _native.known_faults(10)

    threads = [threading.Thread(target=work) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in ("outer", "inner"):
        found = report()[name]
        assert (found.instances, found.threads, found.processes) == (100, 100, 1)
        assert 1000 <= found.raw[FAULTS] < 2000


def test_threads_side_by_side_count_their_own_events() -> None:
    barrier = threading.Barrier(3)

    def work(name: str, pages: int) -> None:
        with region(name):
            barrier.wait()
            _native.known_faults(pages)
            barrier.wait()

    pages = {"one": 1000, "two": 2000, "three": 3000}
    threads = [threading.Thread(target=work, args=item) for item in pages.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, number in pages.items():
        assert number <= report()[name].raw[FAULTS] < number + 200


def test_a_thread_that_comes_back_is_counted_once() -> None:
    def work() -> None:
        for _ in range(5):
            with region("often"):
                pass

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    found = report()["often"]
    assert (found.instances, found.threads) == (15, 3)


def test_a_thread_that_cannot_open_its_counters_makes_the_counts_missing() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def work() -> None:
        with region("poor"):
            _native.known_faults(10)

    work()
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))  # those are taken
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    found = report()["poor"]
    assert (found.instances, found.raw) == (2, {})
    assert list(found.corrected) == ["time"]
    assert report().warnings == (
        f"some threads could not count their events: {os.strerror(errno.EMFILE)}",
    )


# A table that is full


def test_more_regions_than_the_table_holds_are_put_together() -> None:
    for number in range(17_000):
        with _native.Region(f"region {number}"):
            pass
    with region("late"), region("later"):
        pass
    found = report()
    assert found["region 0"].instances == found["region 16000"].instances == 1
    rest = found["(more)"]
    assert rest.path == ("(more)",)
    assert sum(r.instances for r in found.regions) == 17_002
    assert rest.instances > 500
    assert any("more regions than a table holds" in text for text in found.warnings)


# What regions cost


def _least_left(name: str, work: Callable[[], None]) -> float:
    """Return what is left of a region's time after correction, in the best of some tries.

    The machine may be slowed down between the calibration and what it is used for, and
    then the one does not fit the other.
    """
    least = 1.0
    for _ in range(50):
        configure("task-clock:u,page-faults:u")
        work()
        found = report()[name]
        least = min(least, found.corrected["time"] / found.wall)
        if least < 0.1:
            break
    return least


def test_the_cost_of_empty_regions_is_taken_out() -> None:
    entered = region("empty")

    def work() -> None:
        for _ in range(300):
            with entered:
                pass

    assert _least_left("empty", work) < 0.2
    overhead = report().overhead
    assert 0 < overhead.inside["time"] <= overhead.outside["time"]
    assert overhead.inside[FAULTS] < 1


def test_the_cost_of_regions_inside_is_taken_out_of_those_around() -> None:
    outer, inner = region("outer"), region("inner")

    def work() -> None:
        with outer:
            for _ in range(300):
                with inner:
                    pass

    assert _least_left("outer", work) < 0.2


def test_real_work_is_left_as_it_is() -> None:
    with region("work"):
        _native.known_faults(3000)
    found = report()["work"]
    assert found.corrected[FAULTS] == pytest.approx(found.raw[FAULTS], abs=1)
    assert found.corrected["time"] == pytest.approx(found.wall, rel=0.2)
    assert found.corrected["time"] < found.wall


def test_corrected_values_are_never_negative() -> None:
    for _ in range(100):
        with region("outer"), region("inner"):
            pass
    for found in report().regions:
        assert all(value >= 0 for value in found.corrected.values())


# Configuring


def test_what_regions_count_can_be_chosen() -> None:
    configure("minor-faults:u,task-clock:u")
    with region("work"):
        _native.known_faults(100)
    found = report()
    assert found.events == ("minor-faults:u", "task-clock:u")
    assert found["work"].raw["minor-faults:u"] >= 100


def test_the_environment_chooses_as_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GNOMON_REGION_EVENTS", "major-faults:u")
    monkeypatch.setenv("GNOMON_REGION_FOLDER", str(tmp_path))
    configure()
    with region("work"):
        pass
    assert report().events == ("major-faults:u",)
    assert report(tmp_path)["work"].instances == 1
    configure("task-clock:u", folder="")
    assert list(tmp_path.iterdir()) == []


def test_without_a_choice_it_is_what_the_machine_has() -> None:
    configure()
    with region("work"):
        pass
    expected = [request.label for group in PerfSource().default_events() for request in group]
    # Without rights they are counted in user mode only.
    assert [event.removesuffix(":u") for event in report().events] == expected


def test_configuring_anew_forgets_regions_and_leaves_open_ones_uncounted() -> None:
    with region("before"):
        with region("open"):
            configure("page-faults:u")
            with region("after"):
                pass
        with region("between"):
            pass
    assert _paths() == {"after": 1, "between": 1}


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ("no-such-event", UnknownEventError),
        ("page-faults:u,", None),
        (",".join(f"page-faults:{'u' * (n + 1)}" for n in range(2)), UsageError),
        (",".join(f"mem:{address}" for address in range(4096, 4113)), UsageError),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(
    events: str, error: type[Exception] | None
) -> None:
    if error is None:
        configure(events)
        return
    with pytest.raises(error):
        configure(events)


def test_an_event_that_was_asked_for_and_cannot_be_counted_is_an_error() -> None:
    if PerfSource().has_core_pmu:
        pytest.skip("this machine has a PMU in its cores and counts cycles")
    with pytest.raises(NotSupportedError, match="cycles:u"):
        configure("task-clock:u,cycles:u")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for place in (tmp_path / "missing", file):
        with pytest.raises(UsageError, match="is not a folder"):
            configure("task-clock:u", folder=str(place))


@pytest.mark.parametrize("name", ["", "(calibration)", "(calibration) 3", "x" * 128, "ü" * 64])
def test_a_name_that_cannot_be_kept_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        region(name)


@pytest.mark.parametrize("name", ["x" * 127, "ü" * 63, "with space", "a/b", "\n", "0"])
def test_other_names_come_back_as_they_were(name: str) -> None:
    with region(name):
        pass
    assert report()[name].path == (name,)


def test_before_anything_is_entered_the_report_is_empty() -> None:
    found = report()
    assert found.regions == ()
    assert found.events == ("task-clock:u", FAULTS, "minor-faults:u", "major-faults:u")
    assert set(found.overhead.inside) == {*found.events, "time"}


def test_a_report_can_be_had_from_inside_a_region() -> None:
    with region("open"):
        with region("done"):
            time.sleep(0)
        assert _paths() == {"open/done": 1}
    assert isinstance(report()["open"], RegionCount)


def test_regions_are_configured_by_themselves_when_first_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(regions, "_configured", False)
    monkeypatch.setattr(regions, "_known", {})
    with region("first"):
        pass
    assert report()["first"].instances == 1
