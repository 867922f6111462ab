"""Event sets: events that a program adds, starts, reads and stops itself.

    with EventSet("instructions,cycles") as counters:
        counters.start()
        work()
        values = counters.stop()

A set is exact unless it is told otherwise: all its events are on counters all the time,
or it does not start and says why. With `multiplex=True` they take turns, and every value
comes with the share of time it covers and an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import TracebackType
from typing import Self

from gnomon.errors import NotSupportedError, StateError, UsageError
from gnomon.events.model import Event, Group, Kind, Request
from gnomon.events.syntax import parse_events
from gnomon.instrument import synthetic
from gnomon.instrument.multiplex import TurnTaking
from gnomon.instrument.overflow import Overflow, OverflowPlan, OverflowWatch
from gnomon.recording.model import Reading, Status
from gnomon.sources.base import Counting, Source, Target, Thread

Values = dict[str, int | None]


class State(StrEnum):
    """What an event set is doing."""

    STOPPED = "stopped"
    RUNNING = "running"
    CLOSED = "closed"


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


class EventSet:
    """Events of one thread (or another target) that are counted together."""

    def __init__(
        self,
        events: str | Iterable[str] = (),
        *,
        source: Source | None = None,
        target: Target | None = None,
        multiplex: bool = False,
    ) -> None:
        if source is None:
            from gnomon.sources.perf import PerfSource

            source = PerfSource()
        self._source = source
        self._target = target
        self._multiplex = multiplex
        self._requests: dict[str, Request] = {}
        self._plans: dict[str, OverflowPlan] = {}
        self._state = State.STOPPED
        self._counting: Counting | None = None
        self._watch: OverflowWatch | None = None
        self._turns: TurnTaking | None = None
        self._clock: dict[str, int] = {}
        self._opened_as: dict[str, str] = {}  # labels, which lack of rights may have changed
        self._base: dict[str, int] = {}
        self._final: dict[str, Count] | None = None
        names = [events] if isinstance(events, str) else list(events)
        for name in names:
            if name:
                self.add(name)

    # What is counted

    @property
    def state(self) -> State:
        """Whether it is stopped, running or closed."""
        return self._state

    @property
    def events(self) -> tuple[str, ...]:
        """The names of its events, in the order in which they were added."""
        return tuple(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, names: str) -> tuple[str, ...]:
        """Add one event or several, separated by commas; all of them or none."""
        self._require("add events to", State.STOPPED)
        groups = parse_events(names, self._resolve)
        fresh = {request.label: request for group in groups for request in group}
        for label in fresh:
            if label in self._requests:
                raise UsageError(f"event '{label}' is in the set already: once is enough.")
        self._requests.update(fresh)
        return tuple(fresh)

    def remove(self, name: str) -> None:
        """Take an event out again."""
        self._require("remove events from", State.STOPPED)
        if name not in self._requests:
            raise UsageError(f"event '{name}' is not in the set: it has {self._listing()}.")
        del self._requests[name]
        self._plans.pop(name, None)

    def _resolve(self, name: str) -> tuple[Event, ...]:
        event = synthetic.find(name)
        return (event,) if event is not None else self._source.resolve(name)

    def on_overflow(
        self,
        name: str,
        threshold: int | None = None,
        handler: Callable[[Overflow], None] | None = None,
    ) -> None:
        """Report each time an event has counted `threshold` more; without one, a prime.

        Reports gather until `overflows()` takes them, or go to a handler, which is called
        from a thread of its own. A threshold of 0 switches it off again.
        """
        self._require("change overflow of", State.STOPPED)
        if name not in self._requests:
            raise UsageError(f"event '{name}' is not in the set: it has {self._listing()}.")
        if threshold == 0:
            self._plans.pop(name, None)
            return
        self._plans[name] = OverflowPlan.of(self._requests[name], threshold, handler)

    def threshold_of(self, name: str) -> int:
        """Return the overflow threshold of an event, 0 when it has none."""
        plan = self._plans.get(name)
        return plan.threshold if plan is not None else 0

    # Counting

    def start(self) -> None:
        """Begin to count from zero, in the calling thread unless another target was given."""
        self._require("start", State.STOPPED)
        if not self._requests:
            raise StateError("an event set without events cannot start: add one first.")
        target = self._target if self._target is not None else Thread()
        counted = [r for r in self._requests.values() if r.event.kind is not Kind.SYNTHETIC]
        try:
            self._open(counted, target)
            if self._counting is not None:
                self._counting.start()
            if self._watch is not None:
                self._watch.start()
            if self._turns is not None:
                self._turns.start()
        except BaseException:
            self._drop()
            raise
        self._final = None
        self._state = State.RUNNING
        self._base = {}
        self._clock = {
            label: synthetic.read(request.event)
            for label, request in self._requests.items()
            if request.event.kind is Kind.SYNTHETIC
        }

    def _open(self, counted: list[Request], target: Target) -> None:
        if self._plans:
            self._watch = OverflowWatch(self._plans, self._source, target, self._raw_value)
        sampled = self._watch.sampled if self._watch is not None else frozenset()
        counted = [request for request in counted if request.label not in sampled]
        if not counted:
            return
        groups = self._groups(counted)
        self._counting = self._source.open(groups, target, exact=not self._multiplex)
        asked = [request.label for group in groups for request in group]
        opened = [request.label for request in self._counting.requests]
        self._opened_as = dict(zip(asked, opened, strict=True))
        if self._multiplex:
            self._turns = TurnTaking(self._counting)

    def _groups(self, counted: list[Request]) -> list[Group]:
        if self._multiplex:
            return [(request,) for request in counted]
        # One group for each unit: units cannot be scheduled together, but each is pinned.
        units: dict[str, list[Request]] = {}
        for request in counted:
            encoding = request.event.encoding
            unit = encoding.pmu if encoding is not None else ""
            # The kernel's own events may join any group.
            units.setdefault("cpu" if unit == "software" else unit, []).append(request)
        return [tuple(members) for members in units.values()]

    def read(self) -> Values:
        """Return what was counted since the start or the last reset."""
        return {label: count.value for label, count in self.details().items()}

    def details(self) -> dict[str, Count]:
        """Return the values with their coverage and error."""
        self._require("read", State.RUNNING, State.STOPPED)
        if self._state is State.RUNNING:
            return self._counts(self._counting.read().readings if self._counting else ())
        if self._final is None:
            raise StateError("an event set that was never started has nothing to read.")
        return self._final

    def accumulate(self, into: MutableMapping[str, int]) -> None:
        """Add the values to a mapping and go on from zero."""
        self._require("accumulate from", State.RUNNING)
        values = self.read()
        missing = [label for label, value in values.items() if value is None]
        if missing:
            raise NotSupportedError(f"'{missing[0]}' was not counted, so it cannot be added up.")
        for label, value in values.items():
            into[label] = into.get(label, 0) + (value or 0)
        self.reset()

    def reset(self) -> None:
        """Go on from zero, without a gap in the counting."""
        self._require("reset", State.RUNNING, State.STOPPED)
        if self._state is State.STOPPED:
            if self._final is not None:
                self._final = {
                    label: replace(count, value=None if count.value is None else 0)
                    for label, count in self._final.items()
                }
            return
        for label, count in self.details().items():
            self._base[label] = self._base.get(label, 0) + (count.value or 0)

    def stop(self) -> Values:
        """Cease to count and return the values."""
        self._require("stop", State.RUNNING)
        ends = {label: synthetic.read(self._requests[label].event) for label in self._clock}
        readings: Iterable[Reading] = ()
        if self._watch is not None:
            self._watch.stop()
        if self._turns is not None:
            self._turns.stop()
        if self._counting is not None:
            readings = self._counting.stop().readings
        self._final = self._counts(readings, ends)
        self._state = State.STOPPED
        self._drop(keep_overflows=True)
        return {label: count.value for label, count in self._final.items()}

    def overflows(self) -> list[Overflow]:
        """Return the overflows since the last call that no handler has taken."""
        if self._watch is None:
            return []
        return self._watch.take()

    # Details

    def _raw_value(self, label: str) -> int | None:
        """Return an event's count for the timer that stands in for hardware overflow."""
        request = self._requests[label]
        if request.event.kind is Kind.SYNTHETIC:
            return synthetic.read(request.event) - self._clock.get(label, 0)
        if self._counting is None:
            return None
        name = self._opened_as[label]
        parts = [r.value for r in self._counting.read().readings if r.event == name]
        known = [value for value in parts if value is not None]
        return sum(known) if known else None

    def _counts(
        self, readings: Iterable[Reading], ends: Mapping[str, int] | None = None
    ) -> dict[str, Count]:
        found: dict[str, Count] = {}
        sums: dict[str, list[Reading]] = {}
        for reading in readings:
            sums.setdefault(reading.event, []).append(reading)
        for label, request in self._requests.items():
            if label in self._clock:
                now = ends[label] if ends is not None else synthetic.read(request.event)
                found[label] = Count(now - self._clock[label], 1.0, 0.0, Status.COUNTED)
            elif self._watch is not None and label in self._watch.sampled:
                found[label] = Count(self._watch.count(label), 1.0, 0.0, Status.COUNTED)
            else:
                found[label] = self._count(label, sums.get(self._opened_as[label], []))
        for label, base in self._base.items():
            count = found[label]
            if count.value is not None:
                found[label] = replace(count, value=count.value - base)
        return found

    def _count(self, label: str, parts: list[Reading]) -> Count:
        enabled = sum(part.enabled for part in parts)
        running = sum(part.running for part in parts)
        known = [part.value for part in parts if part.value is not None]
        if not known:
            return Count(None, 0.0, None, parts[0].status if parts else Status.NOT_COUNTED)
        total = sum(known)
        if running >= enabled or running == 0:
            return Count(total, 1.0, 0.0, Status.COUNTED)
        name = self._opened_as[label]
        error = self._turns.error(name, enabled, running) if self._turns else None
        return Count(round(total * enabled / running), running / enabled, error, Status.SCALED)

    def _drop(self, *, keep_overflows: bool = False) -> None:
        if self._counting is not None:
            self._counting.close()
            self._counting = None
        if self._watch is not None:
            self._watch.close()
            if not keep_overflows:
                self._watch = None
        if self._turns is not None:
            self._turns.stop()
            self._turns = None

    def close(self) -> None:
        """Give everything back; may be called again."""
        self._drop()
        self._state = State.CLOSED

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _listing(self) -> str:
        return ", ".join(self._requests) or "none"

    def _require(self, verb: str, *states: State) -> None:
        if self._state not in states:
            raise StateError(f"cannot {verb} an event set that is {self._state}.")
