"""Compute beside communicators: two pauses, and every answer to when a way pays."""

from __future__ import annotations

import math

from gnomon.analysis.messages.interference import pays, recommend
from gnomon.analysis.messages.result import Beside, Interference, LeftOut
from gnomon.recording.contents import Provenance
from gnomon.result import Quantity

_EDGES = {
    "poll-pause": Quantity(68_650.0, 41_000.0, math.inf),
    "spin-block": None,
    "futex": None,
    "epoll": Quantity.exactly(math.inf),
}


def _about(value: float) -> Quantity:
    return Quantity(value, 0.8 * value, 1.3 * value)


def _row(name: str, pause: int, lost: float, edge: Quantity | None, *, reference: bool) -> Beside:
    found = pays(edge, reference=reference)
    return Beside(
        name, pause, _about(lost), _about(28_340.0), 519.2, 14_810.0, _about(24_480.0), *found, 1234
    )


def _of(rows: tuple[Beside, ...], said: str, text: str = "") -> Interference:
    return Interference(
        said,
        rows,
        (1, 2),
        2,
        0,
        text or "a CPU that computes",
        6,
        (LeftOut(text or "uintr", text or "the CPU has no user interrupts (UINTR)"),),
        provenance=Provenance("notify", host=text or "box", target="notify interfere"),
        warnings=(text or "this machine was not quiet",),
    )


def small() -> Interference:
    rows = [
        _row(name, pause, 0.3 + 0.05 * n, edge, reference=name == "futex")
        for pause in (10_000, 1_000_000)
        for n, (name, edge) in enumerate(_EDGES.items())
    ]
    return _of(tuple(rows), recommend(rows))


def empty() -> Interference:
    return Interference("measure a way that blocks.", (), (), 0, 0, "", 0)


def hostile(text: str) -> Interference:
    return _of((_row(text, 10_000, 0.4, None, reference=False),), text, text)


def huge(rows: int) -> Interference:
    some = (_row(f"way-{n}", 10_000, 0.3, None, reference=False) for n in range(rows))
    return _of(tuple(some), "block")
