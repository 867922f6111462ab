"""What an event set has counted: raw totals, and values with what they rest on.

`TurnTaking` says how far a count can be trusted when events took turns on the counters. The
synthetic events are those that no counter counts but every program has: time, elapsed cycles.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import GnomonError
from gnomon.events.event import Event, Kind, Scope
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Counting

if TYPE_CHECKING:
    from gnomon.events.presets import Available


@dataclass(frozen=True, slots=True)
class Count:
    """A value with what it rests on.

    `coverage` is the share of the time in which the event was on a counter; `error` is
    the standard error that the rest of the time brings with it, in counts, and None when
    too little was seen to tell.
    """

    value: int | None
    coverage: float
    error: float | None
    status: Status


@dataclass(frozen=True, slots=True)
class Totals:
    """What was counted since the start, as it was read: nothing scaled, nothing taken off.

    Readings of one set come in the same order each time. `clocks` are the synthetic events.
    """

    readings: tuple[Reading, ...] = ()
    clocks: Mapping[str, int] = field(default_factory=dict)


def computed(preset: Available, counted: Mapping[str, Count]) -> Count:
    """Return a portable event from the counts that it is made of."""
    parts = [counted[event.name] for event in preset.operands]
    values = {name: part.value for name, part in zip(preset.definition.events, parts, strict=True)}
    missing = next((part for part in parts if part.value is None), None)
    if missing is not None:
        return replace(missing, value=None)
    errors = [part.error for part in parts if part.error is not None]
    # Events that took turns were seen at different times, so their errors are independent.
    error = math.hypot(*errors) if len(errors) == len(parts) else None
    scaled = any(part.status is Status.SCALED for part in parts)
    return Count(
        preset.definition.evaluate(values),
        min(part.coverage for part in parts),
        error,
        Status.SCALED if scaled else Status.COUNTED,
    )


def since(readings: tuple[Reading, ...], base: tuple[Reading, ...]) -> Iterable[Reading]:
    """Return readings less those of an earlier time, which has the same ones or none."""
    if not base:
        return readings
    return [
        now._replace(
            value=None if now.value is None else now.value - (then.value or 0),
            enabled=now.enabled - then.enabled,
            running=now.running - then.running,
        )
        for now, then in zip(readings, base, strict=True)
    ]


def scaled(part: Reading) -> float | int | None:
    """Return the count for the whole time, None when none of it was seen."""
    if part.value is None or part.running >= part.enabled:
        return part.value
    return part.value * part.enabled / part.running if part.running else None


_PERIOD = 0.02  # seconds between looks: a few turns of the kernel's rotation
_FEWEST = 5


@dataclass(slots=True)
class _Sums:
    """Sums over slices of what an event counted (v) while it was on a counter (r)."""

    value: int = 0  # at the end of the last slice
    running: int = 0
    slices: int = 0
    v: int = 0
    r: int = 0
    vv: float = 0.0
    vr: float = 0.0
    rr: float = 0.0

    def add(self, value: int, running: int) -> None:
        counted, time = value - self.value, running - self.running
        self.value, self.running = value, running
        if time <= 0:
            return
        self.slices += 1
        self.v += counted
        self.r += time
        self.vv += float(counted) * counted
        self.vr += float(counted) * time
        self.rr += float(time) * time


class TurnTaking:
    """Watches how the rates of multiplexed events vary from slice to slice."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._sums: dict[str, _Sums] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gnomon-turns", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Cease to look."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def restart(self) -> None:
        """Forget the slices so far: what is counted now has nothing to do with them."""
        self._sums = {e: _Sums(sums.value, sums.running) for e, sums in self._sums.items()}

    def _run(self) -> None:
        while not self._done.wait(_PERIOD):
            try:
                self.look()
            except GnomonError:
                return  # the counting ended between two looks

    def look(self) -> None:
        """End a slice here."""
        values: dict[str, tuple[int, int]] = {}
        for reading in self._counting.read().readings:
            if reading.value is not None:
                value, running = values.get(reading.event, (0, 0))
                values[reading.event] = (value + reading.value, running + reading.running)
        for event, (value, running) in values.items():
            self._sums.setdefault(event, _Sums()).add(value, running)

    def error(self, event: str, enabled: int, running: int) -> float | None:
        """Return the standard error of the scaled count, None when too little was seen.

        The slices in which the event was counted are a sample of all slices; the count is
        a ratio estimate with the residual variance of counts about the mean rate, and the
        share that was seen does not contribute (finite population).
        """
        sums = self._sums.get(event)
        if sums is None or sums.slices < _FEWEST or running <= 0:
            return None
        rate = sums.v / sums.r
        residual = max(sums.vv - 2 * rate * sums.vr + rate * rate * sums.rr, 0.0)
        variance = residual / (sums.slices - 1)
        unseen = 1 - running / enabled
        return enabled / running * math.sqrt(sums.slices * variance * unseen)


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


def synthetic_event(name: str) -> Event | None:
    """Return the synthetic event of this name, in that spelling, if there is one."""
    for event in SYNTHETIC:
        if name == event.name:
            return event
        if name in event.aliases:
            return event.renamed(name)
    return None


def read_synthetic(event: Event) -> int:
    """Return the present reading of a synthetic event."""
    reader = next(_READERS[name] for name in (event.name, *event.aliases) if name in _READERS)
    return reader()
