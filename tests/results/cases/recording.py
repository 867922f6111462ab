"""Recordings: eight events over thirty slices, of which one is never counted."""

from __future__ import annotations

from tests.results.cases.count import event_count, origin, runs

from gnomon.analysis.recorded.result import Course, RecordingResult, Series
from gnomon.recording.contents import EventInfo, Provenance


def _series(number: int, ticks: int) -> Series:
    if number == 2:
        return Series((None,) * ticks, None, None)
    rates = tuple(float((number + 1) * (tick % 7)) if tick % 5 else None for tick in range(ticks))
    return Series(rates, 3.0 * (number + 1), 6.0 * (number + 1))


def _of(events: int, ticks: int, text: str = "") -> RecordingResult:
    counts = tuple(
        event_count(number, f"{text}{number}" if text else "") for number in range(events)
    )
    ends = tuple(20_000_000 * (tick + 1) for tick in range(ticks))
    course = Course(
        {each.event: _series(number, ticks) for number, each in enumerate(counts)},
        ticks,
        ends[-1],
        ends,
    )
    infos = tuple(EventInfo(each.event, text or "what it counts", each.unit) for each in counts)
    return RecordingResult(
        text or "/home/user/run.gnomon",
        False,
        infos,
        counts,
        runs(7),
        course,
        bool(text),
        provenance=origin(text),
        warnings=(text or "a warning",),
    )


def small() -> RecordingResult:
    return _of(8, 30)


def empty() -> RecordingResult:
    return RecordingResult("", True, (), (), (), Course({}), provenance=Provenance(""))


def hostile(text: str) -> RecordingResult:
    return _of(5, 4, text)


def huge(rows: int) -> RecordingResult:
    return _of(rows, 4)
