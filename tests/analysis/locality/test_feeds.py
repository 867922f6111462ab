"""The feeds of the advisor against plain Python: counted, moved, dealt and recorded."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnomon import _native
from gnomon.analysis.locality.advisor.profile import BLOCK_CELL, PAGE_CELL
from gnomon.machines.operations import OPERATION, Code, drained, fixed_feed

Op = tuple[int, int, int]  # code, value, size

OPS = st.lists(
    st.tuples(
        st.sampled_from([Code.LOAD, Code.STORE, Code.ATOMIC, Code.INTEGER, Code.BARRIER]),
        st.integers(1, 20_000),
        st.integers(1, 64),
    ),
    max_size=400,
)
REFERENCES = (Code.LOAD, Code.STORE, Code.ATOMIC)


def feed_of(ops: list[Op]) -> _native.Feed:
    array = np.zeros(len(ops), OPERATION)
    for row, (code, value, size) in zip(array, ops, strict=True):
        row["code"], row["value"], row["size"] = code, value, size
    return fixed_feed(array)


def plain(feed: _native.Feed) -> list[Op]:
    return [(int(o["code"]), int(o["value"]), int(o["size"])) for o in drained(feed)]


@given(OPS)
def test_a_census_counts_every_page_and_every_byte(ops: list[Op]) -> None:
    census = _native.Census(3, 4096)
    counted = _native.CountedFeed(feed_of(ops), census, 2)
    assert pulled_all(counted) == ops
    pages: Counter[tuple[int, str]] = Counter()
    reads: dict[int, set[int]] = {}
    writes: dict[int, set[int]] = {}
    for code, value, size in ops:
        if code not in REFERENCES:
            continue
        for wanted, kind, touched in (
            (code != Code.STORE, "loads", reads),
            (code != Code.LOAD, "stores", writes),
        ):
            if wanted:
                pages[value // 4096, kind] += 1
                for byte in range(value, value + size):
                    touched.setdefault(byte // 64, set()).add(byte % 64)
    cells = np.frombuffer(census.take_pages(), PAGE_CELL)
    found = {(int(c["page"]), k): int(c[k]) for c in cells for k in ("loads", "stores") if c[k]}
    assert found == dict(pages)
    assert (cells["thread"] == 2).all()
    blocks = np.frombuffer(census.blocks(), BLOCK_CELL)
    for key, touched in (("read_bytes", reads), ("written_bytes", writes)):
        bits = {int(b["block"]): int(b[key]) for b in blocks if b[key]}
        assert bits == {k: sum(1 << byte for byte in v) for k, v in touched.items()}
    assert census.take_pages() == b""


def pulled_all(feed: _native.Feed) -> list[Op]:
    """Everything, though a piece may end where threads meet."""
    pieces = []
    supply = 0
    while supply == 0:
        piece, supply = feed.pull(1000)
        pieces.append(np.frombuffer(piece, OPERATION))
    return [(int(o["code"]), int(o["value"]), int(o["size"])) for p in pieces for o in p]


@given(OPS, st.integers(1, 50))
def test_moved_references_go_where_they_should(ops: list[Op], room: int) -> None:
    moves = [(100, 5000, 1 << 40, ()), (9000, 12_000, -50, (1 << 30, 1 << 31))]
    moved = _native.MovedFeed(feed_of(ops), moves)
    expected: list[Op] = []
    for code, value, size in ops:
        hit = next((m for m in moves if m[0] <= value < m[1]), None)
        if code not in REFERENCES or hit is None:
            expected.append((code, value, size))
            continue
        expected.append((code, value + hit[2], size))
        if code != Code.LOAD:
            expected += [(code, value + copy, size) for copy in hit[3]]
    got: list[Op] = []
    supply = 0
    while supply == 0:
        piece, supply = moved.pull(room)
        got += [
            (int(o["code"]), int(o["value"]), int(o["size"]))
            for o in np.frombuffer(piece, OPERATION)
        ]
    assert got == expected


@given(OPS)
def test_setting_up_is_dealt_to_those_who_own_the_parts(ops: list[Op]) -> None:
    parts = [(0, 8000, 1), (8000, 15_000, 2)]
    feed = feed_of(ops)
    dealt = _native.deal_setup(feed, 0, 3, parts, 1 << 20)
    lists: list[list[Op]] = [[], [], []]
    owner, used = 0, 0
    for code, value, size in ops:
        used += 1
        if code in REFERENCES:
            hit = next((p for p in parts if p[0] <= value < p[1]), None)
            owner = hit[2] if hit and code == Code.STORE else 0
        elif code == Code.BARRIER:
            owner = 0
        lists[owner].append((code, value, size))
        if code == Code.BARRIER:
            break
    for thread, expected in enumerate(lists):
        assert plain(_native.RecordedFeed(dealt, thread)) == expected
    rest = _native.PrefixedFeed(dealt, 1, feed)
    assert pulled_all(rest) == lists[1] + ops[used:]


@given(st.lists(OPS, min_size=1, max_size=3))
def test_recorded_programs_repeat_what_was_recorded(threads: list[list[Op]]) -> None:
    recorded = _native.record_feeds([feed_of(ops) for ops in threads], 1 << 20)
    assert recorded.complete
    assert recorded.operations == sum(map(len, threads))
    for thread in range(recorded.threads):
        for _ in range(2):
            assert plain(_native.RecordedFeed(recorded, thread)) == threads[thread]


def test_recording_stops_at_its_limit() -> None:
    feed = feed_of([(Code.LOAD, 1, 8)] * 5000)
    assert not _native.record_feeds([feed], 100).complete
