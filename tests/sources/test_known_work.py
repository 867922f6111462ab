"""Work of a known size is counted exactly."""

from __future__ import annotations

import ctypes
import os
import time
from functools import partial

import pytest

from gnomon import _native
from gnomon.errors import GnomonError
from gnomon.sources.base import Thread
from gnomon.sources.perf.source import PerfSource

from .helpers import (
    counted,
    open_counting,
    readings_of,
    require_countable,
    user_spec,
    with_kernel,
)

PAGES = 1000


def _faults(pages: int = PAGES) -> None:
    _native.known_faults(pages)


@pytest.mark.parametrize("pages", [1, 64, PAGES])
def test_each_fresh_page_is_one_fault(pages: int) -> None:
    group = _native.Group([user_spec(2)], 0, -1)
    try:
        counts = []
        for _ in range(5):
            group.reset()
            group.enable()
            _native.known_faults(pages)
            group.disable()
            counts.append(group.read()[2])
    finally:
        group.close()
    assert min(counts) == pages  # what else the interpreter does only adds


def test_a_group_counts_the_same_faults_as_its_members_alone() -> None:
    readings = readings_of("{page-faults,minor-faults,major-faults}", _faults)
    values = {event: counted(reading) for event, reading in readings.items()}
    assert values["page-faults"] == values["minor-faults"] + values["major-faults"]
    assert values["page-faults"] >= PAGES


def test_members_of_a_group_share_their_times() -> None:
    readings = readings_of("{task-clock,page-faults}", _faults)
    [times] = {(r.enabled, r.running) for r in readings.values()}
    assert times[0] == times[1] > 0


@with_kernel
def test_faults_of_a_program_are_of_its_user_mode() -> None:
    readings = readings_of("page-faults,page-faults:u,page-faults:k", _faults)
    values = {event: counted(reading) for event, reading in readings.items()}
    assert values["page-faults:u"] >= PAGES
    assert values["page-faults:k"] < PAGES // 10
    assert values["page-faults"] >= values["page-faults:u"]


@pytest.mark.parametrize("modifiers", ["u", "uk", "ukh", "D", "e", "uD", "GH"])
def test_modifiers_that_software_events_know_are_accepted(modifiers: str) -> None:
    readings = readings_of(f"page-faults:{modifiers}", _faults)
    [reading] = readings.values()
    assert counted(reading) >= PAGES


@with_kernel
def test_a_sleep_is_a_context_switch() -> None:
    readings = readings_of("context-switches", partial(time.sleep, 0.001))
    assert counted(readings["context-switches"]) >= 1


@with_kernel
def test_going_from_cpu_to_cpu_is_a_migration() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("there is one CPU only")

    def wander() -> None:
        try:
            for cpu in (*allowed[:2] * 5, allowed[0]):
                os.sched_setaffinity(0, {cpu})
        finally:
            os.sched_setaffinity(0, allowed)

    assert counted(readings_of("cpu-migrations", wander)["cpu-migrations"]) >= 9


def test_the_clock_of_the_task_runs_only_while_it_runs() -> None:
    asleep = counted(readings_of("task-clock", partial(time.sleep, 0.1))["task-clock"])
    readings = readings_of("task-clock", partial(_native.known_loop, 50_000_000))
    awake = counted(readings["task-clock"])
    assert asleep < awake
    # Task events are enabled while the task runs: the clock and the enabled time are one.
    assert abs(awake - readings["task-clock"].enabled) < awake / 10


def test_writes_to_a_watched_word_are_counted_exactly() -> None:
    buffer = (ctypes.c_uint32 * 16)()
    name = f"mem:{ctypes.addressof(buffer):#x}/4:w"
    require_countable(PerfSource().resolve(name)[0])

    def write() -> None:
        for value in range(123):
            buffer[0] = value
            buffer[1] = value  # next to it, and not watched

    assert counted(readings_of(name, write)[name]) == 123


def test_reads_are_counted_where_reading_and_writing_is_watched() -> None:
    buffer = (ctypes.c_uint32 * 16)()
    name = f"mem:{ctypes.addressof(buffer):#x}/4:rw"
    require_countable(PerfSource().resolve(name)[0])
    reading = readings_of(name, lambda: [buffer[0] for _ in range(50)])[name]
    assert counted(reading) == 50


def test_more_breakpoints_than_there_are_say_that_they_are_taken() -> None:
    buffer = (ctypes.c_uint64 * 64)()
    names = [f"mem:{ctypes.addressof(buffer) + 8 * i:#x}/8:w" for i in range(40)]
    require_countable(PerfSource().resolve(names[0])[0])
    with open_counting(",".join(names), Thread()) as counting:
        assert 0 < len(counting.refused) < len(names)
        assert all(reading.value is None for reading in counting.refused)
        assert any("all hardware breakpoints are taken" in text for text in counting.warnings)


def test_a_tracepoint_counts_each_passage() -> None:
    source = PerfSource()
    name = "syscalls:sys_enter_getppid"
    try:
        [event] = source.resolve(name)
    except GnomonError as error:
        pytest.skip(str(error))
    require_countable(event)

    def call() -> None:
        for _ in range(77):
            os.getppid()

    assert counted(readings_of(name, call)[name]) == 77


def test_every_tracepoint_of_the_kernel_is_found_by_its_listed_name() -> None:
    source = PerfSource()
    try:
        listed = list(source.catalogue.tracepoints())
    except GnomonError as error:
        pytest.skip(str(error))
    assert listed
    for event in listed[:: max(len(listed) // 50, 1)]:
        assert source.resolve(event.name) == (event,)
