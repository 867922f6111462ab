"""The engine against its slow twin, on every pipeline, and in steps against in one go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.machines import (
    Cache,
    Core,
    InstructionCycles,
    LatencyWatch,
    Link,
    Machine,
    MemoryController,
    Mode,
    Node,
    OverflowWatch,
    Pipeline,
    RunOptions,
    Tlb,
    Translation,
    WritePolicy,
)
from gnomon.machines.operations import OPERATION, WAITS, Code

from .execution_twin import CYCLE, TwinExecution
from .running import Operations, executed, op, sequence, started

SHAPES = {
    Pipeline.SIMPLE: Core(2.0, threads=2, issue_cycles=0.5, mispredict_cycles=7),
    Pipeline.SMT: Core(2.0, threads=3, pipeline=Pipeline.SMT, mispredict_cycles=7),
    Pipeline.CMT: Core(
        1.0,
        threads=4,
        blocking=True,
        outstanding=1,
        pipeline=Pipeline.CMT,
        thread_groups=2,
        mispredict_cycles=5,
        cycles=InstructionCycles(multiply=5, fp_add=6, fp_multiply=6, fp_divide=33),
    ),
}
CLASSES = [code for code in Code if Code.INTEGER <= code <= Code.OTHER]


def machine_with(pipeline: Pipeline, nodes: int = 2) -> Machine:
    return Machine(
        name="small",
        core=SHAPES[pipeline],
        nodes=(Node(1, MemoryController(2, 50)),) * nodes,
        l1d=Cache(512, 2, 32, 3, write=WritePolicy.THROUGH),
        l1i=Cache(256, 2, 32, 1),
        l2=Cache(4096, 4, 64, 20, inclusive=True),
        translation=Translation(256, data=Tlb(4, 2), instruction=Tlb(2, 2)),
        links=tuple(Link((0, other), 1, 40) for other in range(1, nodes)),
        header_bytes=8,
        request_bytes=8,
    )


@st.composite
def programs(draw: st.DrawFn) -> tuple[Machine, list[Operations], list[int]]:
    """Threads that compute, refer to few lines, meet at barriers and take one of two locks."""
    machine = machine_with(draw(st.sampled_from(list(Pipeline))), draw(st.integers(1, 2)))
    places = draw(st.permutations(range(machine.threads)))
    threads = draw(st.integers(1, machine.threads))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    longest = draw(st.sampled_from([2, 5, 900]))
    sites = draw(st.sampled_from([1, 40]))
    with_locks = draw(st.booleans())
    feeds: list[list[Operations]] = [[] for _ in range(threads)]
    for phase in range(draw(st.integers(1, 4))):
        for parts in feeds:
            for _ in range(int(random.integers(0, 12))):
                parts.append(random_operation(random, longest, sites))
            if with_locks and random.random() < 0.7:
                lock = int(random.integers(2))
                inside = random_operation(random, longest, sites)
                parts.extend([op(Code.LOCK, lock), inside, op(Code.UNLOCK, lock)])
            parts.append(op(Code.BARRIER, phase % 2, site=threads))
    return machine, [sequence(*parts) for parts in feeds], list(places[:threads])


def random_operation(random: np.random.Generator, longest: int, sites: int) -> Operations:
    site = int(random.integers(sites))
    if random.random() < 0.5:
        code = Code(int(random.choice([Code.LOAD, Code.STORE, Code.ATOMIC], p=[0.6, 0.3, 0.1])))
        flags = WAITS if random.random() < 0.3 else 0
        return op(code, int(random.integers(200)) * 8, site=site, size=8, flags=flags)
    code = Code(int(random.choice(CLASSES)))
    return op(code, int(random.integers(1, longest)), site=site)


@settings(max_examples=60, deadline=None)
@given(programs())
def test_twin_agrees_on_times_and_counts(run: tuple[Machine, list[Operations], list[int]]) -> None:
    machine, feeds, places = run
    twin = TwinExecution(machine, feeds, places, seed=3)
    twin.run()
    execution = executed(machine, *feeds, binding=tuple(places), seed=3)
    ends = [each.end for each in twin.threads]
    found = execution._running.tasks()
    assert [end for _, _, end, _ in found] == ends
    ledger = execution.ledger()
    theirs = twin.memory.counts().threads
    for number, thread in enumerate(twin.threads):
        for name, count in thread.counts.items():
            assert ledger.of_thread(number, name) == count, (number, name)
        assert ledger.of_thread(number, "atomic_cycles") == thread.atomic_time // CYCLE
        for name in theirs.names:
            if name not in ("stores", "loads"):
                row = int(theirs[name][thread.hardware])
                ours = name.replace("pending_ticks", "pending_cycles")
                row = row // CYCLE if ours != name else row
                assert ledger.of_thread(number, ours) == row, (number, name)
    for name in ("cores", "nodes", "links"):
        ours = getattr(ledger.machine, name).values
        assert np.array_equal(ours, getattr(twin.memory.counts(), name).values)
    if machine.core.pipeline is Pipeline.CMT:
        cycles = -(-max(end for end in ends if end is not None) // CYCLE)
        assert ledger.idle_cycles.tolist() == [cycles - busy for busy in twin.busy]


def test_who_is_woken_by_another_core_does_not_come_late() -> None:
    # The last thread but one gives a lock to the first, on another core, which passes it on at
    # once to the second, on the core of the last, which works alone meanwhile.
    machine = machine_with(Pipeline.CMT, 2)
    begun = sequence(*(op(Code.BARRIER, number, site=5) for number in range(2)))
    taken, given_back = op(Code.LOCK, 1), op(Code.UNLOCK, 1)
    feeds = [
        sequence(begun, taken, given_back),
        sequence(
            begun, op(Code.SPECIAL, 430, site=15), taken, op(Code.OTHER, 347, site=33), given_back
        ),
        begun,
        sequence(begun, taken, op(Code.BRANCH_TAKEN, 418, site=34), given_back),
        sequence(begun, op(Code.SPECIAL, 562, site=15), op(Code.BRANCH_NOT_TAKEN, 794, site=30)),
    ]
    feeds = [sequence(feed, op(Code.BARRIER, 0, site=5)) for feed in feeds]
    places = [4, 2, 5, 3, 0]
    twin = TwinExecution(machine, feeds, places, seed=3)
    twin.run()
    found = executed(machine, *feeds, binding=tuple(places), seed=3)._running.tasks()
    assert [end for _, _, end, _ in found] == [each.end for each in twin.threads]


WATCHES = (
    OverflowWatch({"instructions": 1}, 7, skid=2),
    OverflowWatch({"cycles": 1}, 50, modes=frozenset(Mode)),
    OverflowWatch({"l1_load_misses": 2, "loads": 1}, 3),
    LatencyWatch(10, every=2),
)


@settings(max_examples=40, deadline=None)
@given(
    programs(),
    st.sampled_from([0.0, 60.0]),
    st.floats(1.0, 300.0),
    st.booleans(),
    st.integers(1, 3),
    st.booleans(),
)
def test_steps_do_not_show(
    run: tuple[Machine, list[Operations], list[int]],
    quantum_ns: float,
    step_ns: float,
    noise: bool,
    copies: int,
    watched: bool,
) -> None:
    """Counts, times and samples are the same however often the execution was stopped."""
    machine, feeds, _ = run
    options = RunOptions(
        quantum_ns=quantum_ns,
        slice_ns=200,
        switch_ns=20,
        noise_period_ns=150 if noise else 0,
        noise_ns=30,
    )
    feeds = feeds[: max(1, len(feeds) // copies)] * copies if copies > 1 else feeds
    feeds = [feed[feed["code"] != Code.BARRIER] for feed in feeds]  # of fewer participants now
    watches = WATCHES if watched else ()
    whole = executed(machine, *feeds, options=options, watches=watches)
    steps = started(machine, *feeds, options=options, watches=watches)
    until = 0.0
    while not steps.advance(until):
        steps.ledger()
        until += step_ns
    assert whole.now_ns == steps.now_ns
    ours, theirs = whole.ledger(), steps.ledger()
    assert np.array_equal(ours.values, theirs.values)
    assert np.array_equal(ours.idle_cycles, theirs.idle_cycles)
    assert np.array_equal(ours.machine.links.values, theirs.machine.links.values)
    assert whole.threads == steps.threads
    assert np.array_equal(whole.samples(), steps.samples())


def test_watches_change_nothing() -> None:
    random = np.random.default_rng(8)
    for pipeline in Pipeline:
        machine = machine_with(pipeline)
        feeds = [
            sequence(*(random_operation(random, 50, 20) for _ in range(200))) for _ in range(4)
        ]
        plain, watched = executed(machine, *feeds), executed(machine, *feeds, watches=WATCHES)
        assert np.array_equal(plain.ledger().values, watched.ledger().values)
        assert plain.now_ns == watched.now_ns
        assert len(watched.samples())


def test_a_relaxed_quantum_changes_no_count_by_more_than_a_hundredth() -> None:
    random = np.random.default_rng(4)
    for pipeline in Pipeline:
        machine = replace(machine_with(pipeline), l1d=Cache(8192, 4, 64, 3))
        feeds = []
        for thread in range(4):
            feed = np.zeros(20_000, dtype=OPERATION)
            feed["code"] = random.choice([Code.LOAD, Code.STORE, Code.INTEGER], len(feed))
            feed["value"] = np.where(
                feed["code"] < Code.INTEGER,
                random.integers(0, 4096, len(feed)) * 8 + (thread << 20),
                3,
            )
            feeds.append(feed)
        exact = executed(machine, *feeds).ledger()
        relaxed = executed(machine, *feeds, options=RunOptions(quantum_ns=200)).ledger()
        for name in exact.names:
            before, after = exact.total(name), relaxed.total(name)
            if name not in ("wait_ticks", "fill_buffer_waits") and before > 1000:
                assert abs(after - before) <= before / 100, (pipeline, name)
