"""Simulated time: what is to happen, in order of time and, at one time, in order of asking."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count


@dataclass(slots=True)
class Clock:
    """A time in nanoseconds that jumps from event to event."""

    now: int = 0
    _events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    _number: count[int] = field(default_factory=count)

    def at(self, time: int, what: Callable[[], None]) -> None:
        """Let something happen at a time, now or later."""
        heapq.heappush(self._events, (max(time, self.now), next(self._number), what))

    @property
    def next_time(self) -> int | None:
        """When something happens next, None if never."""
        return self._events[0][0] if self._events else None

    def step(self) -> None:
        """Go to the next event and let it happen."""
        self.now, _, what = heapq.heappop(self._events)
        what()
