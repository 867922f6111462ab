"""Samples of overflows and of slow loads, and monitors of what leaves a node."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.machines import (
    Kind,
    LatencyWatch,
    Machine,
    Mode,
    OverflowWatch,
    Pipeline,
    Place,
    Placement,
    Translation,
    load_machine,
)
from gnomon.machines.operations import WAITS, Code

from .running import PLAIN, executed, many, op, sequence, started
from .test_execution_twin import machine_with, random_operation

NIAGARA = load_machine("niagara2")


@pytest.mark.parametrize("machine", [PLAIN, NIAGARA])
def test_a_sample_is_taken_at_every_multiple_of_the_period(machine: Machine) -> None:
    thread = op(Code.FP_ADD, 10_000)
    watch = OverflowWatch({"fp_add": 1}, 1000)
    execution = executed(machine, thread, watches=[watch])
    samples = execution.samples()
    cycles = executed(machine, thread).now_ns * machine.core.clock_ghz
    expected = np.arange(1, 11) * round(cycles / 10) * 1000
    assert samples["time"].tolist() == expected.tolist()
    assert len(execution.samples()) == 0


def test_samples_say_where_the_thread_was() -> None:
    thread = sequence(
        op(Code.ENTER, 0x400),
        op(Code.INTEGER, 99, site=3),
        op(Code.ENTER, 0x500),
        op(Code.LOAD, 0x1238, site=4, size=8),
        op(Code.LEAVE),
        op(Code.INTEGER, 100, site=5),
    )
    execution = executed(
        PLAIN, op(Code.INTEGER, 5), thread, watches=[OverflowWatch({"instructions": 1}, 100)]
    )
    samples = execution.samples()
    assert samples["thread"].tolist() == [1, 1]
    assert samples["hardware"].tolist() == [1, 1]
    assert samples["site"].tolist() == [4, 5]
    assert samples["function"].tolist() == [0x500, 0x400]
    assert samples["address"].tolist() == [0x1238, 0]


def test_skid_shows_what_came_later() -> None:
    thread = sequence(op(Code.INTEGER, 100, site=1), op(Code.INTEGER, 100, site=30))
    for skid, site in ((0, 1), (5, 30)):
        watch = OverflowWatch({"instructions": 1}, 100, skid=skid)
        sample = executed(PLAIN, thread, watches=[watch]).samples()[0]
        assert sample["site"] == site


def test_only_watched_modes_and_threads_count() -> None:
    thread = sequence(op(Code.INTEGER, 500), op(Code.SUPERVISOR), op(Code.INTEGER, 300))
    watches = [
        OverflowWatch({"integer": 1}, 100),
        OverflowWatch({"integer": 1}, 100, modes=frozenset({Mode.SUPERVISOR})),
        OverflowWatch({"integer": 1}, 100, modes=frozenset(Mode), threads=(1,)),
        OverflowWatch({"cycles": 1}, 200, modes=frozenset(Mode)),
    ]
    samples = executed(PLAIN, thread, thread, watches=watches).samples()
    assert Counter(samples["watch"].tolist()) == {0: 10, 1: 6, 2: 8, 3: 8}


@pytest.mark.parametrize("machine", [PLAIN, NIAGARA])
def test_watches_come_and_go(machine: Machine) -> None:
    execution = started(machine, op(Code.INTEGER, 10_000))
    ns = 1 / machine.core.clock_ghz
    execution.advance(1050 * ns)
    number = execution.watch(OverflowWatch({"cycles": 1}, 100))
    execution.advance(2000 * ns)
    execution.unwatch(number)
    assert execution.advance()
    times = execution.samples()["time"] / 1000
    assert times == pytest.approx(np.arange(1150, 2000, 100), abs=2)
    with pytest.raises(UsageError, match="no watch 0"):
        execution.unwatch(number)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(list(Pipeline)),
    st.sampled_from(["instructions", "l1_load_misses", "branch_mispredicts", "cycles"]),
    st.integers(1, 40),
)
def test_samples_are_as_many_as_the_ledger_says(
    seed: int, pipeline: Pipeline, name: str, period: int
) -> None:
    random = np.random.default_rng(seed)
    feeds = [sequence(*(random_operation(random, 30, 20) for _ in range(60))) for _ in range(3)]
    watch = OverflowWatch({name: 1}, period)
    execution = executed(machine_with(pipeline), *feeds, watches=[watch])
    found = Counter(execution.samples()["thread"].tolist())
    ledger = execution.ledger()
    for thread in range(3):
        # Waiting for the last reference belongs to no operation.
        slack = 1 if name == "cycles" else 0
        assert found[thread] == pytest.approx(
            ledger.of_thread(thread, name, {Mode.USER}) // period, abs=slack
        )


def test_slow_loads_are_counted_and_every_nth_is_sampled() -> None:
    machine = replace(load_machine("ring-4"), translation=Translation())  # no table walks
    pages = [page * 4096 for page in range(40)]
    loads = many(Code.LOAD, [page + i * 8 for page in pages for i in range(8)])
    loads["flags"] = WAITS
    execution = started(machine, loads, watches=[LatencyWatch(200, every=5), LatencyWatch(1)])
    execution.memory.place(Placement.INTERLEAVE)
    assert execution.advance()
    assert sum(execution.counted(0)) == 30  # the other nodes' share of 40 first lines
    assert sum(execution.counted(1)) == 320
    samples = execution.samples()
    slow = samples[samples["watch"] == 0]
    assert len(slow) == 6
    assert set(slow["place"].tolist()) == {Place.REMOTE_MEMORY}
    assert set(slow["node"].tolist()) <= {1, 2, 3}
    assert (slow["latency"] >= 200_000).all()
    assert {int(address) // 4096 % 4 for address in slow["address"]} <= {1, 2, 3}


def test_slow_loads_are_counted_and_sampled_thread_by_thread() -> None:
    near, far = many(Code.LOAD, [0] * 30), many(Code.LOAD, np.arange(64, 64 * 21, 64))
    near["flags"] = far["flags"] = WAITS
    execution = executed(PLAIN, near, far, watches=[LatencyWatch(10, every=10)])
    assert execution.counted(0) == [1, 20]
    assert execution.samples()["thread"].tolist() == [1, 1]


def test_an_interrupt_that_skids_past_the_end_of_a_thread_comes_at_its_end() -> None:
    thread = sequence(op(Code.INTEGER, 9, site=3), op(Code.LOAD, 64, site=7))
    execution = executed(PLAIN, thread, watches=[OverflowWatch({"instructions": 1}, 5, skid=8)])
    samples = execution.samples()
    assert samples["site"].tolist() == [7, 7]
    [ended] = [status.end_ns for status in execution.threads[:1]]
    assert ended is not None
    assert samples["time"].max() <= ended * PLAIN.core.clock_ghz * 1000


def test_samples_that_find_no_room_are_counted() -> None:
    execution = executed(
        PLAIN, op(Code.INTEGER, 100_000), watches=[OverflowWatch({"integer": 1}, 1)]
    )
    kept = len(execution.samples())
    assert kept == 1 << 16
    assert execution.dropped_samples == 100_000 - kept


def test_no_sample_is_lost_where_they_are_taken_in_between() -> None:
    thread = sequence(*(op(Code.INTEGER, 50) for _ in range(3000)))
    execution = started(PLAIN, thread, thread, watches=[OverflowWatch({"integer": 1}, 1)])
    taken = 0
    while not execution.advance(seconds=60):
        taken += len(execution.samples())
    assert taken + len(execution.samples()) == 300_000
    assert execution.dropped_samples == 0


@pytest.mark.parametrize(
    "watch",
    [
        OverflowWatch({"integer": 1}, 0),
        OverflowWatch({}, 10),
        OverflowWatch({"integer": -1}, 10),
        OverflowWatch({"integers": 1}, 10),
        OverflowWatch({"integer": 1}, 10, threads=(4,)),
        LatencyWatch(10, every=0),
        LatencyWatch(10, threads=(4,)),
    ],
)
def test_senseless_watches_are_refused(watch: OverflowWatch | LatencyWatch) -> None:
    with pytest.raises(UsageError):
        started(PLAIN, op(Code.INTEGER, 1), watches=[watch])


def test_a_monitor_is_told_of_what_leaves_its_node() -> None:
    machine = load_machine("ring-4")
    loads = many(Code.LOAD, np.arange(0, 8 * 4096, 64))
    execution = started(machine, loads)
    execution.memory.place(Placement.INTERLEAVE)
    monitor = _native.PageMonitor(4096)
    execution.memory.watch_remote(monitor)
    assert execution.advance()
    rows = sorted(monitor.counts())
    assert rows == [(page, 0, Kind.LOAD, 64) for page in range(8) if page % 4]
    assert sum(row[3] for row in rows) == execution.ledger().total("memory_reads_remote")


def test_a_monitor_sees_every_uncached_access() -> None:
    machine = load_machine("smile-4")
    execution = started(
        machine, sequence(many(Code.LOAD, [4096] * 5), many(Code.STORE, [8192] * 3))
    )
    monitor = _native.PageMonitor(4096)
    execution.memory.watch_remote(monitor)
    assert execution.advance()
    assert sorted(monitor.counts()) == [(1, 0, Kind.LOAD, 5), (2, 0, Kind.STORE, 3)]
