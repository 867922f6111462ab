"""Chains of packets."""

from __future__ import annotations

from gnomon.analysis.traces.result import Step, TraceChain
from gnomon.recording.contents import Provenance

_PARTS = ("request-send, 64 B", "request-echo", "response-send, 0 B", "response-echo")


def _of(number: int, text: str = "") -> TraceChain:
    steps = tuple(
        Step(
            1 + at % 2,
            7 * at,
            1000 + 90 * at,
            text or str(at % 4),
            text or _PARTS[at % 4],
            text or "3",
            text or "5",
            90 * at,
            90 if at else 0,
            text or ("busy" if at == 1 else ""),
        )
        for at in range(number)
    )
    lacking = (text or "response-echo",)
    origin = Provenance(text or "fabric", simulated=True)
    return TraceChain(7, text or "transaction 9 of 3 with 5", steps, lacking, provenance=origin)


def small() -> TraceChain:
    return _of(4)


def empty() -> TraceChain:
    return TraceChain(0, "nothing", ())


def hostile(text: str) -> TraceChain:
    return _of(3, text)


def huge(rows: int) -> TraceChain:
    return _of(rows)
