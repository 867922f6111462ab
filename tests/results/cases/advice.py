"""Advice: three proposals, other ways, and what was tried in vain."""

from __future__ import annotations

from gnomon.analysis.locality.result import Action, Advice, DataObject, ObjectKind, Proposal
from gnomon.recording.contents import Provenance


def _proposal(number: int, text: str = "") -> Proposal:
    thing = DataObject(
        text or f"array-{number}",
        (1 << 32) + 8192 * number,
        4096,
        list(ObjectKind)[number % 4],
        text or ("main.c:12" if number % 2 else ""),
    )
    return Proposal(
        thing,
        list(Action)[number % 6],
        text or "interleave over nodes 0 to 3",
        text or "62 % of its references are to pages that several nodes use",
        text or "numactl -i all",
        1e6 * (1 + number % 50),
        0.5 - 0.01 * (number % 60),
        text or ("setting up in parallel saves as much" if number % 4 == 0 else ""),
    )


def _of(rows: int, text: str = "") -> Advice:
    return Advice(
        text or "./program argument",
        text or "ring-4",
        4,
        8,
        2e6,
        0.8e6,
        1.5e6,
        0.7,
        0.05,
        tuple(_proposal(i, text) for i in range(min(rows, 3))),
        tuple(_proposal(i, text) for i in range(3, rows // 2)),
        tuple(_proposal(i, text) for i in range(rows // 2, rows)),
        rows,
        2 * rows,
        0.03,
        1,
        provenance=Provenance("ring-4", simulated=True, command=(text,), machine="ring-4"),
        warnings=(text or "the machine sees the loads and stores of it only.",),
    )


def small() -> Advice:
    return _of(12)


def empty() -> Advice:
    return Advice("", "", 0, 0, 0.0, 0.0, None, 0.0, 0.0, (), (), (), 0, 0, 0.03)


def hostile(text: str) -> Advice:
    return _of(9, text)


def huge(rows: int) -> Advice:
    return _of(rows)
