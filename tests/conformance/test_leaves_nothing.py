"""Opening and closing ten thousand times costs no descriptor, child, thread or memory."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from gnomon.sources.base import Process, Thread

from .case import Bench
from .traces import resident_bytes, small_pages, traces

CYCLES = int(os.environ.get("GNOMON_CONFORMANCE_CYCLES", "10000"))
COMMANDS = max(CYCLES // 40, 2)
GROWTH = 1 << 20


def _check_flat(cycle: Callable[[], None], cycles: int) -> None:
    with small_pages():
        for _ in range(max(cycles // 5, 20)):
            cycle()
        before, memory = traces(), resident_bytes()
        for _ in range(cycles):
            cycle()
        assert not before.added()
        assert resident_bytes() - memory < GROWTH


def test_countings_of_a_thread_leave_nothing(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    groups = bench.groups()

    def cycle() -> None:
        with bench.source.open(groups, Thread()) as counting:
            counting.start()
            counting.stop()

    _check_flat(cycle, CYCLES)


def test_refused_events_leave_nothing(bench: Bench) -> None:
    if not (bench.case.refused and bench.case.threads):
        pytest.skip("this machine counts every event that was tried")
    groups = bench.groups(f"{{{bench.case.event_list},{bench.case.refused}}}")
    _check_flat(lambda: bench.source.open(groups, Thread()).close(), CYCLES // 4)


def test_commands_that_were_never_started_leave_nothing(bench: Bench) -> None:
    groups = bench.groups()
    _check_flat(lambda: bench.source.open(groups, bench.case.brief).close(), COMMANDS)


def test_commands_that_are_cut_short_leave_nothing(bench: Bench) -> None:
    groups = bench.groups()

    def cycle() -> None:
        with bench.source.open(groups, bench.case.lengthy) as counting:
            counting.start()

    _check_flat(cycle, COMMANDS)


def test_interrupted_ticks_leave_nothing(bench: Bench) -> None:
    groups = bench.groups()

    def cycle() -> None:
        with bench.source.open(groups, bench.case.lengthy) as counting:
            next(iter(counting.ticks(200_000, lambda: True)))

    _check_flat(cycle, max(COMMANDS // 8, 2))


def test_an_unclosed_counting_is_cleared_away_with_its_last_reference(bench: Bench) -> None:
    before = traces()
    counting = bench.open(bench.case.lengthy)
    counting.start()
    assert before.added() or not bench.case.runs_programs
    del counting
    assert not before.added()


def test_a_refused_target_leaves_nothing(bench: Bench) -> None:
    if not bench.case.processes:
        pytest.skip("the source cannot count processes")
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {})
    os.waitpid(pid, 0)
    before = traces()
    with pytest.raises(Exception, match=str(pid)):
        bench.open(Process(pid))
    assert not before.added()
