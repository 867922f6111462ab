"""The compiled kernels by themselves: groups of counters and held children."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from gnomon import _native

from .helpers import user_spec


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_group_reads_times_and_one_value_an_event() -> None:
    group = _native.Group([user_spec(1), user_spec(2), user_spec(5)], 0, -1)
    try:
        assert len(group) == 3
        assert group.read() == (0, 0, 0, 0, 0)
        group.enable()
        _native.known_faults(10)
        group.disable()
        enabled, running, clock, faults, _ = group.read()
        assert enabled == running > 0
        assert clock > 0
        assert faults >= 10
        group.reset()
        assert group.read()[2:] == (0, 0, 0)
    finally:
        group.close()


def test_a_large_group_is_read_whole() -> None:
    group = _native.Group([user_spec(2)] * 100, 0, -1)
    try:
        group.enable()
        _native.known_faults(10)
        group.disable()
        values = group.read()[2:]
        assert len(values) == 100
        assert len(set(values)) == 1
    finally:
        group.close()


def test_a_closed_group_says_so_and_may_be_closed_again() -> None:
    group = _native.Group([user_spec(2)], 0, -1)
    group.close()
    group.close()
    assert not group.is_open
    for call in (group.read, group.read_user, group.enable, group.disable, group.reset):
        with pytest.raises(OSError):
            call()


def test_a_group_without_events_is_refused() -> None:
    with pytest.raises(OSError, match="at least one event"):
        _native.Group([], 0, -1)


def test_the_event_that_failed_is_named_by_its_place() -> None:
    bad = _native.EventSpec()
    bad.type = 4000
    before = _descriptors()
    with pytest.raises(OSError) as caught:
        _native.Group([user_spec(1), user_spec(2), bad], 0, -1)
    assert getattr(caught.value, "event_index", None) == 2
    assert _descriptors() == before


def test_reading_in_user_space_falls_back_to_the_kernel() -> None:
    group = _native.Group([user_spec(2)], 0, -1)
    try:
        group.map_user_pages()
        group.enable()
        _native.known_faults(10)
        group.disable()
        assert group.read_user() == group.read()
    finally:
        group.close()


def _child(script: str) -> _native.Child:
    return _native.Child([b"/bin/sh", b"-c", script.encode()], [], b"")


def test_a_child_waits_for_its_release() -> None:
    child = _child("exit 7")
    assert not child.wait(10_000_000)
    assert not child.ended
    child.release()
    while not child.wait(1_000_000_000):
        pass
    assert child.status == 7


def test_a_child_that_dies_of_a_signal_has_it_as_status() -> None:
    child = _child("kill -9 $$")
    child.release()
    while not child.wait(1_000_000_000):
        pass
    assert child.status == -signal.SIGKILL


def test_a_signal_can_end_a_child_that_is_held() -> None:
    child = _child("exit 7")
    child.kill(signal.SIGTERM)
    while not child.wait(1_000_000_000):
        pass
    assert child.status == -signal.SIGTERM
    child.release()
    child.kill(signal.SIGTERM)


def test_a_second_release_does_nothing() -> None:
    child = _child("exit 0")
    child.release()
    child.release()
    while not child.wait(1_000_000_000):
        pass
    assert child.status == 0


def test_waiting_lets_other_threads_run() -> None:
    import threading

    child = _child("exit 0")
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(child.wait(-1)))
    thread.start()
    child.release()
    thread.join()
    assert child.wait(0) and child.status == 0


def test_the_clock_is_the_monotonic_one() -> None:
    before = time.monotonic_ns()
    now = _native.monotonic_ns()
    assert before <= now <= time.monotonic_ns()


def test_a_loop_without_turns_ends() -> None:
    _native.known_loop(0)
