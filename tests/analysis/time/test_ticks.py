"""Accounts without records of switches, and accounts of several runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.analysis.time import records
from tests.analysis.time.records import MS, Recorded

from gnomon.analysis.time import Cause, Claim, account_of
from gnomon.analysis.time.between import over_runs, share_interval
from gnomon.analysis.time.result import Meanwhile, TimeResult
from gnomon.errors import UsageError
from gnomon.recording.wall import Moment

TICK = 10


def ticked(threads: dict[int, list[tuple[int, int]]], end: int) -> Recorded:
    """Return a run of threads that run in the given spans of ms, as ticks tell it."""
    run = Recorded()
    for tid in threads:
        run.begin(0, tid, "main" if tid == 100 else f"t{tid}", maker=0 if tid == 100 else 100)
    for time in range(TICK, end, TICK):
        run.add(time, Moment.IDLE)
        for tid, spans in threads.items():
            ran = sum(max(0, min(b, time) - a) for a, b in spans)
            slices = sum(a < time for a, _ in spans)
            run.add(time, Moment.SCHED, 100, tid, slices, ran * MS)
    return run


def made(run: Recorded, end: int) -> TimeResult:
    """Return the account, after what holds for every one."""
    record = run.record(end)
    facts: Any = replace(record.facts, rung="clocks")
    result = account_of(replace(record, facts=facts), machine="x86_64")
    assert sum(row.time for row in result.account) == pytest.approx(result.elapsed, rel=1e-9)
    assert any("Without records of switches" in each for each in result.trust.unseen)
    return result


def test_ticks_tell_a_sleep_from_computing() -> None:
    run = ticked({100: [(0, 200), (990, 1000)]}, 1000)
    for time in range(215, 990, TICK):
        run.seen(time, 100, records.NANOSLEEP)
    result = made(run, 1000)
    assert result.first is not None
    assert result.first.cause is Cause.SLEEP
    assert result.first.share == pytest.approx(0.79, abs=0.03)
    assert result.cpu == pytest.approx(210 * MS, rel=0.05)


def test_ticks_tell_who_computes_behind_a_lock() -> None:
    run = ticked({100: [(0, 1000)], 101: [(0, 5)]}, 1000)
    for time in range(15, 1000, TICK):
        run.seen(
            time, 101, records.FUTEX, operation=records.WAIT_ON_MUTEX, address=0x1000,
            words=(2, 0, 100, 1),
        )  # fmt: skip
    result = made(run, 1000)
    assert result.first is not None
    assert (result.first.cause, result.first.who) == (Cause.COMPUTING, "main")
    assert result.first.meanwhile is Meanwhile.LOCK
    assert result.first.share > 0.9


def test_an_interval_of_runs_holds_their_mean_and_the_next_is_wider() -> None:
    shares = [0.5, 0.52, 0.55]
    low, high = share_interval(shares)
    below, above = share_interval(shares, following=True)
    assert below < low < 0.523 < high < above
    low, high = share_interval([0.3, 0.3, 0.3])
    assert high - low == pytest.approx(0.01)


def test_runs_are_accounted_for_together() -> None:
    results = []
    for computing in (200, 230, 260):
        run = Recorded()
        run.begin(0, 100, "main")
        run.add(computing, Moment.OUT, 100, 100)
        run.seen(500, 100, records.NANOSLEEP)
        run.runs(100, 990, 1000)
        results.append(account_of(run.record(1000), machine="x86_64"))
    result = over_runs(results)
    assert result.trust.runs == 3
    asleep = next(part for part in result.parts if part.cause is Cause.SLEEP)
    assert asleep.time == pytest.approx(760 * MS)
    assert asleep.interval is not None
    assert asleep.interval.low < 730 * MS
    assert asleep.interval.high > 790 * MS
    assert sum(row.time for row in result.account) == pytest.approx(result.elapsed)
    assert over_runs(results[:1]) is results[0]
    with pytest.raises(UsageError, match="no runs"):
        over_runs([])


def test_a_first_run_that_read_from_the_disk_is_a_doubt() -> None:
    warm = account_of(ticked({100: [(0, 500)]}, 500).record(500), machine="x86_64")
    warm = replace(warm, read=0)
    cold = replace(warm, read=50 << 20, elapsed=1.5 * warm.elapsed)
    found = over_runs([cold, warm, warm]).findings[0]
    assert (found.claim, found.doubt, found.value) == (Claim.COLD, True, 50 << 20)
    assert found.time == pytest.approx(0.5 * warm.elapsed)
    assert not any(f.claim is Claim.COLD for f in over_runs([warm, warm, warm]).findings)


def test_ticks_take_faults_for_page_ins() -> None:
    spans = [(10 * n, 10 * n + 4) for n in range(100)]
    run = ticked({100: spans}, 1000)
    for start, end in spans:
        run.add(end + 5, Moment.FAULT, 100, 100)
        run.add(start + 9, Moment.FAULT, 100, 100)
    result = made(run, 1000)
    assert result.first is not None
    assert result.first.cause is Cause.PAGE_IN
    assert result.first.share == pytest.approx(0.6, abs=0.05)
