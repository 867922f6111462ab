"""Processes, threads and CPUs that run already, for the sources that can count them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gnomon.sources.base import Cpus, Process, Thread

from .case import Bench
from .checks import check_missing_is_not_zero, check_never_backwards, totals


@contextmanager
def _running(argv: tuple[str, ...]) -> Iterator[int]:
    """Keep a program running within the block."""
    pid = os.posix_spawn(argv[0], argv, os.environ)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_running_process_is_counted_and_left_alone(bench: Bench) -> None:
    if not bench.case.processes:
        pytest.skip("the source cannot count processes")
    with _running(bench.case.lengthy.argv) as pid:
        with bench.open(Process(pid)) as counting:
            counting.start()
            snapshots = [counting.read() for _ in range(20)]
            assert not counting.wait(0)
            snapshots.append(counting.stop())
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)
        assert counting.exit_status is None
    check_never_backwards(snapshots)


def test_the_end_of_a_process_is_noticed(bench: Bench) -> None:
    if not bench.case.processes:
        pytest.skip("the source cannot count processes")
    with _running(bench.case.lengthy.argv) as pid, bench.open(Process(pid)) as counting:
        counting.start()
        assert not counting.wait(0)
        os.kill(pid, signal.SIGKILL)
        assert counting.wait()
        final = counting.stop()
        check_missing_is_not_zero(final)
        assert {reading.event for reading in final.readings} == set(bench.case.events)


def test_ticks_end_with_the_process(bench: Bench) -> None:
    if not bench.case.processes:
        pytest.skip("the source cannot count processes")
    with _running(bench.case.lengthy.argv) as pid, bench.open(Process(pid)) as counting:
        snapshots = []
        for snapshot in counting.ticks(1_000_000, lambda: False):
            snapshots.append(snapshot)
            os.kill(pid, signal.SIGKILL)
        check_never_backwards(snapshots)
        assert totals(snapshots[-1])


def test_another_thread_is_counted_by_its_number(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    go, done, over = threading.Event(), threading.Event(), threading.Event()

    def live() -> None:
        go.wait()
        bench.case.work()
        done.set()
        over.wait()

    worker = threading.Thread(target=live)
    worker.start()
    assert worker.native_id is not None
    try:
        with bench.open(Thread(worker.native_id)) as counting:
            counting.start()
            go.set()
            done.wait()
            final = counting.stop()
    finally:
        go.set()
        over.set()
        worker.join()
    assert all(value > 0 for value in totals(final).values())
    assert {reading.scope for reading in final.readings} == {f"thread/{worker.native_id}"}


def test_each_cpu_has_readings_of_its_own(bench: Bench) -> None:
    if not bench.case.cpus:
        pytest.skip("the source cannot count whole CPUs")
    with bench.open(Cpus()) as counting:
        counting.start()
        bench.case.work()
        final = counting.stop()
    scopes = {reading.scope for reading in final.readings}
    assert {f"cpu/{cpu}" for cpu in os.sched_getaffinity(0)} <= scopes
    assert len(final.readings) == len(scopes) * len(bench.case.events)
    assert all(value > 0 for value in totals(final).values())


def test_one_cpu_can_be_chosen(bench: Bench) -> None:
    if not bench.case.cpus:
        pytest.skip("the source cannot count whole CPUs")
    cpu = max(os.sched_getaffinity(0))
    with bench.open(Cpus((cpu,))) as counting:
        counting.start()
        final = counting.stop()
    assert {reading.scope for reading in final.readings} == {f"cpu/{cpu}"}


def test_cpus_are_counted_while_a_command_runs(bench: Bench) -> None:
    if not bench.case.cpus:
        pytest.skip("the source cannot count whole CPUs")
    with bench.open(Cpus(None, bench.case.brief)) as counting:
        counting.start()
        assert counting.wait()
        assert counting.exit_status == 0
        final = counting.stop()
    assert all(value > 0 for value in totals(final).values())
