"""Latencies between two points of traces."""

from __future__ import annotations

from gnomon.analysis.traces.result import Bar, Share, Slowest, TraceLatency
from gnomon.recording.contents import Provenance
from gnomon.result import Interval


def _of(number: int, text: str = "") -> TraceLatency:
    return TraceLatency(
        text or "tcp.dstport == 6379",
        text or "tcp.srcport == 6379",
        text or "transaction",
        1000,
        3,
        40,
        81.5,
        20,
        9000,
        (Share(0.5, 60.0), Share(0.99, 800.5)),
        tuple(Bar(Interval(20.0 * 1.2**at, 20.0 * 1.2 ** (at + 1)), at) for at in range(12)),
        tuple(Slowest(9000 - at, 5 * at, 5 * at + 2) for at in range(number)),
        provenance=Provenance(text or "tcpdump"),
    )


def small() -> TraceLatency:
    return _of(10)


def empty() -> TraceLatency:
    return TraceLatency("sci.request", "sci.echo", "packet", 0, 0, 0)


def hostile(text: str) -> TraceLatency:
    return _of(3, text)


def huge(rows: int) -> TraceLatency:
    return _of(rows)
