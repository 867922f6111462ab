"""Traces, as `gnomon trace info` shows them."""

from __future__ import annotations

from gnomon.analysis.traces.result import PairCount, Stretch, TraceResult, TypeCount
from gnomon.recording.contents import Provenance


def _of(number: int, text: str = "") -> TraceResult:
    return TraceResult(
        text or "/tmp/redis.trace",
        1000 * number,
        290_000,
        1_700_000_000_000_000_000,
        1_700_000_001_000_000_000,
        not text,
        tuple(TypeCount(68, text or f"TCP {at}", "network", 1000) for at in range(number)),
        tuple(
            PairCount(text or f"10.0.0.{at}", text or "10.0.0.1", 500, None if at % 2 else 9000)
            for at in range(number)
        ),
        (text or "lo",),
        ("TCP", text or "other"),
        tuple(Stretch(1_700_000_000_000_000_000 + at * 10**7, (at, 5)) for at in range(number)),
        (text,) if text else (),
        (text,) if text else (),
        1,
        3,
        provenance=Provenance(text or "tcpdump"),
    )


def small() -> TraceResult:
    return _of(10)


def empty() -> TraceResult:
    return TraceResult("a.trace", 0, 0, 0, 0, True)


def hostile(text: str) -> TraceResult:
    return _of(3, text)


def huge(rows: int) -> TraceResult:
    return _of(rows)
