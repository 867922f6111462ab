"""Packets of ARM's statistical profiling: records made up here, and a plain twin of the decoder."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon._native import spe_records
from gnomon.sources.latency import decode

PC, DATA = 0, 2
TOTAL, ISSUE, TRANSLATION = 0, 1, 2
LOAD, STORE, ATOMIC = 0x00, 0x01, 0x06
END = b"\x01"
KERNEL_HALF = 0xFFFF_8000_1234_5678


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


def address(index: int, value: int) -> bytes:
    return bytes([0xB0 | index]) + number(value, 8)


def counter(index: int, cycles: int) -> bytes:
    return bytes([0x98 | index]) + number(cycles, 2)


def operation(kind: int, payload: int) -> bytes:
    return bytes([0x48 | kind, payload])


def events(bits: int) -> bytes:
    return bytes([0x52]) + number(bits, 2)


def source(value: int) -> bytes:
    return bytes([0x43, value])


def context(task: int) -> bytes:
    return bytes([0x64]) + number(task, 4)


def timestamp(ticks: int) -> bytes:
    return bytes([0x71]) + number(ticks, 8)


def load(cycles: int, *more: bytes) -> bytes:
    parts = (address(PC, 0x4000), operation(1, LOAD), counter(ISSUE, 3), counter(TOTAL, cycles))
    return b"".join((*parts, *more)) + timestamp(77)


def test_a_load_has_latency_address_and_task() -> None:
    packets = load(230, counter(TRANSLATION, 9), address(DATA, 0x7F00_1234), context(4711))
    used, (row,) = spe_records(packets)
    assert used == len(packets)
    latency, word, data, ip, task = row
    assert (latency, data, ip, task) == (230, 0x7F00_1234, 0x4000, 4711)
    assert decode(word).operation == "load"


@pytest.mark.parametrize(
    ("answered", "text"),
    [
        (0x0, "L1"),
        (0x8, "L2"),
        (0x9, "cache of another core of the node"),
        (0xA, "L3, forwarded by another cache"),
        (0xB, "L3"),
        (0xC, "cache, forwarded by another cache"),
        (0xD, "remote cache"),
        (0xE, "local memory"),
    ],
)
def test_arms_own_cores_tell_what_answered(answered: int, text: str) -> None:
    packets = load(50, source(answered), events(0x0C))
    (row,) = spe_records(packets, common_sources=True)[1]
    assert decode(row[1]).text == text
    (otherwise,) = spe_records(packets)[1]
    assert decode(otherwise[1]).text == "beyond L1"  # from what every core tells


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (1 << 2, "L1"),
        (1 << 2 | 1 << 3, "beyond L1"),
        (1 << 2 | 1 << 3 | 1 << 8, "L3"),
        (1 << 3 | 1 << 8 | 1 << 9, "beyond L3"),
        (1 << 3 | 1 << 8 | 1 << 9 | 1 << 10, "another node"),
        (0, "unknown"),
    ],
)
def test_events_tell_how_far_a_load_went(bits: int, text: str) -> None:
    (row,) = spe_records(load(50, events(bits)))[1]
    assert decode(row[1]).text == text


def test_stores_atomics_and_walks_are_told_apart() -> None:
    for payload, kind in ((LOAD, "load"), (STORE, "store"), (ATOMIC, "load")):
        (row,) = spe_records(operation(1, payload) + events(1 << 4 | 1 << 5) + END)[1]
        found = decode(row[1])
        assert (found.operation, found.tlb_miss) == (kind, True)
        assert found.locked == (payload == ATOMIC)
    (branch,) = spe_records(operation(2, 0) + END)[1]
    assert decode(branch[1]).operation == "unknown"


def test_addresses_of_the_kernel_are_whole_again() -> None:
    tagged = KERNEL_HALF & 0x00FF_FFFF_FFFF_FFFF | 0x5A << 56
    (row,) = spe_records(address(DATA, tagged) + END)[1]
    assert row[2] == KERNEL_HALF


def test_padding_and_alignment_are_skipped() -> None:
    first = load(5)
    filling = b"\x21\x00"  # up to the next multiple of four
    at = len(first) + 3
    rest = b"\xee" * (-(at + 2) % 4)
    packets = first + bytes(3) + filling + rest + load(6) + bytes(5)
    used, rows = spe_records(packets)
    assert [row[0] for row in rows] == [5, 6]
    assert used == len(packets)


def test_long_headers_have_indices_beyond_seven() -> None:
    beyond = bytes([0x21, 0x98 | TOTAL]) + number(999, 2)  # counter 8, of nobody we know
    same = bytes([0x20, 0x98 | TOTAL]) + number(12, 2)
    used, (row,) = spe_records(beyond + same + END)
    assert (used, row[0]) == (9, 12)


def test_what_is_not_whole_yet_is_left_for_the_next_time() -> None:
    packets = load(5) + load(600)
    for cut in range(len(packets)):
        used, rows = spe_records(packets[:cut])
        more, rest = spe_records(packets[used:], position=used)
        assert used + more == len(packets)
        assert [row[0] for row in rows + rest] == [5, 600]


def test_what_never_ends_is_given_up() -> None:
    endless = counter(TOTAL, 5) * 5000
    used, rows = spe_records(endless)
    assert used > len(endless) - 4096
    assert rows == []


class Twin(NamedTuple):
    latency: int
    address: int
    ip: int
    task: int


def twin(packets: bytes) -> list[Twin]:
    """Return the records of packets without alignment, by the table of headers."""
    rows: list[Twin] = []
    found: dict[str, int] = {}
    at = 0
    while at < len(packets):
        header = packets[at]
        size = 0 if header in (0, 1) else 1 << (header >> 4 & 3)
        payload = int.from_bytes(packets[at + 1 : at + 1 + size], "little")
        names = {0x98: "latency", 0xB0: "ip", 0xB2: "address"}
        if header in names:
            found[names[header]] = payload
        elif 0x64 <= header <= 0x67:
            found["task"] = payload
        elif header in (0x01, 0x71):
            if found:
                order = ("latency", "address", "ip", "task")
                rows.append(Twin(*(found.get(name, 0) for name in order)))
            found = {}
        elif header:
            found.setdefault("something", 1)
        at += 1 + size
    return rows


words = st.integers(0, (1 << 55) - 1)
packet = st.one_of(
    st.builds(address, st.integers(0, 4), words),
    st.builds(counter, st.integers(0, 2), st.integers(0, 65535)),
    st.builds(operation, st.integers(0, 2), st.integers(0, 255)),
    st.builds(events, st.integers(0, 65535)),
    st.builds(source, st.integers(0, 15)),
    st.builds(context, st.integers(1, (1 << 32) - 1)),
    st.builds(timestamp, words),
    st.just(END),
    st.just(b"\x00"),
)


@given(st.lists(packet, max_size=60))
def test_records_equal_those_of_the_twin(parts: list[bytes]) -> None:
    packets = b"".join(parts) + END
    used, rows = spe_records(packets)
    assert used == len(packets)
    assert [Twin(row[0], *row[2:]) for row in rows] == twin(packets)


@given(st.binary(max_size=400), st.integers(0, 1 << 40))
def test_any_bytes_can_be_decoded(packets: bytes, position: int) -> None:
    used, rows = spe_records(packets, position, common_sources=True)
    assert 0 <= used <= len(packets)
    assert all(decode(row[1]).text for row in rows)
