"""How far a count can be trusted when events took turns on the counters."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from gnomon.errors import GnomonError
from gnomon.sources.base import Counting

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
