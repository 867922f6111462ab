"""The kernel against its slow twin, on small machines of every kind and random references."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon import _native
from gnomon.machines import (
    Cache,
    Core,
    Kind,
    Link,
    Machine,
    MemoryController,
    MemorySystem,
    Node,
    Prefetcher,
    Replacement,
    Tlb,
    Trace,
    Translation,
    WritePolicy,
)
from gnomon.machines.lowering import native_cache

from .twin import Copy, Twin, TwinCache

POLICIES = st.sampled_from(list(Replacement))
WRITES = st.sampled_from(list(WritePolicy))
LINES = 24  # few lines and small caches, so that everything meets

# Time, translation, prefetching and placement have tests of their own.
NOT_IN_TWIN = {
    *("dtlb_misses", "itlb_misses", "stlb_misses", "walk_reads"),
    *("dtlb_walk_memory_reads", "itlb_walk_memory_reads"),
    *("prefetches", "useful_prefetches", "uncached_reads", "uncached_writes"),
    *("fill_buffer_waits", "l1_pending_ticks", "l2_pending_ticks"),
    *("first_touches", "wait_ticks", "bytes", "pages", "migrations_in", "migrations_out"),
    *("remote_reads", "remote_writes"),
}

References = list[tuple[int, int, Kind]]


@st.composite
def caches(
    draw: st.DrawFn,
    /,
    latency: float,
    line: int = 64,
    fixed: dict[str, object] | None = None,
    most_ways: int = 4,
) -> Cache:
    """A cache of up to four sets."""
    ways = draw(st.integers(1, most_ways))
    sets = draw(st.sampled_from([1, 2, 3, 4]))
    write = draw(WRITES)
    allocate = draw(st.booleans()) if write is WritePolicy.THROUGH else None
    values: dict[str, object] = {
        "replacement": draw(POLICIES),
        "write": write,
        "write_allocate": allocate,
        "inclusive": draw(st.booleans()),
        "writeback_allocate": draw(st.booleans()),
        **(fixed or {}),
    }
    return Cache(ways * sets * line, ways, line, latency, **values)  # type: ignore[arg-type]


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """A machine of one to three nodes with every kind of hierarchy."""
    nodes, cores = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 4]))
    levels = draw(st.integers(1, 3))
    short = draw(st.booleans()) and levels > 1
    line = 16 if short else 64
    l1d = draw(caches(4, line))
    below: list[Cache] = []
    for number in range(1, levels):
        fixed: dict[str, object] = {}
        if number == levels - 1:
            fixed["shared_by"] = draw(st.sampled_from([n for n in (1, 2, 4) if cores % n == 0]))
        if short and number == 1:
            fixed["inclusive"] = True
        level = draw(caches(4 + 10 * number, fixed=fixed))
        if level.inclusive and not level.allocates_on_write:
            level = replace(level, write_allocate=True)
        below.append(level)
    split = draw(st.booleans())
    code: dict[str, object] = {"inclusive": False, "exclusive": draw(st.booleans())}
    l1i = draw(caches(4, 32 if short else 64, code)) if split else None
    links = tuple(Link((0, other), 10, 50) for other in range(1, nodes))
    return Machine(
        name="small",
        core=Core(2.0, threads=draw(st.integers(1, 2))),
        nodes=(Node(cores, MemoryController(10, 50)),) * nodes,
        l1d=l1d,
        l1i=l1i,
        l2=below[0] if below else None,
        l3=below[1] if len(below) > 1 else None,
        links=links,
        translation=Translation(page=256),
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[Machine, References, int]:
    """A machine and what its threads do."""
    machine = draw(machines())
    seed = draw(st.integers(0, 2**32))
    random = np.random.default_rng(seed)
    count = draw(st.integers(1, 250))
    lines = draw(st.integers(2, LINES))
    writes = draw(st.sampled_from([0.0, 0.2, 0.6]))
    code = draw(st.sampled_from([0.0, 0.2]))
    chances = [1 - writes - code, writes, code]
    references = [
        (
            int(random.integers(machine.threads)),
            int(random.integers(lines * 4)) * 16,
            Kind(int(random.choice(3, p=chances))),
        )
        for _ in range(count)
    ]
    return machine, references, seed


@settings(max_examples=200, deadline=None)
@given(runs())
def test_twin_agrees_on_places_counts_and_states(run: tuple[Machine, References, int]) -> None:
    machine, references, seed = run
    system, twin = MemorySystem(machine, seed=seed), Twin(machine, seed)
    for number, (thread, address, kind) in enumerate(references):
        answer = system.access(thread, address, 1, kind)
        assert (answer.place, answer.node) == twin.access(thread, address, kind), number
    addresses = sorted({address // 64 * 64 for _, address, _ in references})
    assert_same_states(system, twin, addresses)
    assert_invariants(system, addresses)
    counts = system.counts()
    for table, ours in (
        (counts.threads, twin.counts),
        (counts.cores, [core.counts for core in twin.cores]),
        (counts.nodes, twin.node_counts),
    ):
        names = [name for name in table.names if name not in NOT_IN_TWIN]
        for row, expected in enumerate(ours):
            found = {name: int(table[name][row]) for name in names}
            assert found == {name: expected[name] for name in names}, (table.scope, row)


def assert_same_states(system: MemorySystem, twin: Twin, addresses: list[int]) -> None:
    for address in addresses:
        line = address // twin.line
        cores, clusters, owner, dirty = system._system.directory(address)
        assert cores == sum(1 << core.number for core in twin.sharers(line))
        assert clusters == sum(1 << cluster for cluster in twin.clusters(line))
        theirs = twin.owner(line)
        assert owner == (-1 if theirs is None else theirs.number)
        for number, last in enumerate(twin.lasts):
            copy = last.find(address)
            state = 0 if copy is None else 1 + copy.dirty
            assert system._system.last_level(number, address) == state
            assert (dirty == number) == (state == 2)
        for core in twin.cores:
            assert system.state(core.number, address) == twin.state(core.number, address)


def assert_invariants(system: MemorySystem, addresses: list[int]) -> None:
    """One writer or many readers, and no dirty line that the directory does not know."""
    for address in addresses:
        states = [system.state(core, address) for core in range(system.machine.cores)]
        owners = [core for core, state in enumerate(states) if state in "ME"]
        assert len(owners) <= 1
        if owners:
            assert states.count("I") == len(states) - 1
        assert system._system.directory(address)[2] == (owners[0] if owners else -1)


def assert_same_counts(one: MemorySystem, other: MemorySystem) -> None:
    """All counts, and the times of all threads."""
    for thread in range(one.machine.threads):
        assert one.time_ns(thread) == other.time_ns(thread)
    ours, theirs = one.counts(), other.counts()
    for name in ("threads", "cores", "nodes", "links"):
        assert np.array_equal(getattr(ours, name).values, getattr(theirs, name).values)


@settings(max_examples=200, deadline=None)
@given(
    caches(4, most_ways=17), st.lists(st.tuples(st.integers(0, 80), st.booleans()), max_size=300)
)
def test_one_cache_agrees_with_its_twin(shape: Cache, accesses: list[tuple[int, bool]]) -> None:
    model, twin = _native.CacheModel(native_cache(shape), 7), TwinCache(shape, 7)
    hits = [model.access(line * 64, store) for line, store in accesses]
    expected = []
    written_back = 0
    for line, store in accesses:
        copy = twin.find(line * 64)
        expected.append(copy is not None)
        if copy is None and store and not shape.allocates_on_write:
            continue
        if copy is None:
            copy = Copy(line)
            victim = twin.insert(copy)
            written_back += victim is not None and victim.dirty
        else:
            twin.touch(copy)
        copy.dirty |= store and shape.write is WritePolicy.BACK
    assert hits == expected
    assert model.counts[5] == written_back
    bulk = _native.CacheModel(native_cache(shape), 7)
    addresses = np.array([line * 64 for line, _ in accesses], dtype=np.uint64)
    bulk.run(addresses, np.array([store for _, store in accesses], dtype=np.uint8))
    assert bulk.counts == model.counts
    for line in range(80):
        assert model.contains(line * 64 + 63) == (twin.find(line * 64) is not None)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 8))
def test_a_larger_lru_cache_holds_what_a_smaller_one_holds(lines: list[int], ways: int) -> None:
    small, large = (
        _native.CacheModel(native_cache(Cache(w * 64, w, 64, 1)), 1) for w in (ways, ways + 1)
    )
    for line in lines:
        in_small, in_large = small.access(line * 64), large.access(line * 64)
        assert in_large or not in_small


@settings(max_examples=100, deadline=None)
@given(runs())
def test_a_run_in_bulk_equals_single_steps(run: tuple[Machine, References, int]) -> None:
    machine, references, seed = run
    only = [(address, kind) for thread, address, kind in references if thread == 0]
    addresses = np.array([address for address, _ in only], dtype=np.uint64)
    operations = np.array([kind | 4 for _, kind in only], dtype=np.uint8)
    steps, bulk = MemorySystem(machine, seed=seed), MemorySystem(machine, seed=seed)
    for address, kind in only:
        steps.access(0, address, 1, kind)
    bulk.run([Trace(0, addresses, operations)])
    assert_same_counts(steps, bulk)


@settings(max_examples=100, deadline=None)
@given(
    runs(),
    st.sampled_from(list(Prefetcher)),
    st.booleans(),
    st.sampled_from([1, 4, 16]),
    st.sampled_from([0, 3]),
)
def test_threads_in_turn_equal_single_steps_in_the_order_of_time(
    run: tuple[Machine, References, int],
    prefetcher: Prefetcher,
    blocking: bool,
    near: int,
    longest_gap: int,
) -> None:
    """A thread may find its hits ahead of others; nothing may show it."""
    machine, references, seed = run
    core = replace(machine.core, prefetcher=prefetcher, blocking=blocking, outstanding=2)
    translation = Translation(256, data=Tlb(4, 2, Replacement.NRU), walk_reads=1)
    machine = replace(machine, core=core, translation=translation)
    random = np.random.default_rng(seed)
    traces = []
    for thread in range(machine.threads):
        mine = [(address, kind) for owner, address, kind in references if owner == thread] * 3
        # Each reference several times, so that there are hits to be found.
        addresses = np.repeat(np.array([address for address, _ in mine], dtype=np.uint64), near)
        kinds = np.repeat(np.array([kind for _, kind in mine], dtype=np.uint8), near)
        waits = (random.random(len(kinds)) < 0.3).astype(np.uint8) * np.uint8(4)
        gaps = random.integers(0, longest_gap + 1, len(kinds)).astype(np.uint16)
        traces.append(Trace(thread, addresses, kinds | waits, None, gaps))
    together, steps = MemorySystem(machine, seed=seed), MemorySystem(machine, seed=seed)
    together.run(traces)
    at = [0] * len(traces)
    while left := [n for n, trace in enumerate(traces) if at[n] < len(trace.addresses)]:
        first = min(left, key=lambda n: (steps._system.time(n), n))
        trace, here = traces[first], at[first]
        at[first] += 1
        assert trace.operations is not None
        assert trace.gaps is not None
        piece = slice(here, here + 1)
        only = (trace.addresses[piece], trace.operations[piece], None, trace.gaps[piece])
        steps.run([Trace(first, *only)])
    assert_same_counts(together, steps)


@pytest.mark.parametrize("policy", list(Replacement))
def test_wide_sets_are_searched_through_hints(policy: Replacement) -> None:
    """More than 16 ways use a table of hints; the result must not show it."""
    shape = Cache(96 * 64, 48, 64, 1, replacement=policy)
    model, twin = _native.CacheModel(native_cache(shape), 3), TwinCache(shape, 3)
    random = np.random.default_rng(5)
    for line in random.integers(0, 140, 6000).tolist():
        copy = twin.find(line * 64)
        if copy is None:
            twin.insert(Copy(line))
        else:
            twin.touch(copy)
        assert model.access(line * 64) == (copy is not None)


@settings(max_examples=60, deadline=None)
@given(runs(), st.sampled_from(list(Prefetcher)), st.sampled_from([0.0, 100.0]))
def test_invariants_hold_with_prefetching_and_threads_in_turn(
    run: tuple[Machine, References, int], prefetcher: Prefetcher, quantum_ns: float
) -> None:
    machine, references, seed = run
    core = replace(machine.core, prefetcher=prefetcher, prefetch_degree=2)
    tlb = Tlb(4, 2, Replacement.NRU)
    translation = Translation(256, data=tlb, instruction=tlb, walk_reads=2)
    system = MemorySystem(replace(machine, core=core, translation=translation), seed=seed)
    traces = []
    for thread in range(machine.threads):
        mine = [(address, kind) for owner, address, kind in references if owner == thread]
        addresses = np.array([address for address, _ in mine], dtype=np.uint64)
        traces.append(Trace(thread, addresses, np.array([k for _, k in mine], dtype=np.uint8)))
    assert system.run(traces, quantum_ns=quantum_ns) == tuple(len(t.addresses) for t in traces)
    # Prefetching and walks may reach further than the references.
    everywhere = list(range(0, LINES * 64 + 512, 64))
    assert_invariants(system, everywhere)
    for address in everywhere:
        holders = [c for c in range(machine.cores) if system.state(c, address) != "I"]
        assert system._system.directory(address)[0] == sum(1 << c for c in holders)
