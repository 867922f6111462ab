"""Threads, synchronisation and the operating system of a simulated machine, by hand."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.machines import (
    Cache,
    Execution,
    ExecutionError,
    Mode,
    Node,
    Placement,
    Program,
    Range,
    RunOptions,
    ThreadState,
    load_machine,
)
from gnomon.machines.execution import OverflowWatch
from gnomon.machines.operations import CONTINUED, TRAPS, WAITS, Code, fixed_feed
from gnomon.machines.workloads import build

from .running import PLAIN, Operations, executed, many, op, program, sequence, started

WORK = op(Code.INTEGER, 1000)  # a microsecond on the plain machine


# -- what is counted


def test_every_class_is_counted_once() -> None:
    classes = [code for code in Code if Code.INTEGER <= code <= Code.OTHER]
    thread = sequence(
        *(op(code, 10 + code) for code in classes),
        op(Code.LOAD, 64, size=8),
        op(Code.STORE, 64, size=8),
        op(Code.ATOMIC, 64, size=8),
        op(Code.FETCH, 4096, size=4),
    )
    ledger = executed(PLAIN, thread, thread).ledger()
    for code in classes:
        assert ledger[code.name.lower()][:, Mode.USER].tolist() == [10 + code] * 2
    for name in ("loads", "stores", "atomics", "fetches"):
        assert ledger.total(name) == 2
    assert ledger.total("instructions") == 2 * (sum(10 + code for code in classes) + 3)
    assert ledger.total("instructions", {Mode.SUPERVISOR, Mode.HYPERVISOR}) == 0


def test_a_reference_across_lines_is_one_instruction() -> None:
    ledger = executed(PLAIN, op(Code.LOAD, 60, size=8)).ledger()
    assert (ledger.total("loads"), ledger.total("split_references")) == (1, 1)
    assert ledger.total("l1_load_misses") == 1


def test_references_that_continue_an_instruction_are_none_of_their_own() -> None:
    thread = sequence(
        op(Code.LOAD, 64, size=8),
        op(Code.STORE, 64, size=8, flags=CONTINUED),
        op(Code.INTEGER, 10),
        op(Code.STORE, 128, size=8),
        op(Code.STORE, 192, size=8, flags=CONTINUED),
    )
    execution = executed(PLAIN, thread, watches=[OverflowWatch({"instructions": 1}, 4)])
    ledger = execution.ledger()
    assert (ledger.total("loads"), ledger.total("stores")) == (1, 3)
    assert ledger.total("instructions") == 12
    assert len(execution.samples()) == 3


def test_counts_belong_to_the_mode_and_cycles_too() -> None:
    thread = sequence(
        op(Code.INTEGER, 100),
        op(Code.SUPERVISOR),
        op(Code.INTEGER, 30),
        op(Code.HYPERVISOR),
        op(Code.INTEGER, 7),
        op(Code.USER),
        op(Code.INTEGER, 5),
    )
    ledger = executed(PLAIN, thread).ledger()
    assert ledger["integer"].tolist() == [[105, 30, 7]]
    assert ledger["cycles"].tolist() == [[105, 30, 7]]


def test_code_is_fetched_when_its_line_changes() -> None:
    sites = [1, 2, 3, 20, 21, 1]  # 4 bytes each: two lines of 64 bytes
    thread = sequence(*(op(Code.INTEGER, 1, site=site) for site in sites))
    assert executed(PLAIN, thread).ledger().total("fetches") == 3
    explicit = sequence(op(Code.FETCH, 0, size=4), thread)
    assert executed(PLAIN, explicit).ledger().total("fetches") == 1


def test_a_ledger_may_be_read_in_the_middle_of_a_long_stretch() -> None:
    execution = started(PLAIN, op(Code.INTEGER, 10**9))
    for until in (1000.0, 1500.5, 10**8):
        assert not execution.advance(until)
        assert execution.ledger().total("integer") == -(-until // 1)
        assert execution.now_ns == until
    assert execution.ledger().total("cycles") == 10**8


def test_branches_are_predicted_from_the_site() -> None:
    always = op(Code.BRANCH_TAKEN, 1000, site=5)
    ledger = executed(PLAIN, always).ledger()
    assert ledger.total("branch_mispredicts") == 1  # the predictor begins weakly not taken
    turns = sequence(*(op(Code(Code.BRANCH_TAKEN + i % 2), 1, site=5) for i in range(100)))
    found = executed(PLAIN, turns)
    assert found.ledger().total("branch_mispredicts") == 100
    fetch_ns = 50
    assert found.now_ns - fetch_ns == 100 * (1 + 10)


def test_stalls_are_the_time_that_references_take_beyond_their_issue() -> None:
    thread = sequence(op(Code.LOAD, 0, size=8, flags=WAITS), op(Code.INTEGER, 10))
    execution = executed(PLAIN, thread)
    assert execution.now_ns == 52 + 10
    assert execution.ledger().total("stall_cycles") == 51
    assert execution.ledger().total("cycles") == 62


def test_an_atomic_takes_from_asking_for_its_line_until_it_is_done() -> None:
    atomic = op(Code.ATOMIC, 0, size=8)
    cold = executed(PLAIN, atomic)
    assert cold.ledger().total("atomic_cycles") == cold.now_ns
    warm = executed(PLAIN, sequence(op(Code.STORE, 0, size=8, flags=WAITS), atomic))
    assert warm.ledger().total("atomic_cycles") == PLAIN.l1d.latency_cycles
    assert executed(PLAIN, op(Code.STORE, 0, size=8)).ledger().total("atomic_cycles") == 0


def test_pending_is_the_time_in_which_any_load_that_missed_is_under_way() -> None:
    """A load takes 52 ns and issues in one; two overlap, the third begins when they are over."""
    pair = many(Code.LOAD, [0, 64])
    ledger = executed(PLAIN, sequence(pair, op(Code.INTEGER, 100), many(Code.LOAD, [128]))).ledger()
    assert ledger.total("l1_pending_cycles") == 53 + 52
    assert ledger.total("fill_buffer_waits") == 0
    stores = executed(PLAIN, many(Code.STORE, [0, 64])).ledger()
    assert stores.total("l1_pending_cycles") == 0


def test_pending_of_the_second_level_is_what_that_level_missed() -> None:
    machine = replace(PLAIN, l2=Cache(65536, 4, 64, 12))
    lines = np.arange(0, 8192, 64)
    twice = many(Code.LOAD, [*lines, *lines])  # too much for the first level alone
    twice["flags"] = WAITS
    ledger = executed(machine, twice).ledger()
    assert ledger.total("l2_pending_cycles") == 128 * 62
    assert ledger.total("l1_pending_cycles") == 128 * (62 + 12)


def test_a_miss_waits_for_a_fill_buffer_when_all_are_taken() -> None:
    machine = replace(PLAIN, core=replace(PLAIN.core, outstanding=2))
    ledger = executed(machine, many(Code.LOAD, [0, 64, 128, 192, 256])).ledger()
    # The third waits for the first; when it is issued, the second is over.
    assert ledger.total("fill_buffer_waits") == 2


def test_footprint_is_what_was_taken_and_not_given_back() -> None:
    execution = executed(PLAIN, sequence(op(Code.GROW, 100), op(Code.SHRINK, 30)), WORK)
    assert execution.footprint == 70


def test_marked_instructions_trap_only_where_asked() -> None:
    thread = sequence(op(Code.FP_MULTIPLY, 90), op(Code.FP_MULTIPLY, 10, flags=TRAPS))
    off = executed(PLAIN, thread).ledger()
    assert off["fp_multiply"].tolist() == [[100, 0, 0]]
    on = executed(PLAIN, thread, options=RunOptions(fp_traps=True)).ledger()
    assert on["fp_multiply"].tolist() == [[90, 10, 0]]
    assert on.total("traps") == 10
    assert on["instructions"].tolist() == [[90, 10 * PLAIN.core.trap_instructions, 0]]


# -- synchronisation


def test_a_barrier_lets_all_go_when_the_last_has_come() -> None:
    threads = [
        sequence(op(Code.INTEGER, 100 * i), op(Code.BARRIER, 7, site=4), op(Code.INTEGER, 5))
        for i in range(1, 5)
    ]
    execution = executed(PLAIN, *threads)
    assert {each.end_ns for each in execution.threads} == {405.0}
    assert execution.ledger()["cycles"][:, 0].tolist() == [105, 205, 305, 405]


def test_a_lock_goes_to_who_asked_first() -> None:
    def thread(delay: int) -> Operations:
        return sequence(
            op(Code.INTEGER, delay), op(Code.LOCK, 1), op(Code.INTEGER, 100), op(Code.UNLOCK, 1)
        )

    ends = [each.end_ns for each in executed(PLAIN, *map(thread, (30, 10, 20))).threads]
    assert ends == [310.0, 110.0, 210.0]


def test_threads_start_and_join_others() -> None:
    first = sequence(op(Code.INTEGER, 50), op(Code.START, 1), op(Code.JOIN, 1), op(Code.INTEGER, 1))
    execution = executed(PLAIN, first, op(Code.INTEGER, 200), dynamic=True)
    assert [(each.begin_ns, each.end_ns) for each in execution.threads] == [(0, 251), (50, 250)]


def test_a_thread_that_nobody_starts_does_not_run() -> None:
    execution = executed(PLAIN, WORK, WORK, dynamic=True)
    assert execution.threads[1].state is ThreadState.UNBORN
    assert execution.ledger()["integer"][:, 0].tolist() == [1000, 0]


def test_sleeping_takes_time_but_no_cycles() -> None:
    execution = executed(PLAIN, sequence(op(Code.SLEEP, 5000), op(Code.INTEGER, 10)))
    assert execution.now_ns == 5010
    assert execution.ledger().total("cycles") == 10


@pytest.mark.parametrize(
    ("threads", "words"),
    [
        ([op(Code.BARRIER, 3, site=2)], "thread 0 waits at barrier 3 (1 of 2 are there)"),
        (
            [
                sequence(op(Code.LOCK, 1), op(Code.INTEGER, 50), op(Code.LOCK, 2)),
                sequence(op(Code.LOCK, 2), op(Code.INTEGER, 50), op(Code.LOCK, 1)),
            ],
            "thread 1 waits for lock 1, which thread 0 has",
        ),
        ([op(Code.JOIN, 0)], "thread 0 waits for the end of thread 0"),
    ],
)
def test_a_deadlock_is_named(threads: list[Operations], words: str) -> None:
    execution = started(PLAIN, *threads, options=RunOptions(noise_period_ns=100, noise_ns=10))
    with pytest.raises(ExecutionError, match="wait for each other") as error:
        execution.advance()
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (op(Code.UNLOCK, 4), "lock 4, which nobody holds"),
        (op(Code.START, 9), "thread 9, which does not exist"),
        (op(Code.BARRIER, 1), "no threads at all"),
    ],
)
def test_what_makes_no_sense_is_refused(operation: Operations, words: str) -> None:
    with pytest.raises(ExecutionError, match=words):
        started(PLAIN, operation).advance()


# -- the operating system


def test_more_threads_than_hardware_take_turns() -> None:
    options = RunOptions(slice_ns=1000, switch_ns=0)
    work = op(Code.INTEGER, 10_000)
    execution = executed(PLAIN, *[work] * 8, options=options)
    assert execution.now_ns == 20_000
    assert [each.end_ns for each in execution.threads] == [19_000.0] * 4 + [20_000.0] * 4
    ledger = execution.ledger()
    assert ledger["cycles"].sum(axis=1).tolist() == [10_000] * 8
    assert ledger.total("context_switches", {Mode.USER}) == 0
    assert ledger["context_switches"].sum(axis=1).tolist() == [9] * 8
    assert ledger.idle_cycles.tolist() == [0] * 4


def test_a_switch_costs_time_that_belongs_to_nobody() -> None:
    machine = replace(PLAIN, nodes=(Node(1, PLAIN.nodes[0].memory),))
    options = RunOptions(slice_ns=1000, switch_ns=50)
    execution = executed(machine, *[op(Code.INTEGER, 2000)] * 2, options=options)
    assert execution.now_ns == 4000 + 3 * 50
    assert execution.ledger().total("cycles") == 4000


@pytest.mark.parametrize("threads", [32, 64, 80, 96, 112, 128, 144])
def test_equal_work_on_64_strands_follows_the_granularity_law(threads: int) -> None:
    """Throughput is T / (64 ceil(T / 64)) of the best when none is divided."""
    whole = RunOptions(slice_ns=1e9, switch_ns=0)
    work = op(Code.FP_MULTIPLY, 2000)
    machine = load_machine("niagara2")
    found = executed(machine, *[work] * threads, options=whole)
    rounds = [min(64, threads - first) for first in range(0, threads, 64)]
    # With all strands busy each has an eighth of the unit, with fewer what its latency allows.
    expected = sum(2000 * max(6, -(-n // 8)) for n in rounds)
    assert found.now_ns * 1.415 == pytest.approx(expected, rel=0.01)


def test_threads_are_spread_over_nodes_cores_and_groups() -> None:
    def places(name: str, threads: int) -> list[int | None]:
        return [each.hardware for each in executed(load_machine(name), *[WORK] * threads).threads]

    assert places("niagara2", 8) == [0, 8, 16, 24, 32, 40, 48, 56]
    assert places("niagara2", 16)[8:] == [4, 12, 20, 28, 36, 44, 52, 60]
    assert places("haswell-ex-4s", 5) == [0, 32, 64, 96, 2]


def test_a_bound_thread_stays_where_it_is() -> None:
    execution = executed(PLAIN, *[WORK] * 3, binding=(2, 2, 2), options=RunOptions(slice_ns=100))
    assert [each.hardware for each in execution.threads] == [2, 2, 2]
    assert execution.ledger().total("migrations") == 0
    assert execution.ledger().idle_cycles[2] == 0
    assert execution.ledger().idle_cycles[0] > 3000


def test_a_thread_that_comes_back_elsewhere_has_migrated() -> None:
    sleeper = sequence(op(Code.INTEGER, 10), op(Code.SLEEP, 500), op(Code.INTEGER, 10))
    blocker = op(Code.INTEGER, 5000)
    options = RunOptions(switch_ns=0)
    threads = [sleeper, blocker, op(Code.INTEGER, 100), blocker, blocker]
    execution = executed(PLAIN, *threads, options=options)
    assert execution.ledger()["migrations"].sum(axis=1).tolist() == [1, 0, 0, 0, 0]
    assert execution.threads[0].hardware == 2


def test_noise_takes_free_hardware_first() -> None:
    options = RunOptions(noise_period_ns=10_000, noise_ns=500, switch_ns=0)
    work = op(Code.INTEGER, 1_000_000)
    free = executed(PLAIN, *[work] * 3, options=options)
    assert free.now_ns <= 1_003_000  # one activity may come while another one is there
    full = executed(PLAIN, *[work] * 4, options=options)
    events = full._running.noise_events
    assert events == pytest.approx(100, abs=40)
    assert full.ledger().total("context_switches", {Mode.SUPERVISOR}) == events
    assert full.ledger().total("cycles") == 4_000_000
    assert sum(each.end_ns or 0 for each in full.threads) == pytest.approx(
        4_000_000 + 500 * events, abs=501
    )


# -- programs that still run


def test_operations_may_come_while_they_are_executed() -> None:
    whole = many(Code.LOAD, np.arange(50_000) * 8)
    live = _native.LiveFeed()

    def make() -> None:
        for first in range(0, len(whole), 1000):
            live.give(whole[first : first + 1000].tobytes())
        live.end()

    other = many(Code.LOAD, np.arange(50_000) * 8)
    execution = Execution(PLAIN, Program("live", (live, fixed_feed(other)), frozenset()))
    maker = threading.Thread(target=make)
    maker.start()
    assert execution.advance()
    maker.join()
    known = executed(PLAIN, whole, other)
    assert np.array_equal(execution.ledger().values, known.ledger().values)
    assert execution.now_ns == known.now_ns


def test_a_program_that_makes_nothing_is_waited_for() -> None:
    live = _native.LiveFeed()
    execution = Execution(PLAIN, Program("live", (live, fixed_feed(WORK)), frozenset()))
    assert not execution.advance(seconds=0.01)
    live.end()
    assert execution.advance()
    assert execution.now_ns == 1000


def test_who_is_away_is_not_waited_for() -> None:
    live = _native.LiveFeed()
    live.give(sequence(op(Code.INTEGER, 10), op(Code.AWAY)).tobytes())
    program = Program("live", (live, fixed_feed(WORK)), frozenset())
    execution = Execution(PLAIN, program)
    assert not execution.advance(seconds=0.01)
    states = [each.state for each in execution.threads]
    assert states == [ThreadState.AWAY, ThreadState.ENDED]
    live.give(op(Code.INTEGER, 7).tobytes())
    live.end()
    assert execution.advance()
    assert execution.ledger()["integer"][:, 0].tolist() == [17, 1000]


# -- programs


def test_ranges_say_where_pages_go() -> None:
    machine = load_machine("ring-4")
    feed = fixed_feed(many(Code.LOAD, np.arange(64) * 64))
    bound = Range("a", 0, 4096, Placement.BIND, (2,))
    made = Program("bound", (feed,), frozenset(), ranges=(bound,))
    execution = Execution(machine, made)
    assert execution.advance()
    assert execution.memory.node_of(0) == 2
    assert execution.ledger().total("memory_reads_remote") == 64


@pytest.mark.parametrize("machine", ["ring-4", "niagara2", "laptop", "smile-4"])
@pytest.mark.parametrize("name", ["vector-update", "matrix-update", "bfs"])
def test_workloads_are_counted_exactly(name: str, machine: str) -> None:
    made = build(name, {"threads": "4"})
    execution = Execution(load_machine(machine), made)
    assert execution.advance()
    ledger = execution.ledger()
    assert {count: ledger.total(count) for count in made.exact} == dict(made.exact)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (program(), "no threads"),
        (program(WORK, binding=(0, 1)), "1 threads, 2 are bound"),
        (program(WORK, binding=(77,)), "none is number 77"),
    ],
)
def test_impossible_programs_are_refused(made: Program, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Execution(PLAIN, made)


def test_options_are_checked() -> None:
    with pytest.raises(UsageError, match="slice_ns"):
        RunOptions(slice_ns=0)
    with pytest.raises(UsageError, match="noise_ns"):
        RunOptions(noise_ns=-1)
    with pytest.raises(UsageError, match="quantum"):
        started(PLAIN, WORK, options=RunOptions(quantum_ns=1e9))


def test_a_closed_execution_says_so() -> None:
    with executed(PLAIN, WORK) as execution:
        assert execution.now_ns == 1000
    with pytest.raises(UsageError, match="closed"):
        execution.ledger()


def locked(turn: int, delay: int, inside: int = 10) -> Operations:
    """Work, then a lock at one's turn."""
    return sequence(
        op(Code.INTEGER, delay),
        op(Code.LOCK, 1, site=turn),
        op(Code.INTEGER, inside),
        op(Code.UNLOCK, 1),
    )


def test_a_lock_with_turns_is_taken_in_their_order() -> None:
    execution = executed(PLAIN, locked(3, 10), locked(1, 500), locked(2, 100))
    ends = [status.end_ns or 0 for status in execution.threads]
    assert ends == [530, 510, 520]


def test_a_turn_that_never_comes_is_passed_over() -> None:
    execution = executed(PLAIN, locked(7, 10), locked(4, 50))
    ends = [status.end_ns or 0 for status in execution.threads]
    assert ends == [70, 60]


def test_what_a_thread_holds_at_its_end_is_free() -> None:
    holder = sequence(op(Code.LOCK, 1), op(Code.INTEGER, 100))
    execution = executed(PLAIN, holder, locked(0, 10))
    assert execution.threads[1].end_ns == 110


def test_real_time_can_be_limited() -> None:
    loads = many(Code.LOAD, np.arange(2_000_000) * 64)
    execution = started(PLAIN, loads)
    steps = 0
    while not execution.advance(seconds=0.005):
        steps += 1
    assert steps > 0
    assert execution.ledger().total("loads") == 2_000_000
