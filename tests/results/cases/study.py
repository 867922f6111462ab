"""Findings of a study, with drawings of every kind; scenes only where their looks may be loaded."""

from __future__ import annotations

from gnomon.analysis.study.result import (
    Bar,
    Bars,
    Curve,
    Curves,
    Drawings,
    Findings,
    Row,
    Scene,
    Surface,
    Value,
    Verdict,
)
from gnomon.messaging.result import Mark, Timeline
from gnomon.recording.contents import Provenance

_VALUES: tuple[Value, ...] = (300_000_000, 0.12345678, "in this order", None)


def _row(number: int, text: str = "") -> Row:
    verdict = tuple(Verdict)[number % 3]
    published, ours = _VALUES[number % 4], _VALUES[(number + 1) % 4]
    quantity = text or f"quantity {number}"
    return Row(text or "E1", quantity, published, ours, text or "± 5 %", verdict, text)


def _drawings(text: str) -> Drawings:
    curve = Curve(text or "send", ((1.0, 1.0), (2.0, 1.5)), ((2.0, 1.4),))
    none = Curve(text or "nothing", ())
    scene = Scene(text, Timeline.of(text, 1, [Mark(5, 0, text, text)]))
    return Drawings(
        text or "E1",
        text or "first",
        (Surface(text or "pages", "page", "node", ("0", text), ("a", "b"), ((1, 2), (3, 4.5))),),
        (Curves(text or "slowdown", "µs", "slowdown", (curve, none), doubling=True),),
        (Bars(text or "gain", "speedup", (Bar(text or "a", 1.5, 1.4), Bar("b", 0.9)), even=1.0),),
        (scene,) if text else (),
    )


def _of(rows: int, text: str = "") -> Findings:
    return Findings(
        text or "toy",
        text or "A toy",
        text or "Nobody 1999",
        3,
        tuple(_row(number, text) for number in range(rows)),
        drawings=(_drawings(text),),
        provenance=Provenance("machine", simulated=True),
        warnings=(text,) if text else (),
    )


def small() -> Findings:
    return _of(7)


def empty() -> Findings:
    return Findings("", "", "", 0, ())


def hostile(text: str) -> Findings:
    return _of(4, text)


def huge(rows: int) -> Findings:
    return _of(rows)
