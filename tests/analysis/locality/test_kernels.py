"""The compiled counter array agrees with its twin, and loses nothing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.locality.twins import Twin

from gnomon import _native
from gnomon.analysis.locality.counters import CounterSetup, Scheme, decode

Access = tuple[int, int, int, bool]  # time, address, size, whether it writes


def native(accesses: list[Access], pieces: int = 1, **setup: Any) -> _native.CounterArray:
    whole = {
        "shared": 0,
        "range_words": 1024,
        "gap_words": 0,
        "gap_pages": 0,
        "page_shift": 12,
        "count_limit": _native.MONITOR_COUNT_LIMIT,
        "ring_records": 65536,
        "empty_every": 0,
        "fetch_delay": 0,
        "fixed": [],
        **setup,
    }
    array = _native.CounterArray(**whole)
    step = max(1, -(-len(accesses) // pieces))
    for at in range(0, len(accesses), step):
        part = accesses[at : at + step]
        array.count(
            np.array([a[0] for a in part], np.int64),
            np.array([a[1] for a in part], np.uint64),
            np.array([a[2] for a in part], np.uint32),
            np.array([a[3] for a in part], np.uint8),
        )
    array.finish(accesses[-1][0] if accesses else 0)
    return array


def rows(array: _native.CounterArray) -> list[tuple[int, ...]]:
    records = decode(*array.take())
    return [
        (int(r["start"]) // 4, int(r["bytes"]) // 4, *(int(r[key]) for key in _REST))
        for r in records
    ]


_REST = ("accesses", "writes", "begin_ns", "end_ns")


def walk(seed: int, count: int) -> list[Access]:
    """Go through few pages, with jumps, so that ranges meet, overlap and make room."""
    draw = random.Random(seed)
    pages = 1 << draw.randint(1, 9)
    accesses, time, address = [], 0, 0x10000
    for _ in range(count):
        kind = draw.randrange(10)
        if kind < 6:
            address = max(0, address + draw.choice((0, 4, 8, -4, -8, 16, 2, 1)))
        elif kind < 8:
            address = 0x10000 + draw.randrange(256)
        else:
            address = draw.randrange(pages) << 12
        time += draw.randrange(4)
        accesses.append((time, address, draw.choice((0, 1, 4, 8, 16, 64)), kind % 2 == 0))
    return accesses


streams = st.builds(walk, st.integers(0, 2**32), st.integers(0, 250))


@st.composite
def setups(draw: st.DrawFn) -> dict[str, Any]:
    shift = draw(st.sampled_from((4, 6, 12, 20)))
    shared = draw(st.sampled_from((0, 0, 1, 2, 4)))
    return {
        "counters": shared + draw(st.integers(1, 8)),
        "shared": shared,
        "page_shift": shift,
        "range_words": draw(st.one_of(st.just(1 << (shift - 2)), st.integers(1, 1 << (shift - 2)))),
        "gap_words": draw(st.sampled_from((0, 0, 1, 3))),
        "gap_pages": draw(st.sampled_from((0, 1, 30, 1 << 40))),
        "count_limit": draw(st.sampled_from((1, 5, _native.MONITOR_COUNT_LIMIT))),
        "ring_records": draw(st.integers(1, 20)),
        "empty_every": draw(st.sampled_from((0, 1, 40))),
        "fetch_delay": draw(st.sampled_from((0, 1, 30))),
        "fixed": draw(st.sampled_from(([], [(0, 100)], [(0x10000, 0x10010), (0x10080, 0x10084)]))),
    }


@given(streams, setups(), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_kernel_and_twin_agree(accesses: list[Access], setup: dict[str, Any], pieces: int) -> None:
    array = native(accesses, pieces, **setup)
    twin = Twin(**setup)
    for access in accesses:
        twin.one(*access)
    twin.finish(accesses[-1][0] if accesses else 0)
    found = rows(array)
    assert found == twin.records
    for name in ("accesses", "extensions", "flushed", "at_end", "signals", "lost"):
        assert getattr(array, name) == getattr(twin, name), name
    assert array.lost_accesses == twin.lost_accesses
    assert array.most_in_ring == twin.most_in_ring
    assert [list(row[2:]) for row in array.fixed()] == twin.fixed_counts
    counted = sum(row[2] for row in found) + array.lost_accesses + array.fixed_accesses
    assert counted == len(accesses)


def zipf_pages(pages: int, accesses: int, exponent: float = 1.2, seed: int = 0) -> list[int]:
    weights = 1 / np.arange(1, pages + 1) ** exponent
    shares = np.cumsum(weights / weights.sum())
    drawn = np.random.default_rng(seed).random(accesses)
    return [int(page) for page in np.searchsorted(shares, drawn)]


def test_epochs_and_long_streams_agree_with_the_twin() -> None:
    pages = zipf_pages(3000, 6000)
    accesses = [(i, page << 12, 8, page % 3 == 0) for i, page in enumerate(pages)]
    twin = Twin(counters=12, shared=4, gap_pages=64)
    for access in accesses:
        twin.one(*access)
    twin.finish(len(accesses) - 1)
    assert rows(native(accesses, counters=12, shared=4, gap_pages=64)) == twin.records


@pytest.mark.parametrize("shared", [0, 8])
def test_skewed_pages_cost_the_plain_scheme_many_records_and_the_hybrid_few(shared: int) -> None:
    pages = np.array(zipf_pages(262_144, 1_000_000), np.uint64)
    count = len(pages)
    array = _native.CounterArray(
        32, shared, 1024, 0, 4096, 12, _native.MONITOR_COUNT_LIMIT, 65536, 0, 0, []
    )
    array.count(
        np.arange(count),
        pages << np.uint64(12),
        np.full(count, 8, np.uint32),
        np.zeros(count, "u1"),
    )
    array.finish(count)
    assert int(decode(*array.take())["accesses"].sum()) == count
    if shared:
        assert array.flushed + array.at_end <= 50_000
    else:
        assert array.flushed == 535_702  # what the plain scheme is known to need here


def triad(elements: int) -> np.ndarray:
    """Addresses of a[i] = b[i] + c[i]: what a program walks through in step."""
    at = np.arange(elements, dtype=np.uint64) * np.uint64(8)
    return np.stack([np.uint64(base << 32) + at for base in (1, 2, 3)], axis=1).reshape(-1)


def stencil(side: int) -> np.ndarray:
    """Addresses of a five-point stencil of a square matrix into another one."""
    row, column = np.meshgrid(np.arange(1, side - 1), np.arange(1, side - 1), indexing="ij")
    centre = (row * side + column).reshape(-1).astype(np.int64)
    offsets = (-side, -1, 0, 1, side)
    reads = [(1 << 32) + 8 * (centre + offset) for offset in offsets]
    return np.stack([*reads, (2 << 32) + 8 * centre], axis=1).reshape(-1).astype(np.uint64)


def counted(addresses: np.ndarray, rounds: int, setup: CounterSetup) -> _native.CounterArray:
    array = setup.native()
    size, write = np.full(len(addresses), 8, np.uint32), np.zeros(len(addresses), np.uint8)
    for turn in range(rounds):
        array.count(np.arange(len(addresses)) + turn * len(addresses), addresses, size, write)
    array.finish(rounds * len(addresses))
    return array


WIDE = 1 << 36


@pytest.mark.parametrize(
    ("stream", "setup"),
    [
        (triad(1 << 20), CounterSetup(32, scheme=Scheme.HYBRID)),
        (stencil(1024), CounterSetup(32, scheme=Scheme.HYBRID)),
        # The plain scheme needs addresses that are contiguous, and no gap between two rows.
        (triad(1 << 20), CounterSetup(32, range_bytes=WIDE, page_bytes=WIDE)),
    ],
    ids=["hybrid-triad", "hybrid-stencil", "plain-triad"],
)
def test_streams_cost_at_most_a_record_a_million(stream: np.ndarray, setup: CounterSetup) -> None:
    array = counted(stream, 4 if len(stream) < 5e6 else 1, setup)
    assert array.flushed + array.at_end <= array.accesses / 1e6
    assert int(decode(*array.take())["accesses"].sum()) == array.accesses


def test_a_stream_steps_over_pages_that_are_not_seen() -> None:
    addresses = triad(1 << 18)
    remote = addresses[addresses // np.uint64(4096) % np.uint64(4) != 1]
    array = counted(remote, 1, CounterSetup(32, scheme=Scheme.HYBRID))
    assert array.flushed + array.at_end == 3


def test_a_stream_is_one_record_of_where_it_went() -> None:
    array = counted(triad(10_000), 1, CounterSetup(32, scheme=Scheme.HYBRID))
    records = decode(*array.take())
    assert sorted(int(r["start"]) for r in records) == [1 << 32, 2 << 32, 3 << 32]
    assert {int(r["bytes"]) for r in records} == {80_000}
    assert {int(r["accesses"]) for r in records} == {10_000}


def test_pages_that_are_hot_by_themselves_are_no_stream() -> None:
    pages = np.tile(np.arange(20, dtype=np.uint64) << np.uint64(12), 500)
    array = counted(pages, 1, CounterSetup(32, scheme=Scheme.HYBRID))
    assert [int(r["accesses"]) for r in decode(*array.take())] == [500] * 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"counters": 0},
        {"counters": 4, "shared": 4},
        {"range_words": 0},
        {"range_words": 1025},
        {"page_shift": 1},
        {"page_shift": 37},
        {"ring_records": 0},
        {"count_limit": 0},
        {"empty_every": -1},
    ],
)
def test_a_setup_out_of_bounds_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no such counter array"):
        native([], **{"counters": 8, **wrong})
