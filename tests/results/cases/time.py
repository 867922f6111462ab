"""Accounts of time: of a program that waits and computes, of nothing, of odd names."""

from __future__ import annotations

from gnomon.analysis.time.result import (
    AccountRow,
    Cause,
    CausePart,
    Claim,
    Culprit,
    Efficiency,
    Finding,
    FunctionRow,
    Holder,
    LockRow,
    Meanwhile,
    Moment,
    Parallelism,
    Place,
    PlaceTime,
    ProcessRow,
    Ready,
    ThreadRow,
    TimeResult,
    Trust,
    Unnamed,
    Waiting,
)
from gnomon.recording.contents import Provenance
from gnomon.result import Interval


def small() -> TimeResult:
    """A second: mostly asleep, then computing behind a lock."""
    return run()


def empty() -> TimeResult:
    return TimeResult(0.0, 0.0, None, 1.0)


def hostile(text: str) -> TimeResult:
    return run(text=text)


def huge(rows: int) -> TimeResult:
    return run(rows)


def run(rows: int = 3, text: str = "") -> TimeResult:
    """As many rows of each table, which sum to the run."""
    place = Place(text or "store", text or "/src/store.c", 14, text or "/usr/bin/store")
    path = (text or "store", text or "main")
    holder = Holder(43, text or "writer", 12, "disk", path)
    causes = (Cause.SLEEP, Cause.COMPUTING, Cause.SYSTEM, Cause.NETWORK)
    each = 1e9 / rows
    account = tuple(
        AccountRow(
            causes[number % 4],
            text or f"worker-{number}",
            each,
            1 / rows,
            Interval(0.9 * each, 1.1 * each) if number else None,
            Meanwhile.LOCK if number % 4 == 1 else Meanwhile.NOTHING,
            text or "127.0.0.1:7000",
            number % 4 == 3,
            (PlaceTime(place, each, path),),
            0 if number < 2 else None,
            2 * each,
        )
        for number in range(rows)
    )
    wait = Waiting(Cause.LOCK, 4e8, text or "cache_lock", place=place)
    return TimeResult(
        1e9,
        5e8,
        1e8,
        2.0,
        account,
        tuple(
            CausePart(cause, share * 1e9, share, Interval(share * 9e8, share * 1.1e9), tied=tied)
            for cause, share, tied in (
                (Cause.SLEEP, 0.5, False),
                (Cause.COMPUTING, 0.4, True),
                (Cause.SYSTEM, 0.1, False),
            )
        ),
        (
            Finding(Claim.BUSY_MACHINE, Cause.NO_CPU, 2e8, None, None, doubt=True, value=0.2),
            Finding(
                Claim.LOCK,
                Cause.LOCK,
                4e8,
                Interval(3e8, 5e8),
                3e8,
                text or "worker-1",
                text or "cache_lock",
                place,
                holder,
                (text or "worker-2",),
                command=("gnomon", "survey", text or "--", "./store"),
            ),
        ),
        tuple(
            ThreadRow(
                42,
                42 + number,
                text or f"worker-{number}",
                0,
                1e9,
                3e8,
                None,
                0.0,
                3e8,
                1e8,
                (wait,),
            )
            for number in range(rows)
        ),
        (ProcessRow(42, 1, text or "store", text or "./store", rows, 0, 1e9, 6e8, 1e9, 10**7),),
        (Ready(Culprit.OTHERS, 3e8, 2e8),),
        (LockRow(text or "cache_lock", 4096, 42, Cause.LOCK, 9, 4e8, 1e8, 7, (holder,)),),
        tuple(
            FunctionRow(
                text or f"step_{number}",
                text or "/usr/bin/store",
                1e8,
                9e7,
                8e7,
                Interval(5e7, 2e8),
                20,
            )
            for number in range(rows)
        ),
        (Parallelism(1, 4e8, ((text or "step", 3e8),)), Parallelism(2, 1e8)),
        (Moment(0.0, 0.5, 0.0, 0.1), Moment(5e8, 0.7, 0.1, 0.0)),
        Efficiency(2, 0.9, 0.5, 0.45, text or "worker-1", 3e8),
        Trust(
            100,
            (Unnamed(text or "/usr/bin/store", 10, text or "install store-dbgsym"),),
            80,
            0.9,
            rung=text or "switches",
            others=1e8,
            unseen=(text or "threads shorter than 10 ms",),
        ),
        10**7,
        4096,
        0,
        healthy=(text or "disk",),
        provenance=Provenance("host", command=(text or "./store",), host=text),
        warnings=(text or "a warning",),
    )
