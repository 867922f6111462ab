"""Processes of events: some found again in simulations, some doubted."""

from __future__ import annotations

import math

from gnomon.analysis.estimate.result import Closure, Identification, Identified
from gnomon.recording.contents import Provenance


def _event(number: int, text: str = "") -> Identified:
    if number % 5 == 4:
        few = text or "7 readings are too few"
        return Identified(math.nan, math.nan, math.nan, math.nan, 0, 7, few)
    again = Closure(1e5, 2e3, 1.5, 0.2, 10) if number % 3 == 0 else None
    return Identified(1e6 * (number + 1), 1e5, 1.4, 2e4, 12, 1000, "", again)


def _of(events: int, text: str = "") -> Identification:
    found = {f"{text}event-{number}": _event(number, text) for number in range(events)}
    return Identification(
        text or "pentium3-smp",
        text or "planets",
        0.04,
        found,
        text,
        provenance=Provenance("pentium3-smp", simulated=True, command=(text,)),
        warnings=(text or "a warning",),
    )


def small() -> Identification:
    return _of(6)


def empty() -> Identification:
    return Identification("", "", 0.0, {})


def hostile(text: str) -> Identification:
    return _of(5, text)


def huge(rows: int) -> Identification:
    return _of(rows)
