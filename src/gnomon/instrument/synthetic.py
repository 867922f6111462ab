"""Events that no counter counts but every program has: time and elapsed cycles."""

from __future__ import annotations

import time
from collections.abc import Callable

from gnomon import _native
from gnomon.events.event import Event, Kind, Scope

TIME = Event(
    "time",
    "time that passed, on CLOCK_MONOTONIC",
    Kind.SYNTHETIC,
    ("gnomon::time", "wall-time"),
    unit="ns",
    scope=Scope.SYSTEM,
)
ELAPSED_CYCLES = Event(
    "elapsed-cycles",
    "ticks of the processor's time stamp counter that passed",
    Kind.SYNTHETIC,
    ("gnomon::cycles",),
    scope=Scope.SYSTEM,
    caveats=("ticks at a constant rate, which is not the rate of the core's clock",),
)
SYNTHETIC = (TIME, ELAPSED_CYCLES)

_READERS: dict[str, Callable[[], int]] = {
    TIME.name: time.monotonic_ns,
    ELAPSED_CYCLES.name: _native.read_cycles,
}


def find(name: str) -> Event | None:
    """Return the synthetic event of this name, in that spelling, if there is one."""
    for event in SYNTHETIC:
        if name == event.name:
            return event
        if name in event.aliases:
            return event.renamed(name)
    return None


def read(event: Event) -> int:
    """Return the present reading of a synthetic event."""
    reader = next(_READERS[name] for name in (event.name, *event.aliases) if name in _READERS)
    return reader()
