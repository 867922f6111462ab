"""Programs with one known cause each, recorded and accounted for.

This machine may be busy: time without a free CPU is a row of the account, and is left out before
the first cause is looked at.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gnomon.analysis.time import Cause, Claim, TimeResult, account_of
from gnomon.analysis.time.result import AccountRow, Meanwhile
from gnomon.errors import GnomonError
from gnomon.recording.wall import Moment, WallRecord
from gnomon.sources.base import Command
from gnomon.sources.perf.source import PerfSource

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
NOT_OURS = (Cause.NO_CPU, Cause.WAKING, Cause.EDGE)
GIL = """
import threading
def work():
    x = 0
    for i in range(700_000):
        x += i * i
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the compiled program."""
    built = tmp_path_factory.mktemp("planted") / "planted"
    source = Path(__file__).parent / "planted.c"
    subprocess.run(["cc", "-O2", "-g", "-pthread", "-o", built, source], check=True)
    return str(built)


def recorded(*command: str) -> WallRecord:
    """Record a run; skip where switches cannot be seen."""
    try:
        with PerfSource().record_wall(Command(command)) as run:
            run.start()
            run.wait()
            run.stop()
            record = run.record()
    except GnomonError as refusal:
        pytest.skip(str(refusal))
    if record.facts.rung != "switches":
        pytest.skip(f"recorded by {record.facts.rung} alone")
    return record


def account(record: WallRecord, busiest: float = 0.4) -> tuple[TimeResult, AccountRow]:
    """Return the account and its first row, after what holds for every one."""
    result = account_of(record)
    assert sum(row.time for row in result.account) == pytest.approx(result.elapsed, rel=0.005)
    for thread in result.threads:
        parts = thread.running + thread.runnable + thread.waiting
        assert parts == pytest.approx(thread.life, rel=0.01)
    lost = sum(row.share for row in result.account if row.cause in NOT_OURS)
    if lost > busiest:
        pytest.skip(f"the machine was too busy: {lost:.0%} of the run without a CPU")
    return result, next(row for row in result.account if row.cause not in NOT_OURS)


@pytest.mark.parametrize(
    ("mode", "cause", "who", "function"),
    [
        ("sleep", Cause.SLEEP, "planted", "rest"),
        ("compute", Cause.COMPUTING, "planted", "compute"),
        ("pool", Cause.SLEEP, "peer", "rest"),
        ("beat", Cause.SLEEP, "peer", "rest"),
        ("spin", Cause.SLEEP, "setter", "rest"),
        ("barrier", Cause.SLEEP, "slow", "rest"),
        ("child", Cause.SLEEP, "child", "rest"),
        ("sync", Cause.DISK, "planted", "main"),
    ],
)
def test_the_planted_cause_comes_first(
    planted: str, tmp_path: Path, mode: str, cause: Cause, who: str, function: str
) -> None:
    busiest = 0.1 if mode == "beat" else 0.4  # a heartbeat that comes late is none
    result, first = account(recorded(planted, mode, str(tmp_path / "file")), busiest)
    if first.cause is Cause.UNKNOWN and mode == "sync":  # every look came too late
        assert Claim.FEW_LOOKS in {finding.claim for finding in result.findings}
        return
    assert (first.cause, first.who) == (cause, who), [
        (row.cause.value, row.who, round(row.share, 2)) for row in result.account
    ]
    assert first.places[0].place.function == function
    claims = {finding.claim for finding in result.findings if not finding.doubt}
    assert claims <= {Claim.WAITS, Claim.IMBALANCE, Claim.SPINNING, Claim.LOCK}
    assert claims or mode == "compute" or first.share < 0.1
    if mode == "compute":
        assert claims == set()
    if mode == "pool":
        assert result.locks == ()
    if mode == "spin":
        assert max(thread.spinning for thread in result.threads) > 0


def test_a_lock_has_its_holders_and_its_waits(planted: str, tmp_path: Path) -> None:
    file = tmp_path / "held"
    record = recorded(planted, "lock", str(file))
    result, first = account(record)
    assert first.cause is Cause.SLEEP
    assert first.places[0].place.function == "rest"
    log = np.array([[int(word) for word in line.split()] for line in file.read_text().splitlines()])
    tids, froms, tos = log[:, 0], log[:, 1], log[:, 2]
    looks = record.moments[(record.moments["kind"] == Moment.WAIT) & (record.moments["what"] >= 0)]
    right, asked = 0, 0
    for look in looks:
        wait = record.waits[look["what"]]
        inside = np.flatnonzero((froms <= look["time"]) & (look["time"] + wait["took"] <= tos))
        if wait["words"][0] == 2 and wait["holder"] and len(inside):
            asked += 1
            right += int(wait["holder"] == tids[inside[0]])
    assert asked >= 20
    assert right >= 0.95 * asked
    lock = result.locks[0]
    assert {holder.tid for holder in lock.holders} <= set(tids.tolist())
    assert lock.holders[0].state in (Cause.SLEEP.value, Cause.COMPUTING.value, Cause.NO_CPU.value)
    assert any("rest" in holder.path or not holder.path for holder in lock.holders)
    own = float(log[:, 3].sum())
    ready = sum(thread.runnable for thread in result.threads)
    assert 0.85 * lock.total - 0.1 * own <= own <= 1.15 * (lock.total + ready)


def test_computing_behind_the_gil_names_the_line() -> None:
    result, first = account(recorded(sys.executable, "-c", GIL))
    assert first.cause is Cause.COMPUTING
    gil = [row for row in result.account if row.meanwhile is Meanwhile.GIL]
    assert gil
    assert not any(lock.cause is Cause.LOCK and lock.total > 1e8 for lock in result.locks)
