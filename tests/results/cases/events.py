"""Lists of events: tried out, some refused; one explained in full in the hostile case."""

from __future__ import annotations

from gnomon.analysis.events.result import EventRow, EventsResult
from gnomon.events.event import Constraint, Fields, PerfEncoding
from gnomon.recording.contents import Provenance


def row(number: int, text: str = "") -> EventRow:
    counted = number % 4 != 3
    return EventRow(
        event=text or f"event-{number}",
        description=text or "what it counts, in a sentence of the usual length",
        kind=text or "pmu",
        aliases=(text or f"alias-{number}",) * (number % 2),
        unit=text or ("J" if number % 5 == 0 else ""),
        scale=2.0**-32 if number % 5 == 0 else 1.0,
        scope="thread",
        encoding=PerfEncoding(text or "cpu", 4, 2**60 + number, config1=number),
        fields=Fields(0xC0, 1, cmask=2, invert=True, msrs=(0x1A6,), msr_value=1, ldlat=8),
        constraint=Constraint(0b1010, 1, True),
        caveats=(text or "a caveat",),
        errata=(text or "an erratum",),
        deprecated=True,
        formula=text or "a + b",
        verdict=text or ("counts" if counted else "not-supported"),
        reason=text or ("" if counted else "there is no PMU"),
        remedy=text or ("" if counted else "take a machine that has one"),
        value=number * 1000 if counted else None,
    )


def _of(number: int, text: str = "") -> EventsResult:
    rows = tuple(row(each, text) for each in range(number))
    return EventsResult(
        rows[number // 4 :],
        origin=text,
        tried=True,
        refused=rows[: number // 4],
        explained=bool(text),
        provenance=Provenance(text or "host", simulated=bool(text)),
    )


def small() -> EventsResult:
    return _of(20)


def empty() -> EventsResult:
    return EventsResult(())


def hostile(text: str) -> EventsResult:
    return _of(4, text)


def huge(rows: int) -> EventsResult:
    return _of(rows)
