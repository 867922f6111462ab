"""Nothing grows: neither descriptors nor memory, over many thousand measurements.

A library that loses a kilobyte each time goes unnoticed in tests and ends long runs.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from operator import sub
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from gnomon import _native
from gnomon.instrument import regions
from gnomon.instrument.eventset import EventSet

pytestmark = pytest.mark.usefixtures("countable")

_WARM_UP = 500
_ROUNDS = 5


class Held(NamedTuple):
    """What a process holds: descriptors, threads, objects of Python, bytes of C, pages."""

    descriptors: int
    threads: int
    blocks: int
    heap: int
    resident: int


def _heap_bytes() -> int:
    """Return what is allocated with malloc in the main arena, 0 where glibc does not tell."""

    class Info(ctypes.Structure):
        _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]

    try:
        function = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    function.restype = Info
    return int(function().field7)


def _held() -> Held:
    gc.collect()
    return Held(
        len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        threading.active_count(),
        sys.getallocatedblocks(),
        _heap_bytes(),
        int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE"),
    )


def _check_no_growth(cycle: Callable[[], None], cycles: int) -> None:
    """Do something again and again, in rounds.

    A table of the interpreter that is made larger shows in one round; a leak shows in all.
    """
    for _ in range(_WARM_UP):
        cycle()
    held = [_held()]
    for _ in range(_ROUNDS):
        for _ in range(cycles // _ROUNDS):
            cycle()
        held.append(_held())
    assert held[-1].descriptors == held[0].descriptors
    assert held[-1].threads == held[0].threads
    grown = [Held(*map(sub, after, before)) for before, after in pairwise(held)]
    each = cycles / _ROUNDS
    assert median(part.blocks for part in grown) < each / 20
    assert median(part.heap for part in grown) < each
    assert median(part.resident for part in grown) < max(each, 2**16)


def _cycle() -> None:
    with EventSet("page-faults,time") as counters:
        counters.start()
        counters.stop()


def test_ten_thousand_event_sets_leave_nothing_behind() -> None:
    _check_no_growth(_cycle, 10_000)


@pytest.mark.slow
def test_a_hundred_thousand_event_sets_leave_nothing_behind() -> None:
    _check_no_growth(_cycle, 100_000)


def test_restarting_one_event_set_leaves_nothing_behind() -> None:
    with EventSet("page-faults,time") as counters:

        def cycle() -> None:
            counters.start()
            counters.read()
            counters.reset()
            counters.stop()

        _check_no_growth(cycle, 5000)


def test_overflow_leaves_nothing_behind() -> None:
    def cycle() -> None:
        with EventSet("page-faults") as counters:
            counters.on_overflow("page-faults", 10)
            counters.start()
            _native.known_faults(20)
            counters.stop()
            assert len(counters.overflows()) >= 2

    _check_no_growth(cycle, 2000)


def test_refused_event_sets_leave_nothing_behind() -> None:
    from gnomon.errors import GnomonError

    def cycle() -> None:
        with EventSet("page-faults,cycles") as counters:
            try:
                counters.start()
            except GnomonError:
                return
            counters.stop()

    _check_no_growth(cycle, 500)


def _threads_with_a_region(number: int) -> None:
    entered = regions.region("short")

    def work() -> None:
        with entered:
            pass

    for _ in range(number):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def _settled(descriptors: int) -> None:
    """Wait for threads that have been joined but are not quite gone."""
    for _ in range(1000):
        if len(os.listdir("/proc/self/fd")) <= descriptors:  # noqa: PTH208
            return
        time.sleep(0.002)
    raise AssertionError("descriptors of threads stay open")


def _check_threads(number: int) -> None:
    _threads_with_a_region(200)
    before = _held()
    nodes = len(_native.region_bytes())
    _threads_with_a_region(number)
    _settled(before.descriptors)
    after = _held()
    assert len(_native.region_bytes()) <= nodes + 4096
    assert after.blocks - before.blocks < number / 10
    assert after.resident - before.resident < 2**20
    found = regions.report()["short"]
    assert (found.instances, found.threads) == (number + 200, number + 200)


@pytest.mark.usefixtures("fresh_regions")
def test_three_thousand_threads_with_a_region_leave_nothing_behind() -> None:
    _check_threads(3000)


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_regions")
def test_a_hundred_thousand_threads_with_a_region_leave_nothing_behind() -> None:
    _check_threads(100_000)


@pytest.mark.usefixtures("fresh_regions")
def test_a_million_instances_of_a_region_take_no_memory() -> None:
    entered = regions.region("often")
    for _ in range(1000):
        with entered:
            pass
    before, bytes_before = _held(), len(_native.region_bytes())
    for _ in range(1_000_000):
        with entered:
            pass
    after = _held()
    assert len(_native.region_bytes()) == bytes_before
    assert after.descriptors == before.descriptors
    assert after.blocks - before.blocks < 1000
    assert after.resident - before.resident < 2**20
    assert regions.report()["often"].instances == 1_001_000


def test_configuring_regions_again_and_again_leaves_nothing_behind(tmp_path: Path) -> None:
    def cycle() -> None:
        regions.configure("task-clock:u", folder=str(tmp_path))

    for _ in range(20):
        cycle()
    before = _held()
    for _ in range(200):
        cycle()
    after = _held()
    assert after.descriptors == before.descriptors
    assert after.resident - before.resident < 2**20
    assert len(list(tmp_path.iterdir())) == 1
    regions.configure("task-clock:u")
