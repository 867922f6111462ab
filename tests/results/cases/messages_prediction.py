"""Predictions: what a store that uses TCP would gain, and applications with odd names."""

from __future__ import annotations

from gnomon.messaging.result import (
    Application,
    NetworkLink,
    Predicted,
    Prediction,
    Sharing,
    Slowdowns,
)
from gnomon.recording.contents import Provenance
from gnomon.result import Quantity


def _about(value: float) -> Quantity:
    return Quantity(value, 0.9 * value, 1.2 * value)


def _row(name: str, gain: float, *, polls: bool = False) -> Predicted:
    return Predicted(name, True, polls, _about(gain * 11_890.0), _about(gain), 0.3, 0.6, 0.1)


def _of(rows: tuple[Predicted, ...], text: str = "") -> Prediction:
    points = tuple(100.0 * 1.6**i for i in range(25))
    return Prediction(
        Application(
            text or "store",
            _about(12_000.0),
            _about(2000.0),
            4,
            64,
            4096,
            1e6,
            text or "tcp",
            True,
            NetworkLink(5000.0, 1.0),
            Sharing(3.2, 2.67),
        ),
        text or "awake",
        rows,
        Predicted("user-level", False, False, _about(11_890.0), _about(1.0), 1.0, 0.0, 0.2),
        tuple(Slowdowns(row.mechanism, points, tuple(1 + 9e4 / p for p in points)) for row in rows),
        1_633_000.0,
        provenance=Provenance("notify", host=text or "box"),
        warnings=(text or "the benchmark has no sizes for some mechanisms",),
    )


def small() -> Prediction:
    return _of((_row("tcp", 8.37), _row("poll", 1.01, polls=True), _row("futex", 3.2)))


def empty() -> Prediction:
    nothing = Quantity.exactly(0.0)
    target = Predicted("user-level", False, False, nothing, nothing, 0.0, 0.0, 0.0)
    return Prediction(Application("", nothing), "", (), target)


def hostile(text: str) -> Prediction:
    return _of((_row(text, 2.0),), text)


def huge(rows: int) -> Prediction:
    return _of(tuple(_row(f"mechanism-{n}", 1.0 + n / 1000) for n in range(rows)))
