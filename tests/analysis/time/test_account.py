"""Accounts of runs that are known to the last millisecond."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analysis.time import records
from tests.analysis.time.records import MS, Recorded

from gnomon.analysis.time import Cause, Claim, TimeResult, account_of
from gnomon.analysis.time.result import AccountRow, Culprit, Meanwhile
from gnomon.recording.wall import Moment, Timed
from gnomon.result import same


def made(run: Recorded, end: float, **facts: object) -> TimeResult:
    """Return the account, after what holds for every one of them."""
    result = account_of(run.record(end, **facts), machine="x86_64")
    assert sum(row.time for row in result.account) == pytest.approx(result.elapsed, rel=1e-9)
    assert sum(part.time for part in result.parts) == pytest.approx(result.elapsed, rel=1e-9)
    for row in result.account:
        assert row.interval is not None
        assert row.interval.low <= row.time <= row.interval.high
    for thread in result.threads:
        parts = thread.running + thread.runnable + thread.waiting
        assert parts == pytest.approx(thread.life, rel=0.01)
    assert same(TimeResult.from_json(result.to_json()), result)
    return result


def row(result: TimeResult, cause: Cause, who: str = "") -> AccountRow:
    """Return the row of a cause."""
    return next(r for r in result.account if r.cause is cause and who in ("", r.who))


def sleeper() -> Recorded:
    """Computes for 200 ms, then sleeps."""
    run = Recorded()
    run.begin(0, 100, "program")
    run.add(200, Moment.OUT, 100, 100)
    run.seen(300, 100, records.NANOSLEEP)
    run.runs(100, 990, 1000)
    return run


def test_a_sleep_is_a_sleep_and_a_finding() -> None:
    result = made(sleeper(), 1000)
    assert result.first is not None
    assert (result.first.cause, result.first.time) == (Cause.SLEEP, 790 * MS)
    assert [f.claim for f in result.findings] == [Claim.WAITS]
    assert result.findings[0].saves_at_most == 790 * MS
    assert row(result, Cause.COMPUTING).time == 210 * MS
    assert "disk" in result.healthy


def test_a_program_that_computes_has_no_finding() -> None:
    run = Recorded()
    run.begin(0, 100, "program")
    run.ends(100, 1000)
    result = made(run, 1000)
    assert result.findings == ()
    assert result.on_cpu == pytest.approx(1)
    assert result.efficiency is None


def test_an_empty_run_has_an_account_of_nothing() -> None:
    result = account_of(Recorded().record(0))
    assert (result.elapsed, result.account, result.findings) == (0.0, (), ())


def convoy(call: int, wchan: str = "") -> Recorded:
    """Two workers take turns behind a lock; whoever has it waits in `call`; main joins them."""
    run = Recorded()
    run.begin(0, 100, "main")
    run.add(1, Moment.OUT, 100, 100)
    run.seen(5, 100, records.FUTEX, operation=records.WAIT_ON_JOIN, words=(101, 0, 0, 0))
    for tid in (101, 102):
        run.begin(0.5, tid, "worker", maker=100)
        run.runs(tid, 0.51, 0.6)
    for turn in range(20):
        holder, other = (101, 102) if turn % 2 else (102, 101)
        start = 2 + 40 * turn
        run.runs(holder, start, start + 1)
        run.seen(start + 20, holder, call, wchan=wchan)
        run.seen(
            start + 21, other, records.FUTEX, operation=records.WAIT_ON_MUTEX, address=0x1000,
            words=(2, 0, holder, 1),
        )  # fmt: skip
        run.runs(holder, start + 39, start + 40)
    run.runs(100, 802, 803)
    return run


@pytest.mark.parametrize(
    ("call", "wchan", "cause"),
    [(records.NANOSLEEP, "", Cause.SLEEP), (records.FSYNC, "jbd2_log_wait_commit", Cause.DISK)],
)
def test_a_lock_is_not_blamed_for_what_its_holder_waits_for(
    call: int, wchan: str, cause: Cause
) -> None:
    result = made(convoy(call, wchan), 803)
    assert result.first is not None
    assert result.first.cause is cause
    assert result.first.share > 0.89
    lock = result.locks[0]
    assert lock.looks == 20
    assert {holder.tid for holder in lock.holders} == {101, 102}
    assert {holder.state for holder in lock.holders} == {cause.value}
    assert lock.total > 700 * MS
    assert result.findings[0].claim is Claim.LOCK
    assert result.findings[0].holder is not None


def test_computing_behind_a_lock_names_lock_and_holder() -> None:
    run = Recorded()
    run.begin(0, 100, "main")
    run.begin(1, 101, "worker", maker=100)
    run.runs(101, 2, 3)
    run.seen(
        100, 101, records.FUTEX, operation=records.WAIT_ON_MUTEX, address=0x1000,
        words=(2, 0, 100, 1),
    )  # fmt: skip
    run.ends(100, 1000)
    result = made(run, 1000)
    assert result.first is not None
    assert (result.first.cause, result.first.meanwhile) == (Cause.COMPUTING, Meanwhile.LOCK)
    assert result.locks[0].holders[0].tid == 100
    assert [f.claim for f in result.findings] == [Claim.LOCK]


def test_an_idle_pool_is_no_lock_and_the_slow_peer_leads() -> None:
    run = Recorded()
    run.begin(0, 100, "main")
    for tid in range(101, 105):
        run.begin(0.1, tid, "pool", maker=100)
        run.runs(tid, 0.2, 0.3)
        run.seen(50, tid, records.FUTEX, operation=records.WAIT_ON_CONDITION, address=0x10)
    run.add(1, Moment.OUT, 100, 100)
    for turn in range(4):
        run.seen(20 + 200 * turn, 100, records.READ, link="socket:[7]")
        run.runs(100, 200 + 200 * turn, 201 + 200 * turn)
    run.ends(100, 850)
    result = made(run, 850)
    assert result.first is not None
    assert result.first.cause is Cause.NETWORK
    assert result.first.share > 0.9
    assert result.locks == ()
    waits = [w for t in result.threads if t.name == "pool" for w in t.waits]
    assert {w.cause for w in waits} == {Cause.CONDITION}
    assert all(w.idle for w in waits)


@pytest.mark.parametrize("call", [records.ACCEPT, records.EPOLL_WAIT])
def test_a_server_that_waits_for_whoever_comes_is_idle(call: int) -> None:
    run = Recorded()
    run.begin(0, 100, "server")
    run.add(1, Moment.OUT, 100, 100)
    run.seen(50, 100, call, link="socket:[7]")
    run.runs(100, 900, 905)
    result = made(run, 905)
    assert result.first is not None
    assert result.first.cause is Cause.NETWORK
    assert result.first.idle
    assert result.findings == ()


def test_a_heartbeat_does_not_take_the_time_of_a_long_wait() -> None:
    run = Recorded()
    run.begin(0, 100, "main")
    run.begin(0.1, 101, "beat", maker=100)
    run.add(1, Moment.OUT, 100, 100)
    run.seen(3, 100, records.READ, link="socket:[7]")
    run.runs(101, 0.2, 0.3)
    for turn in range(1, 90):
        run.seen(10 * turn - 5, 101, records.NANOSLEEP)
        run.runs(101, 10 * turn, 10 * turn + 0.05)
    run.runs(100, 900, 905)
    result = made(run, 905)
    assert result.first is not None
    assert (result.first.cause, result.first.who) == (Cause.NETWORK, "main")
    assert result.first.share > 0.95


def test_a_pipe_inside_the_program_passes_its_wait_on() -> None:
    run = Recorded()
    run.begin(0, 100, "reader")
    run.begin(1, 200, "writer", pid=200, maker=100)
    run.add(0, Moment.PEER, 200, 200, run.text("pipe:[5]"), b=-1)
    run.add(2, Moment.OUT, 100, 100)
    run.seen(50, 100, records.READ, link="pipe:[5]")
    run.runs(200, 2, 3, pid=200)
    run.seen(60, 200, records.NANOSLEEP, pid=200)
    run.runs(200, 800, 801, pid=200)
    run.runs(100, 801.05, 802)
    result = made(run, 802)
    assert result.first is not None
    assert (result.first.cause, result.first.who) == (Cause.SLEEP, "writer")
    reader = next(t for t in result.threads if t.name == "reader")
    assert reader.waits[0].cause is Cause.OWN_PIPE
    assert reader.waits[0].object == "writer"


def test_a_wait_that_timed_out_was_a_sleep() -> None:
    run = Recorded()
    run.begin(0, 100, "main")
    run.add(1, Moment.OUT, 100, 100)
    run.seen(
        50, 100, records.EPOLL_WAIT, link="socket:[7]", timed=Timed.LENGTH, timeout=500
    )  # fmt: skip
    run.runs(100, 501.1, 510)
    result = made(run, 510)
    assert result.first is not None
    assert result.first.cause is Cause.SLEEP


def test_time_without_a_cpu_goes_to_whom_it_was_taken_by() -> None:
    run = Recorded()
    run.begin(0, 100, "main")
    run.add(100, Moment.PREEMPTED, 100, 100)
    run.add(600, Moment.IN, 100, 100)
    for time in range(0, 1001, 10):
        run.add(time, Moment.IDLE)
    run.ends(100, 1000)
    result = made(run, 1000)
    lost = row(result, Cause.NO_CPU)
    assert lost.time == pytest.approx(500 * MS)
    assert lost.object == "other programs"
    assert result.findings[0].claim is Claim.BUSY_MACHINE
    assert result.findings[0].doubt
    assert {each.culprit for each in result.ready} == {Culprit.OTHERS}
    for time in (0, 1000):
        run.add(time, Moment.QUOTA, a=round(0.4 * time * MS))
    throttled = made(run, 1000)
    assert next(r for r in throttled.account if r.object == "quota").time == 400 * MS
    assert Claim.QUOTA in {f.claim for f in throttled.findings}


def test_others_cannot_have_used_cpus_that_were_idle() -> None:
    run = Recorded()
    run.begin(0, 100, "main")
    run.add(100, Moment.PREEMPTED, 100, 100)
    run.add(600, Moment.IN, 100, 100)
    for time in range(0, 1001, 10):  # one CPU always idle, the other while main waits for it
        run.add(time, Moment.IDLE, a=(time + min(max(time - 100, 0), 500)) * MS)
    run.ends(100, 1000)
    result = made(run, 1000)
    assert row(result, Cause.NO_CPU).time == pytest.approx(20 * MS)
    assert row(result, Cause.WAKING).time == pytest.approx(480 * MS)


def test_the_delay_after_waking_is_not_the_disk() -> None:
    run = Recorded()
    run.begin(0, 100, "main")
    run.add(1, Moment.OUT, 100, 100)
    for turn in range(40):
        start = 20 * turn + 1
        run.seen(start + 4, 100, records.FSYNC, wchan="folio_wait_bit")
        run.runs(100, start + 19, start + 20)
        run.add(start + 20, Moment.SCHED, 100, 100, turn, turn * MS, turn * 9 * MS)
    result = made(run, 801)
    assert row(result, Cause.DISK).time == pytest.approx(800 * MS * 10 / 20, rel=0.1)
    assert row(result, Cause.NO_CPU).time == pytest.approx(800 * MS * 9 / 20, rel=0.1)


def test_threads_of_one_number_in_turn_are_two() -> None:
    run = Recorded()
    run.begin(0, 100, "main")
    run.begin(10, 101, "first", maker=100)
    run.runs(101, 10, 20)
    run.ends(101, 20)
    run.add(20.01, Moment.OUT, 100, 101)  # a thread that ends is switched away from
    run.begin(30, 101, "second", maker=100)
    run.runs(101, 30, 60)
    run.ends(101, 60)
    run.ends(100, 100)
    result = made(run, 100)
    lives = {t.name: t.life for t in result.threads}
    assert lives == {"main": 100 * MS, "first": 10 * MS, "second": 30 * MS}


def test_waits_without_a_look_are_guessed_from_like_ones_within_an_interval() -> None:
    random = np.random.default_rng(4)
    run = Recorded()
    run.begin(0, 100, "main")
    run.add(1, Moment.OUT, 100, 100)
    time, asleep, disk = 1.0, 0.0, 0.0
    for _ in range(4000):
        length = float(random.uniform(0.1, 0.5))
        sleeps = random.random() < 0.4
        if random.random() < length / 10:
            call = records.NANOSLEEP if sleeps else records.FSYNC
            run.seen(time + length / 2, 100, call)
        asleep, disk = asleep + length * sleeps, disk + length * (not sleeps)
        time += length
        run.runs(100, time, time + 0.02)
        time += 0.02
    for tick in range(0, round(time), 10):
        run.add(tick, Moment.IDLE, a=2 * tick * MS)
    result = made(run, time)
    assert 0.001 < (result.trust.looked or 0) < 0.2
    for cause, truth in ((Cause.SLEEP, asleep), (Cause.DISK, disk)):
        part = next(p for p in result.parts if p.cause is cause)
        assert part.interval is not None
        low, high = part.interval
        assert low <= truth * MS <= high
        assert high - low < 0.35 * result.elapsed


def test_the_slow_stage_of_a_pipe_is_named() -> None:
    run = Recorded()
    run.begin(0, 100, "reader")
    run.begin(1, 200, "packer", pid=200, maker=100)
    run.add(0, Moment.PEER, 200, 200, run.text("pipe:[5]"), b=-1)
    run.add(2, Moment.OUT, 100, 100)
    run.seen(50, 100, records.READ, link="pipe:[5]")
    run.add(2, Moment.IN, 200, 200)
    run.ends(200, 800, pid=200)
    run.runs(100, 800.1, 810)
    result = made(run, 810)
    found = next(f for f in result.findings if f.claim is Claim.SLOW_STAGE)
    assert (found.who, found.others) == ("packer", ("reader",))
    assert found.saves_at_most == pytest.approx(found.time - 11.9 * MS, abs=MS)


def test_efficiencies_are_of_threads_that_compute() -> None:
    run = Recorded(cpus=4)
    run.begin(0, 100, "main")
    run.add(1, Moment.OUT, 100, 100)
    for tid, end in ((101, 200), (102, 400), (103, 0.3)):
        run.begin(0.1, tid, "worker", maker=100)
        run.runs(tid, 0.1, end)
        run.seen(
            max(end, 1) + 50, tid, records.FUTEX, operation=records.WAIT_ON_CONDITION, address=8
        )
        if end > 1:
            run.runs(tid, 499, 499.5)
    run.runs(100, 499.6, 500)
    result = made(run, 500)
    found = result.efficiency
    assert found is not None
    assert found.threads == 2
    assert found.load_balance == pytest.approx(0.75, abs=0.01)
    assert found.parallel == pytest.approx(found.load_balance * found.serial_waiting)
    assert Claim.IMBALANCE in {f.claim for f in result.findings}
