"""Rows that answer queries of traces."""

from __future__ import annotations

from gnomon.analysis.traces.result import TraceRows
from gnomon.recording.contents import Provenance


def _of(number: int, text: str = "") -> TraceRows:
    rows = tuple((at, text or "10.0.0.1", None if at % 3 else 0.25 * at) for at in range(number))
    return TraceRows(
        text or "pairs",
        ("packets", text or "sender", "share"),
        rows,
        number > 5,
        provenance=Provenance(text or "tcpdump"),
    )


def small() -> TraceRows:
    return _of(10)


def empty() -> TraceRows:
    return TraceRows("SELECT 1 WHERE false", ("one",), ())


def hostile(text: str) -> TraceRows:
    return _of(3, text)


def huge(rows: int) -> TraceRows:
    return _of(rows)
