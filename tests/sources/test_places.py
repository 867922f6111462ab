"""Where counters are opened: threads, CPUs, and units that belong to no task."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from gnomon.errors import GnomonError, UsageError
from gnomon.events.event import Event, Scope
from gnomon.recording.contents import Status
from gnomon.sources.base import Command, Cpus, Process, Target, Thread
from gnomon.sources.host import Host
from gnomon.sources.perf.opening import Place, checked_cpus, places, tasks
from gnomon.sources.perf.source import PerfSource

from .helpers import as_root, counted, open_counting

MakePmu = Callable[[str, int, Mapping[str, str]], Path]
BRIEF = Command(("/bin/sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"))


@dataclass(frozen=True)
class FourCpus(Host):
    """Two sockets with two CPUs each."""

    @cached_property
    def online_cpus(self) -> tuple[int, ...]:
        return (0, 1, 2, 3)

    def socket_of(self, cpu: int) -> int:
        return cpu // 2


HOST = FourCpus()
PLAIN = Event("task-clock")
UNCORE = Event("imc/read/", scope=Scope.SOCKET, cpus=(2, 0))


def test_a_command_is_followed_from_exec_on() -> None:
    assert places(PLAIN, BRIEF, 77, HOST) == (
        Place(77, -1, "process", inherit=True, from_exec=True),
    )


def test_own_thread_has_its_number_as_scope() -> None:
    import threading

    own = threading.get_native_id()
    assert places(PLAIN, Thread(), None, HOST) == (Place(0, -1, f"thread/{own}"),)
    assert places(PLAIN, Thread(own), None, HOST) == (Place(own, -1, f"thread/{own}"),)


def test_a_process_is_all_its_threads_and_those_to_come() -> None:
    found = places(PLAIN, Process(os.getpid()), None, HOST)
    assert {place.pid for place in found} == set(tasks(os.getpid()))
    assert all(place.inherit and place.cpu == -1 for place in found)


@pytest.mark.parametrize(
    ("cpus", "expected"), [(None, (0, 1, 2, 3)), ((3, 1, 3), (1, 3)), ((0,), (0,))]
)
def test_cpus_are_opened_once_each(cpus: tuple[int, ...] | None, expected: tuple[int, ...]) -> None:
    found = places(PLAIN, Cpus(cpus), None, HOST)
    assert found == tuple(Place(-1, cpu, f"cpu/{cpu}") for cpu in expected)


@pytest.mark.parametrize("target", [BRIEF, Thread(), Process(1), Cpus(), Cpus((1,))])
def test_a_unit_outside_the_cores_is_opened_on_its_own_cpus(target: Target) -> None:
    assert places(UNCORE, target, 77, HOST) == (
        Place(-1, 0, "socket/0"),
        Place(-1, 2, "socket/1"),
    )


def test_a_cpu_that_is_not_online_is_a_usage_error() -> None:
    with pytest.raises(UsageError) as caught:
        checked_cpus((0, 7), HOST)
    assert str(caught.value) == "CPU 7 is not online: this host has CPUs 0 to 3."


def test_an_empty_list_of_cpus_is_a_usage_error() -> None:
    with pytest.raises(UsageError) as caught:
        checked_cpus((), HOST)
    assert str(caught.value) == "the list of CPUs is empty: name at least one, as in -C 0-3."


def test_threads_of_a_process_that_is_not_there() -> None:
    with pytest.raises(GnomonError) as caught:
        tasks(2**22 + 1)
    assert str(caught.value) == (f"there is no process {2**22 + 1}: it may have ended already.")


@pytest.fixture
def uncore(make_pmu: MakePmu, devices: Path) -> PerfSource:
    """A source with a unit outside the cores, played by the kernel's software events.

    Their clock runs on whole CPUs as well, so that the unit can be opened and counts.
    """
    files = {
        "format/event": "config:0-7",
        "events/ticks": "event=0x00",
        "events/ticks.scale": "1e-9",
        "events/ticks.unit": "s",
    }
    make_pmu("uncore_clock_0", 1, {**files, "cpumask": "0"})
    make_pmu("uncore_clock_1", 1, {**files, "cpumask": f"{max(os.sched_getaffinity(0))}"})
    make_pmu("uncore_gone", 1, {**files, "cpumask": ""})
    return PerfSource(devices)


@as_root
@pytest.mark.parametrize("target", [Thread(), BRIEF, Cpus(), Cpus((0,))])
def test_units_are_counted_by_socket_whatever_the_target(
    uncore: PerfSource, target: Target
) -> None:
    with open_counting("uncore_clock/ticks/", target, uncore) as counting:
        counting.start()
        counting.wait(0.01)
        final = counting.stop()
    assert [reading.event for reading in final.readings] == [
        "uncore_clock_0/ticks/",
        "uncore_clock_1/ticks/",
    ]
    for reading in final.readings:
        assert reading.scope.startswith("socket/")
        assert counted(reading) > 0


@as_root
def test_a_unit_that_cannot_follow_a_program_is_said_so(uncore: PerfSource) -> None:
    with open_counting("uncore_clock_0/ticks/,task-clock", BRIEF, uncore) as counting:
        counting.start()
        counting.wait()
        final = counting.stop()
    assert counting.warnings == [
        "uncore_clock_0/ticks/ cannot follow a program: it counts everything on its unit"
    ]
    assert {reading.scope for reading in final.readings} == {"socket/0", "process"}
    with open_counting("uncore_clock_0/ticks/", Cpus(), uncore) as counting:
        assert counting.warnings == []


@as_root
def test_a_unit_that_no_cpu_looks_after_is_refused(uncore: PerfSource) -> None:
    with open_counting("uncore_gone/ticks/,task-clock", Thread(), uncore) as counting:
        counting.start()
        final = counting.stop()
    values = {reading.event: (reading.value, reading.status) for reading in final.readings}
    assert values["uncore_gone/ticks/"] == (None, Status.NOT_SUPPORTED)
    assert values["task-clock"][0] is not None


@as_root
def test_the_work_of_a_pinned_thread_is_counted_on_its_cpu() -> None:
    from gnomon import _native

    allowed = sorted(os.sched_getaffinity(0))
    cpu = allowed[-1]
    try:
        os.sched_setaffinity(0, {cpu})
        with open_counting("page-faults", Cpus()) as counting:
            counting.start()
            _native.known_faults(2000)
            final = counting.stop()
    finally:
        os.sched_setaffinity(0, allowed)
    [reading] = [r for r in final.readings if r.scope == f"cpu/{cpu}"]
    assert counted(reading) >= 2000


def test_the_time_stamp_counter_follows_a_thread_where_there_is_one() -> None:
    source = PerfSource()
    if (
        "msr" not in source.catalogue.pmus
        or "tsc" not in source.catalogue.pmus["msr"].event_names()
    ):
        pytest.skip("this kernel has no unit msr with a tsc")
    from .helpers import readings_of, require_countable

    [event] = source.resolve("msr/tsc/")
    require_countable(event)
    from gnomon import _native

    readings = readings_of("msr/tsc/,task-clock", lambda: _native.known_loop(1_000_000))
    assert counted(readings["msr/tsc/"]) > 0
