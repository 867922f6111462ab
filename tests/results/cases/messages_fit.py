"""Laws fitted to measurements: how threads share a core, and the others' numbers."""

from __future__ import annotations

from gnomon.messaging.result import Fit, Law, Point
from gnomon.result import Quantity


def _of(points: int, text: str = "") -> Fit:
    return Fit(
        Law.SHARING,
        text or "throughput of n threads: height * (1 - exp(-n / knee))",
        {text or "height": Quantity(3.2, 3.1, 3.3), "knee": Quantity(2.67, 2.5, 2.9)},
        tuple(Point(float(n), 1.0 + 0.1 * n, 1.02 + 0.1 * n) for n in range(1, points + 1)),
        error=0.05,
        r_squared=0.97,
        speeds=(1.0, 0.9, 0.8),
        nodes=3,
        late={6: 0.1, 24: 0.2},
        doubt=text or "the measurements fit a straight line as well",
        warnings=(text,) if text else (),
    )


def small() -> Fit:
    return _of(8)


def empty() -> Fit:
    return Fit(Law.IMBALANCE, "", {})


def hostile(text: str) -> Fit:
    return _of(3, text)


def huge(rows: int) -> Fit:
    return _of(rows)
