"""From readings to one line an event: totals, share of time counted, spread over runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.recording.contents import EventInfo, Reading, Status

if TYPE_CHECKING:
    from gnomon.analysis.count.result import EventCount

_MISSING_ORDER = (Status.NOT_COUNTED, Status.NOT_PERMITTED, Status.NOT_SUPPORTED)


@dataclass(slots=True)
class _Total:
    """What one event counted in one place during one run."""

    value: int = 0
    enabled: int = 0
    running: int = 0
    counted: bool = False
    scaled_by_others: bool = False
    missing: Status | None = None

    def add(self, reading: Reading) -> None:
        self.enabled += reading.enabled
        self.running += reading.running
        if reading.value is None:
            self.missing = _worse(self.missing, reading.status)
            return
        self.value += reading.value
        self.counted = True
        self.scaled_by_others |= reading.status is Status.SCALED

    def scaled(self) -> tuple[float, Status] | None:
        """Return the value over the whole time, extrapolated where it was not counted."""
        if not self.counted:
            return None
        if self.scaled_by_others:
            return self.value, Status.SCALED
        if self.running >= self.enabled or self.running == 0:
            return self.value, Status.COUNTED
        return round(self.value * (self.enabled / self.running)), Status.SCALED


def _worse(before: Status | None, now: Status) -> Status:
    known = [s for s in (before, now) if s is not None]
    return max(known, key=lambda s: _MISSING_ORDER.index(s) if s in _MISSING_ORDER else -1)


class Tally:
    """Adds up readings as they come, in memory that does not grow with their number."""

    def __init__(self) -> None:
        self._totals: dict[tuple[int, str, str], _Total] = {}

    def add(self, readings: Iterable[Reading]) -> None:
        """Take readings, slices of a run or whole runs."""
        for reading in readings:
            key = (reading.run, reading.event, reading.scope)
            self._totals.setdefault(key, _Total()).add(reading)

    def counts(
        self, events: Sequence[EventInfo], *, by_scope: bool = False
    ) -> tuple[EventCount, ...]:
        """Return a line for each event, or for each event and place.

        Places are scaled one by one before they are added, since each has its own share
        of the time counted.
        """
        lines: dict[tuple[str, str], dict[int, dict[str, _Total]]] = {}
        for (run, event, scope), total in self._totals.items():
            runs = lines.setdefault((event, scope if by_scope else ""), {})
            runs.setdefault(run, {})[scope] = total
        order = {info.name: i for i, info in enumerate(events)}
        infos = {info.name: info for info in events}
        keys = sorted(lines, key=lambda k: (order.get(k[0], len(order)), _scope_order(k[1])))
        return tuple(
            _line(event, scope, lines[event, scope], infos.get(event, EventInfo(event)))
            for event, scope in keys
        )


def summarise(
    readings: Iterable[Reading], events: Sequence[EventInfo], *, by_scope: bool = False
) -> tuple[EventCount, ...]:
    """Return a line for each event, or for each event and place."""
    tally = Tally()
    tally.add(readings)
    return tally.counts(events, by_scope=by_scope)


def _scope_order(scope: str) -> tuple[str, int, str]:
    kind, _, number = scope.partition("/")
    return kind, int(number) if number.isdigit() else -1, scope


def _line(
    event: str, scope: str, runs: dict[int, dict[str, _Total]], info: EventInfo
) -> EventCount:
    values: list[float | None] = []
    status = Status.COUNTED
    missing: Status | None = None
    enabled = running = 0
    scopes: set[str] = set()
    for places in runs.values():
        total: float | None = None
        for place, part in places.items():
            scopes.add(place)
            enabled += part.enabled
            running += part.running
            scaled = part.scaled()
            if scaled is None:
                missing = _worse(missing, part.missing or Status.NOT_COUNTED)
                continue
            total = (total or 0) + scaled[0]
            if scaled[1] is Status.SCALED:
                status = Status.SCALED
        values.append(None if total is None else _in_unit(total, info.scale))
    from gnomon.analysis.count.result import COUNT, EventCount  # not before the program has run

    known = [value for value in values if value is not None]
    return EventCount(
        event=event,
        value=mean(known),
        unit=info.unit or COUNT,
        status=status if known else missing or Status.NOT_COUNTED,
        running=_share(running, enabled, counted=bool(known)),
        scope=scope or _common_scope(scopes),
        spread=relative_spread(known) if len(values) > 1 else None,
        values=tuple(values),
    )


def _in_unit(total: float, scale: float) -> float:
    return total if scale == 1 else total * scale


def mean(values: Sequence[float]) -> float | None:
    """Return the mean; whole numbers stay whole, and exact beyond 2^53, if the mean is one."""
    if not values:
        return None
    total = sum(values)
    # Whole numbers stay whole, and exact beyond 2^53, as long as the mean is one.
    if isinstance(total, int):
        whole, rest = divmod(total, len(values))
        return whole if rest == 0 else total / len(values)
    return total / len(values)


def relative_spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation relative to the mean, None where it is undefined."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    if mean == 0:
        return 0.0 if not any(values) else None
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance) / abs(mean)


def _share(running: int, enabled: int, *, counted: bool) -> float | None:
    if enabled > 0:
        return min(running / enabled, 1.0)
    return 1.0 if counted else None


def _common_scope(scopes: set[str]) -> str:
    """Name what several places have in common: threads make a process, CPUs a system."""
    if len(scopes) == 1:
        return next(iter(scopes))
    kinds = {scope.partition("/")[0] for scope in scopes}
    return "process" if kinds <= {"thread", "process"} else "system"
