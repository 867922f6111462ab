"""Plans of events in batches, and events that do not fit together."""

from __future__ import annotations

from gnomon.analysis.events.result import FitResult, Seat, Unplaceable
from gnomon.recording.contents import Provenance


def _of(number: int, text: str = "") -> FitResult:
    seats = [Seat(text or f"event-{each}", text or f"counter {each % 4}") for each in range(number)]
    batches = tuple(tuple(seats[at : at + 4]) for at in range(0, number, 4))
    return FitResult(
        number,
        len(batches),
        max(len(batches) - 1, 0),
        batches,
        (text or "53 events can only be counted on counters 0 to 3",),
        (text or "count fewer",),
        (Unplaceable(text or "odd", text or "no counter takes it"),),
        together=bool(text),
        provenance=Provenance(text or "laptop", simulated=True),
    )


def small() -> FitResult:
    return _of(20)


def empty() -> FitResult:
    return FitResult(0, 0, 0)


def hostile(text: str) -> FitResult:
    return _of(4, text)


def huge(rows: int) -> FitResult:
    return _of(rows)
