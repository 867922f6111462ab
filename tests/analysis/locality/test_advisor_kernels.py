"""The kernels of the advisor against plain Python: counting, moving, dealing and repeating."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnomon import _native
from gnomon.analysis.locality.advisor.profile import BLOCK_CELL, PAGE_CELL
from gnomon.machines.operations import OPERATION, Code, drained, fixed_feed

REFERENCES = (Code.LOAD, Code.STORE, Code.ATOMIC)

PROGRAMS = st.lists(
    st.tuples(
        st.sampled_from((*REFERENCES, Code.INTEGER, Code.BARRIER)),
        st.integers(64, 1200),
        st.integers(1, 40),
    ),
    max_size=60,
)


def operations(program: list[tuple[Code, int, int]]) -> NDArray[np.void]:
    made = np.zeros(len(program), OPERATION)
    for row, (code, value, size) in zip(made, program, strict=True):
        row["code"], row["value"], row["size"] = code, value, size if code in REFERENCES else 0
    return made


def rows(found: NDArray[np.void]) -> list[tuple[int, int, int]]:
    return [(int(r["code"]), int(r["value"]), int(r["size"])) for r in found]


@settings(deadline=None)
@given(st.lists(PROGRAMS, min_size=1, max_size=3), st.sampled_from((64, 256, 4096)))
def test_a_census_counts_as_plain_python_does(
    programs: list[list[tuple[Code, int, int]]], page: int
) -> None:
    census = _native.Census(len(programs), page)
    pages: Counter[tuple[int, int, str]] = Counter()
    read: dict[tuple[int, int], int] = {}
    written: dict[tuple[int, int], int] = {}
    for thread, program in enumerate(programs):
        feed = _native.CountedFeed(fixed_feed(operations(program)), census, thread)
        assert rows(drained(feed)) == rows(operations(program))
        for code, address, size in program:
            if code not in REFERENCES:
                continue
            pages[address // page, thread, "loads"] += code is not Code.STORE
            pages[address // page, thread, "stores"] += code is not Code.LOAD
            for byte in range(address, address + size):
                key, bit = (byte // 64, thread), 1 << byte % 64
                if code is not Code.STORE:
                    read[key] = read.get(key, 0) | bit
                if code is not Code.LOAD:
                    written[key] = written.get(key, 0) | bit
    for cell in np.frombuffer(census.take_pages(), PAGE_CELL):
        for kind in ("loads", "stores"):
            assert pages.pop((int(cell["page"]), int(cell["thread"]), kind)) == cell[kind]
    assert not pages
    cells = np.frombuffer(census.blocks(), BLOCK_CELL)
    for name, expected in (("read_bytes", read), ("written_bytes", written)):
        found = {(int(c["block"]), int(c["thread"])): int(c[name]) for c in cells if c[name]}
        assert found == expected
    assert not census.take_pages(), "pages are counted anew after they were taken"


@settings(deadline=None)
@given(PROGRAMS, st.integers(1, 7))
def test_moved_addresses_are_elsewhere_and_stores_go_to_copies(
    program: list[tuple[Code, int, int]], room: int
) -> None:
    moves = [(200, 400, 10_000, [20_000, 30_000]), (500, 600, -100, [])]
    expected = []
    for code, value, size in rows(operations(program)):
        move = next((m for m in moves if code in REFERENCES and m[0] <= value < m[1]), None)
        expected.append((code, value + (move[2] if move else 0), size))
        if move and code != Code.LOAD:
            expected += [(code, value + copy, size) for copy in move[3]]
    feed = _native.MovedFeed(fixed_feed(operations(program)), moves)
    found = []
    while True:
        piece, supply = feed.pull(room)
        found += rows(np.frombuffer(piece, OPERATION))
        if supply:
            break
    assert found == expected


@settings(deadline=None)
@given(PROGRAMS)
def test_what_is_set_up_is_dealt_and_nothing_is_lost(
    program: list[tuple[Code, int, int]],
) -> None:
    parts = [(100, 400, 0), (400, 800, 1), (900, 1000, 2)]
    expected: list[list[tuple[int, int, int]]] = [[], [], []]
    owner, left = 0, []
    for at, (code, value, size) in enumerate(rows(operations(program))):
        if code <= Code.ATOMIC:
            part = next((p for p in parts if p[0] <= value < p[1]), None)
            owner = part[2] if part and code == Code.STORE else 0
        elif code > Code.OTHER:
            owner = 0
        expected[owner].append((code, value, size))
        if code == Code.BARRIER:
            left = rows(operations(program))[at + 1 :]
            break
    feed = fixed_feed(operations(program))
    dealt = _native.deal_setup(feed, 0, 3, parts, 1 << 20)
    found = [rows(drained(_native.RecordedFeed(dealt, thread))) for thread in range(3)]
    assert found == expected
    assert rows(drained(feed)) == left


@settings(deadline=None)
@given(st.lists(PROGRAMS, min_size=1, max_size=4))
def test_a_recording_repeats_a_program(programs: list[list[tuple[Code, int, int]]]) -> None:
    recorded = _native.record_feeds([fixed_feed(operations(p)) for p in programs], 1 << 20)
    assert recorded.complete
    assert recorded.operations == sum(map(len, programs))
    for _ in range(2):
        for thread in range(recorded.threads):
            again = rows(drained(_native.RecordedFeed(recorded, thread)))
            assert again == rows(operations(programs[thread]))
    assert all(not program for program in programs[recorded.threads :])


def test_a_program_that_is_too_long_is_not_complete() -> None:
    feed = fixed_feed(operations([(Code.LOAD, 64, 8)] * 5000))
    assert not _native.record_feeds([feed], 1000).complete
