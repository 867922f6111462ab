"""Timelines: a message there and back, and as many as there are rows."""

from __future__ import annotations

from gnomon.messaging.result import Flight, Mark, Span, Timeline


def _of(count: int, text: str = "") -> Timeline:
    marks, spans, flights = [], [], []
    for number in range(1, count + 1):
        start = 1000 * number
        marks += [
            Mark(start, 0, text or "main", text or "send is called", number, 38),
            Mark(start + 45, 0, "NIC", "first byte leaves", number),
            Mark(start + 345, 1, "NIC", "first byte arrives", number),
        ]
        spans += [
            Span(start, start + 26, 0, text or "main", text or "send"),
            Span(start, start + 458, 1, "main", "sleep_recv"),
        ]
        flights.append(Flight(number, 0, 1, 38, start + 45, start + 345, start + 383))
    warnings = (text,) if text else ()
    return Timeline(text or "uln", 2, tuple(marks), tuple(spans), tuple(flights), warnings=warnings)


def small() -> Timeline:
    return _of(3)


def empty() -> Timeline:
    return Timeline()


def hostile(text: str) -> Timeline:
    return _of(2, text)


def huge(rows: int) -> Timeline:
    return _of(rows // 3 + 1)
