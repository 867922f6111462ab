"""Counts and latencies that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from gnomon.machines import (
    DEPENDENT,
    Cache,
    Core,
    Counts,
    Kind,
    Link,
    Machine,
    MemoryController,
    MemorySystem,
    Node,
    Place,
    Placement,
    Prefetcher,
    Replacement,
    Tlb,
    Trace,
    Translation,
    load_machine,
)

KIB, MIB = 1 << 10, 1 << 20

RING = replace(load_machine("ring-4"), translation=Translation())  # no translation buffers


def addresses(start: int, stop: int, step: int) -> NDArray[np.uint64]:
    return np.arange(start, stop, step, dtype=np.uint64)


def counted(machine: Machine, trace: NDArray[np.uint64], repeat: int = 1) -> Counts:
    system = MemorySystem(machine)
    for _ in range(repeat):
        system.run([Trace(0, trace)])
    return system.counts()


# -- misses


@pytest.mark.parametrize("step", [1, 4, 8, 64])
def test_a_scan_misses_once_a_line(step: int) -> None:
    counts = counted(RING, addresses(0, MIB, step))
    assert [counts.misses(level) for level in (1, 2, 3)] == [MIB // 64] * 3
    assert counts.threads.total("memory_reads_local") == MIB // 64


@pytest.mark.parametrize("stride", [64, 128, 256, 1024, 4096])
def test_a_stride_misses_once_a_reference(stride: int) -> None:
    references = addresses(0, 256 * stride, stride)
    assert counted(RING, references).misses(1) == 256


@pytest.mark.parametrize(("lines", "hits"), [(7, True), (8, True), (9, False), (16, False)])
def test_lines_of_one_set_fit_up_to_the_ways(lines: int, hits: bool) -> None:
    apart = RING.l1d.sets * 64
    conflicting = addresses(0, lines * apart, apart)
    counts = counted(RING, conflicting, repeat=10)
    assert counts.misses(1) == (lines if hits else 10 * lines)


@pytest.mark.parametrize(
    ("policy", "fewest", "most"), [("lru", 1.0, 1.0), ("nru", 0.05, 1.0), ("random", 0.05, 0.6)]
)
def test_a_cycle_longer_than_a_set_defeats_lru_only(
    policy: str, fewest: float, most: float
) -> None:
    machine = replace(RING, l1d=replace(RING.l1d, replacement=Replacement(policy)))
    apart = machine.l1d.sets * 64
    cycle = np.tile(addresses(0, 9 * apart, apart), 500)
    assert fewest <= counted(machine, cycle).misses(1) / cycle.size <= most


def test_an_access_across_lines_touches_both_and_misses_once() -> None:
    system = MemorySystem(RING)
    system.access(0, 60, 8)
    counts = system.counts()
    assert counts.threads.total("loads") == 1
    assert [counts.misses(level) for level in (1, 2, 3)] == [1, 1, 1]
    assert system.state(0, 0) == system.state(0, 64) == "E"
    system.run([Trace(0, np.array([124, 64], np.uint64), sizes=np.array([8, 8], np.uint8))])
    counts = system.counts()
    assert counts.threads.total("loads") == 3
    assert counts.misses(1) == 2  # the first line was there, the second was not


# -- latencies


def chase(machine: Machine, size: int, home: int = 0) -> float:
    """Return the cycles of a load in a cycle through all lines of a working set."""
    system = MemorySystem(machine)
    system.place(Placement.BIND, [home])
    lines = np.random.default_rng(1).permutation(size // 64).astype(np.uint64) * np.uint64(64)
    trace = Trace(0, lines, np.full(lines.size, Kind.LOAD | DEPENDENT, np.uint8))
    system.run([trace])
    before = system.time_ns(0)
    system.run([trace])
    return (system.time_ns(0) - before) * machine.core.clock_ghz / lines.size


@pytest.mark.parametrize(
    ("size", "cycles"),
    [(16 * KIB, 4), (32 * KIB, 4), (64 * KIB, 12), (256 * KIB, 12), (MIB, 40), (2 * MIB, 40)],
)
def test_a_chase_takes_the_latency_of_the_level_it_fits_in(size: int, cycles: float) -> None:
    assert chase(RING, size) == pytest.approx(cycles, rel=1e-9)


@pytest.mark.parametrize(("home", "beyond"), [(0, 30), (1, 100), (2, 170), (3, 100)])
def test_a_chase_through_memory_takes_its_way(home: int, beyond: float) -> None:
    expected = 40 + beyond * RING.core.clock_ghz
    assert chase(RING, 8 * MIB, home) == pytest.approx(expected, rel=1e-6)
    assert RING.latency_ns(0, home) == beyond


def test_independent_misses_overlap_up_to_the_fill_buffers() -> None:
    machine = replace(RING, core=replace(RING.core, outstanding=5))
    system = MemorySystem(machine)
    references = addresses(0, 4 * MIB, 64)
    system.run([Trace(0, references)])
    latency = 40 / machine.core.clock_ghz + 30
    assert system.time_ns(0) / references.size == pytest.approx(latency / 5, rel=0.01)


def test_published_latencies_of_the_smile_configuration() -> None:
    system = MemorySystem(load_machine("smile-4"))
    page = 4096
    assert [system.access(0, page * i).node for i in range(8)] == [0, 1, 2, 3] * 2
    assert system.access(0, 8).cycles == 1
    assert system.access(0, 8, kind=Kind.STORE).cycles == 1
    assert system.access(0, 2 * page).cycles == 1000
    assert system.access(0, 2 * page, kind=Kind.STORE).cycles == 20
    assert system.state(0, 2 * page) == "I"
    counts = system.counts()
    assert counts.threads.total("uncached_reads") == 7
    assert counts.threads.total("uncached_writes") == 1


def test_published_latencies_of_the_niagara_2() -> None:
    machine = load_machine("niagara2")
    system = MemorySystem(replace(machine, translation=Translation(8192)))
    load = system.access(0, 0)
    assert load.place is Place.LOCAL_MEMORY
    assert load.cycles == pytest.approx(26 + 92.75 * 1.415, abs=0.01)  # about 157 cycles
    assert system.access(0, 16).cycles == 26  # the next line of L1 is in the same one of L2
    assert system.access(0, 4096, kind=Kind.FETCH).cycles == pytest.approx(
        24 + 92.75 * 1.415, abs=0.01
    )
    assert system.access(0, 4096 + 32, kind=Kind.FETCH).cycles == 24


# -- translation


def test_translation_misses_once_a_page_and_reads_tables() -> None:
    tlb = Tlb(16, 4)
    machine = replace(RING, translation=Translation(4096, data=tlb, walk_reads=3))
    counts = counted(machine, addresses(0, 64 * 4096, 64))
    assert counts.threads.total("dtlb_misses") == 64
    assert counts.threads.total("walk_reads") == 3 * 64
    # 64 entries of 8 bytes are 8 lines, and one line each of the two levels above.
    assert counts.threads.total("dtlb_walk_memory_reads") == 8 + 1 + 1


@pytest.mark.parametrize(("pages", "misses"), [(16, 16), (17, 170)])
def test_a_translation_buffer_holds_its_entries(pages: int, misses: int) -> None:
    machine = replace(RING, translation=Translation(4096, data=Tlb(16, 16)))
    counts = counted(machine, addresses(0, pages * 4096, 4096), repeat=10)
    assert counts.threads.total("dtlb_misses") == misses


def test_a_second_buffer_saves_the_walk() -> None:
    translation = Translation(4096, data=Tlb(4, 4), second=Tlb(64, 4, latency_cycles=7))
    machine = replace(RING, translation=translation)
    system = MemorySystem(machine)
    for page in range(8):
        system.access(0, page * 4096)
    walks = system.counts().threads.total("walk_reads")
    again = system.access(0, 0)
    assert (again.place, again.cycles) == (Place.L1, 4 + 7)
    counts = system.counts()
    assert counts.threads.total("walk_reads") == walks == 8
    assert counts.threads.total("stlb_misses") == 8


# -- prefetching


@pytest.mark.parametrize("prefetcher", list(Prefetcher))
def test_prefetching_a_scan(prefetcher: Prefetcher) -> None:
    machine = replace(RING, core=replace(RING.core, prefetcher=prefetcher, prefetch_degree=2))
    system = MemorySystem(machine)
    lines = addresses(0, MIB, 64)
    slowly = np.full(lines.size, 400, np.uint16)  # time enough for a line to arrive
    system.run([Trace(0, lines, gaps=slowly)])
    threads = system.counts().threads
    assert threads.total("l1_load_misses") == lines.size
    fetched, useful = threads.total("prefetches"), threads.total("useful_prefetches")
    assert threads.total("l2_load_misses") == lines.size - useful
    # Every page begins anew: one miss for the next line, three until a stride is known.
    missing = {Prefetcher.OFF: 64, Prefetcher.NEXT_LINE: 1, Prefetcher.STRIDE: 3}[prefetcher]
    assert useful == fetched == (64 - missing) * (MIB // 4096)


def test_a_stride_is_found_within_a_page() -> None:
    core = replace(RING.core, prefetcher=Prefetcher.STRIDE)
    system = MemorySystem(replace(RING, core=core))
    places = [system.access(0, 3 * 64 * i).place for i in range(8)]
    assert places[:3] == [Place.LOCAL_MEMORY] * 3
    assert places[3:] == [Place.L2] * 5


def test_a_late_prefetch_costs_the_rest_of_its_way() -> None:
    core = replace(RING.core, prefetcher=Prefetcher.NEXT_LINE)
    system = MemorySystem(replace(RING, core=core))
    first = system.access(0, 0, dependent=False)  # goes on at once
    second = system.access(0, 64)
    assert second.place is Place.L2
    assert second.cycles == pytest.approx(first.cycles - core.issue_cycles)


# -- coherence


def test_a_line_moves_through_the_states_of_mesi() -> None:
    system = MemorySystem(RING)

    def states() -> str:
        return "".join(system.state(core, 0) for core in range(0, 8, 2))

    assert system.access(0, 0).place is Place.LOCAL_MEMORY
    assert states() == "EIII"
    system.access(0, 0, kind=Kind.STORE)
    assert states() == "MIII"
    taken = system.access(2, 0)
    assert (taken.place, taken.node) == (Place.REMOTE_CACHE, 0)
    assert states() == "SSII"
    system.access(4, 0, kind=Kind.STORE)
    assert states() == "IIMI"
    counts = system.counts()
    assert counts.threads["interventions_remote"].tolist()[2] == 1
    # Two cores and the last levels of their nodes lose the line.
    assert counts.threads["invalidations_remote"].tolist()[4] == 4
    assert counts.cores["invalidations_received"].tolist() == [1, 0, 1, 0, 0, 0, 0, 0]
    assert counts.nodes["memory_writes"].tolist() == [1, 0, 0, 0]


def test_an_intervention_takes_the_triangle_of_requester_home_and_owner() -> None:
    system = MemorySystem(RING)
    system.place(Placement.BIND, [1])
    system.access(4, 0, kind=Kind.STORE)  # on node 2, at home on node 1
    answer = system.access(0, 0)  # 0 to 1 to 2 one way each, and two links back
    assert answer.place is Place.REMOTE_CACHE
    assert answer.ns == pytest.approx(40 / 2.0 + 35 + 35 + 70)


def test_false_sharing_costs_an_intervention_a_store() -> None:
    system = MemorySystem(RING)
    for _ in range(50):
        system.access(0, 0, kind=Kind.STORE)
        system.access(2, 32, kind=Kind.STORE)
    assert system.counts().threads.total("interventions_remote") == 99


# -- write policies


def test_write_through_reaches_the_shared_level_each_time() -> None:
    system = MemorySystem(replace(load_machine("niagara2"), translation=Translation(8192)))
    system.access(0, 0)
    system.access(8, 0)  # a strand of the next core
    for _ in range(10):
        system.access(0, 0, kind=Kind.STORE)
    counts = system.counts()
    assert system.state(0, 0) == "S"
    assert system.state(1, 0) == "I"
    assert counts.cores["invalidations_received"].tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
    assert counts.threads.total("memory_writes_local") == 0


def test_write_back_waits_for_the_eviction() -> None:
    machine = Machine(
        name="one",
        core=Core(1.0),
        nodes=(Node(1, MemoryController(10, 50)),),
        l1d=Cache(KIB, 2, 64, 1),
    )
    system = MemorySystem(machine)
    for _ in range(5):
        system.run([Trace(0, addresses(0, KIB, 64), np.full(KIB // 64, Kind.STORE, np.uint8))])
    assert system.counts().threads.total("memory_writes_local") == 0
    system.run([Trace(0, addresses(KIB, 2 * KIB, 64))])
    assert system.counts().threads.total("memory_writes_local") == KIB // 64


def test_routes_prefer_latency_then_links_then_low_numbers() -> None:
    far = Link((0, 1), 10, 100)
    machine = replace(
        RING, nodes=RING.nodes[:3], links=(far, Link((0, 2), 10, 40), Link((2, 1), 10, 40))
    )
    assert machine.routes()[0, 1] == ((1, 0), (2, 0))
    assert machine.routes()[1, 0] == ((2, 1), (1, 1))
    assert RING.routes()[0, 2] == ((0, 0), (1, 0))
