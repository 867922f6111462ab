"""Records of the kernel's rings: taken apart as a plain twin builds them, and put in order."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon._native import (
    order_records,
    parse_connections,
    parse_idle,
    parse_perf_record,
    parse_syscall_line,
    settle_moments,
)

LOST, COMM, EXIT, FORK, SAMPLE, MMAP2, SWITCH = 2, 3, 4, 7, 9, 10, 14
# DWARF's numbers of the registers in the kernel's order.
ORDER = (0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15)

numbers = st.integers(0, 2**32 - 1)
words = st.integers(0, 2**64 - 1)
times = st.integers(0, 2**63 - 1)
paths = st.binary(max_size=40).filter(lambda text: b"\0" not in text)


def record(kind: int, misc: int, body: bytes) -> bytes:
    """A record with its header."""
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def trailer(pid: int, tid: int, time: int, cpu: int, identity: int) -> bytes:
    """What all records end with, apart from samples."""
    return struct.pack("<IIQIIQ", pid, tid, time, cpu, 0, identity)


def padded(text: bytes) -> bytes:
    """A text as the kernel ends it."""
    return text + b"\0" * (8 - len(text) % 8)


@given(numbers, numbers, times, numbers, words, st.integers(0, 2**16 - 1))
def test_a_switch_tells_who_and_when(
    pid: int, tid: int, time: int, cpu: int, identity: int, misc: int
) -> None:
    found = parse_perf_record(record(SWITCH, misc, trailer(pid, tid, time, cpu, identity)))
    assert found is not None
    told = [found[name] for name in ("type", "misc", "pid", "tid", "time", "cpu", "id")]
    assert told == [SWITCH, misc, pid, tid, time, cpu, identity]


@given(numbers, numbers, numbers, numbers, times, st.sampled_from([FORK, EXIT]))
def test_a_fork_tells_both_and_its_own_time(
    pid: int, parent: int, tid: int, maker: int, time: int, kind: int
) -> None:
    body = struct.pack("<IIIIQ", pid, parent, tid, maker, time)
    found = parse_perf_record(record(kind, 0, body + trailer(1, 2, 3, 4, 5)))
    assert found is not None
    assert (found["pid"], found["tid"], found["time"]) == (pid, tid, time)
    assert found["parent"] == (parent, maker)


@given(numbers, numbers, words, words, words, words, paths)
def test_a_mapping_tells_its_file(
    pid: int, tid: int, start: int, length: int, offset: int, inode: int, path: bytes
) -> None:
    body = struct.pack("<IIQQQIIQQII", pid, tid, start, length, offset, 8, 1, inode, 7, 5, 2)
    found = parse_perf_record(record(MMAP2, 2, body + padded(path) + trailer(9, 9, 50, 1, 6)))
    assert found is not None
    assert found["map"] == (start, length, offset, inode)
    assert (found["text"], found["pid"], found["time"]) == (path, pid, 50)


@given(words, words, numbers, numbers, times, st.lists(words, min_size=17, max_size=17), st.data())
def test_a_sample_has_registers_in_dwarfs_order_and_the_used_part_of_the_stack(
    identity: int,
    ip: int,
    pid: int,
    tid: int,
    time: int,
    registers: list[int],
    data: st.DataObject,
) -> None:
    chain = data.draw(st.lists(words, max_size=5))
    stack = data.draw(st.binary(max_size=64).map(lambda b: b[: len(b) // 8 * 8]))
    used = data.draw(st.integers(0, len(stack)))
    body = struct.pack("<QQIIQII", identity, ip, pid, tid, time, 3, 0)
    body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain)
    body += struct.pack("<Q17Q", 2, *registers) + struct.pack("<Q", len(stack)) + stack
    body += struct.pack("<Q", used) if stack else b""
    found = parse_perf_record(record(SAMPLE, 1, body), True, True)
    assert found is not None
    assert (found["ip"], found["tid"], found["time"], found["cpu"]) == (ip, tid, time, 3)
    by_dwarf = dict(zip(ORDER, registers, strict=True))
    assert struct.unpack("<17Q", found["registers"]) == tuple(by_dwarf[i] for i in range(17))
    assert found["chain"] == struct.pack(f"<{len(chain)}Q", *chain)
    assert found["stack"] == (stack[:used] if stack else b"")


@given(st.binary(max_size=120), st.sampled_from([LOST, COMM, FORK, SAMPLE, MMAP2, SWITCH, 77]))
def test_bytes_that_are_no_record_are_refused_and_never_read_beyond(body: bytes, kind: int) -> None:
    for chain in (False, True):
        parse_perf_record(record(kind, 0, body), True, chain)
    parse_perf_record(body)


readings = st.lists(
    st.tuples(st.lists(st.integers(0, 50), max_size=8), st.integers(-1, 60)), max_size=6
)


@given(readings)
def test_records_come_in_order_of_time_and_of_reading(
    drawn: list[tuple[list[int], int]],
) -> None:
    number = iter(range(10_000))
    steps = [([(time, next(number)) for time in times], horizon) for times, horizon in drawn]
    waiting: list[tuple[int, int]] = []
    expected = []
    for added, horizon in steps:
        waiting = sorted(waiting + added)
        expected.append([n for time, n in waiting if time <= horizon])
        waiting = [(time, n) for time, n in waiting if time > horizon]
    assert order_records(steps) == expected


@given(readings)
def test_a_log_is_in_order_however_late_a_moment_comes(
    drawn: list[tuple[list[int], int]],
) -> None:
    found = settle_moments(drawn, 8 << 20, [])
    assert [time for time, _ in found] == sorted(time for times, _ in drawn for time in times)
    assert sorted(number for _, number in found) == list(range(len(found)))


def test_a_log_goes_on_in_a_file_without_a_name(tmp_path: Path) -> None:
    count = 250_000  # 10 MB, where 4 MB fit
    found = settle_moments([(range(count), count)], 4 << 20, [str(tmp_path)])
    assert found == [(number, number) for number in range(count)]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("running\n", (1, 0)),
        ("-1 0x7ffd 0x55e0\n", (0, -1)),
        ("202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ff0 0x7f01\n", (0, 202)),
        ("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", (2, 0)),
        ("202 0x1\n", (3, 202)),
        ("", (3, 0)),
    ],
)
def test_the_call_of_a_thread(text: str, expected: tuple[int, int]) -> None:
    state, number, *_ = parse_syscall_line(text)
    assert state == expected[0]
    if state == 0:
        assert number == expected[1]
    if number == 202 and state == 0:
        assert parse_syscall_line(text)[2:] == ((1, 2, 3, 4, 5, 6), 0x7FF0, 0x7F01)


def test_idle_time_is_of_the_cpus_asked_for() -> None:
    text = (
        "cpu  9 9 9 300 30 0 0 12 0 0\ncpu0 1 1 1 100 10 0 0 5 0 0\ncpu1 1 1 1 200 20 0 0 7 0 0\n"
    )
    assert parse_idle(text, [], 10) == (3300, 120)
    assert parse_idle(text, [1], 10) == (2200, 70)
    assert parse_idle("intr 5\n", [], 10) == (0, 0)


def test_connections_are_told_by_both_ends() -> None:
    text = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 0100007F:18EB 0100007F:C000 01 00000000:00000000 00:00000000 00000000     0        0"
        " 4711 1 0000 20 4 30 10 -1\n"
        "   1: 0000000000000000FFFF00000100007F:C000 0000000000000000FFFF00000100007F:18EB 01 0:0"
        " 00:0 0 0 0 4712 1 0\n"
        "   2: broken\n"
    )
    assert parse_connections(text) == {
        4711: ("127.0.0.1:6379", "127.0.0.1:49152"),
        4712: ("127.0.0.1:49152", "127.0.0.1:6379"),
    }
