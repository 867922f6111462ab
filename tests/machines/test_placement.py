"""Where pages live, and what it costs to move them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gnomon.errors import UsageError
from gnomon.machines import (
    Kind,
    MemorySystem,
    Place,
    Placement,
    Tlb,
    Trace,
    Translation,
    load_machine,
)

PAGE = 4096
RING = replace(load_machine("ring-4"), translation=Translation())


def homes(system: MemorySystem, pages: int, start: int = 0) -> list[int | None]:
    return [system.node_of(start + page * PAGE) for page in range(pages)]


def touch(system: MemorySystem, thread: int, pages: range) -> None:
    for page in pages:
        system.access(thread, page * PAGE)


def test_first_touch_follows_the_thread() -> None:
    system = MemorySystem(RING)
    assert system.node_of(0) is None
    for node in range(4):
        touch(system, RING.threads_of(node)[0], range(node * 3, node * 3 + 3))
    assert homes(system, 12) == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    counts = system.counts()
    assert counts.nodes["pages"].tolist() == [3, 3, 3, 3]
    assert counts.threads.total("memory_reads_remote") == 0


def test_interleave_follows_the_page_and_round_robin_the_order() -> None:
    system = MemorySystem(RING)
    system.place(Placement.INTERLEAVE)
    order = [5, 0, 3, 1]
    for page in order:
        system.access(0, page * PAGE)
    assert [system.node_of(page * PAGE) for page in order] == [1, 0, 3, 1]
    system = MemorySystem(RING)
    system.place(Placement.ROUND_ROBIN)
    for page in order:
        system.access(0, page * PAGE)
    assert [system.node_of(page * PAGE) for page in order] == [0, 1, 2, 3]


def test_a_range_may_have_its_own_policy() -> None:
    system = MemorySystem(RING)
    system.place(Placement.BIND, [3], start=4 * PAGE, size=2 * PAGE)
    system.place(Placement.INTERLEAVE, [1, 2], start=6 * PAGE, size=PAGE * 4)
    touch(system, 0, range(10))
    assert homes(system, 10) == [0, 0, 0, 0, 3, 3, 1, 2, 1, 2]


@pytest.mark.parametrize("placement", [Placement.INTERLEAVE, Placement.ROUND_ROBIN])
def test_pages_in_turn_are_spread_evenly(placement: Placement) -> None:
    system = MemorySystem(RING)
    system.place(placement)
    system.run([Trace(0, np.arange(0, 400 * PAGE, 64, dtype=np.uint64))])
    counts = system.counts()
    assert counts.nodes["pages"].tolist() == [100] * 4
    assert counts.nodes["memory_reads"].tolist() == [100 * 64] * 4
    assert counts.nodes["remote_reads"].tolist() == [0, *[100 * 64] * 3]
    assert Counter(homes(system, 400)) == {0: 100, 1: 100, 2: 100, 3: 100}


def test_a_migrated_page_is_fetched_from_its_new_home() -> None:
    system = MemorySystem(replace(RING, translation=Translation(data=Tlb(16, 16))))
    system.access(0, 0, kind=Kind.STORE)
    before = system.time_ns(0)
    system.migrate(0, PAGE, 2)
    assert system.time_ns(0) > before
    assert system.node_of(0) == 2
    assert system.state(0, 0) == "I"
    misses = system.counts().threads.total("dtlb_misses")
    answer = system.access(0, 0)
    assert (answer.place, answer.node) == (Place.REMOTE_MEMORY, 2)
    counts = system.counts()
    assert counts.threads.total("dtlb_misses") == misses + 1
    assert counts.nodes["migrations_out"].tolist() == [1, 0, 0, 0]
    assert counts.nodes["migrations_in"].tolist() == [0, 0, 1, 0]
    assert counts.nodes["memory_writes"].tolist() == [1, 0, 0, 0]  # what was dirty
    assert counts.links["data_messages"].sum() >= 2 * PAGE // 64  # two links a line


def test_migration_leaves_unused_pages_alone() -> None:
    system = MemorySystem(RING)
    system.migrate(0, 10 * PAGE, 1)
    assert homes(system, 10) == [None] * 10
    assert system.time_ns(0) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.place(Placement.BIND), "bound to one node"),
        (lambda s: s.place(Placement.INTERLEAVE, [9]), "has no memory on node 9"),
        (lambda s: s.migrate(0, PAGE, 7), "node 7"),
        (lambda s: s.access(99, 0), "none is number 99"),
        (lambda s: s.access(0, 1 << 60), "below 2^60"),
        (lambda s: s.access(0, -1), "below 2^60"),
        (lambda s: s.state(8, 0), "no core 8"),
        (lambda s: s.counts().threads["cows"], "no count 'cows'"),
        (lambda s: s.run([Trace(0, np.array([1 << 61], np.uint64))]), "2^60"),
        (lambda s: s.run([Trace(0, np.zeros(1, np.uint64))] * 2), "same thread"),
        (lambda s: s.run([Trace(0, np.zeros(1, np.uint64), np.array([9], np.uint8))]), "Kind"),
        (lambda s: s.run([], quantum_ns=1e9), "quantum must be"),
        (lambda s: Trace(0, np.zeros(2, np.uint64), np.zeros(3, np.uint8)), "2 addresses and 3"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises(UsageError, match=words.replace("^", r"\^")):
        call(MemorySystem(RING))
