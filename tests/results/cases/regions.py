"""Regions in two levels, with an event that one of them could not count."""

from __future__ import annotations

from gnomon.instrument.result import Overhead, RegionCount, RegionReport
from gnomon.recording.contents import Provenance


def _of(number: int, text: str = "") -> RegionReport:
    event = text or "page-faults"
    regions = tuple(
        RegionCount(
            (text or f"outer-{each}", *(("inner",) * (each % 2))),
            instances=each + 1,
            threads=2,
            processes=1,
            wall=10**6 * (each + 1),
            shortest=10,
            longest=10**6,
            raw={"task-clock:u": 10**5} if each % 3 else {"task-clock:u": 10**5, event: each},
            corrected={"time": 9e5, "task-clock:u": 9e4, event: 1.0} if each % 3 else {},
            own=5e5,
            own_corrected=4e5,
        )
        for each in range(number)
    )
    return RegionReport(
        regions,
        ("task-clock:u", event),
        Overhead({"time": 200.0}, {"time": 500.0}),
        0,
        exclusive=True,
        provenance=Provenance("host", command=(text or "./program",)),
        warnings=(text or "some threads could not count",),
    )


def small() -> RegionReport:
    return _of(10)


def empty() -> RegionReport:
    return RegionReport((), (), Overhead())


def hostile(text: str) -> RegionReport:
    return _of(3, text)


def huge(rows: int) -> RegionReport:
    return _of(rows)
