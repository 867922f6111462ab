"""Programs on simulated clusters: with timelines, without any time, and on many clusters."""

from __future__ import annotations

from gnomon.messaging.result import OnCluster, Simulation, Timings
from gnomon.recording.contents import Provenance

from . import messages_timeline as timelines


def _on(number: int, text: str = "") -> OnCluster:
    time = 900.0 + number
    trip = Timings(10, time, 3.0, time - 5, time + 5, time, time + 1, time + 2, time + 3)
    names = ("sent", "interrupts", "context_switches")
    return OnCluster(
        text or f"cluster-{number}",
        text or "nodes that poll",
        2,
        4,
        10_000.0 + number,
        1.0 + number / 10,
        500,
        0.25,
        {text or "round trip": trip, "wait": Timings(0)},
        tuple(dict.fromkeys(names, 10.0 * (node + 1)) for node in range(2)),
        (timelines.hostile(text) if text else timelines.small()) if number < 5 else None,
    )


def _of(count: int, text: str = "") -> Simulation:
    return Simulation(
        text or "ping-pong",
        (text or "rounds=10",),
        1,
        tuple(_on(number, text) for number in range(count)),
        3,
        provenance=Provenance("cluster:uln", simulated=True, command=(text or "ping-pong",)),
        warnings=(text,) if text else (),
    )


def small() -> Simulation:
    return _of(3)


def empty() -> Simulation:
    return Simulation("ping-pong", (), 1, ())


def hostile(text: str) -> Simulation:
    return _of(2, text)


def huge(rows: int) -> Simulation:
    return _of(rows)
