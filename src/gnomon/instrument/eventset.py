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

import functools
import time
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from gnomon.errors import NotPermittedError, NotSupportedError, StateError, UsageError
from gnomon.events.event import Event, Group, Kind, Request
from gnomon.events.syntax import ask
from gnomon.instrument.counts import (
    Count,
    Totals,
    TurnTaking,
    computed,
    read_synthetic,
    scaled,
    since,
    synthetic_event,
)
from gnomon.instrument.overflow import Overflow, OverflowPlan, OverflowWatch
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Closing, Counting, Source, Target, Thread, preset_table
from gnomon.sources.registry import source

if TYPE_CHECKING:
    from gnomon.events.presets import Available

Values = dict[str, int | None]


@functools.cache
def default_source() -> Source:
    """Return this host's events; looking them up takes longer than all the rest of a set."""
    return source()


class State(StrEnum):
    """What an event set is doing."""

    STOPPED = "stopped"
    RUNNING = "running"
    CLOSED = "closed"


class EventSet(Closing):
    """Events of one thread (or another target) that are counted together."""

    def __init__(
        self,
        events: str | Iterable[str] = (),
        *,
        on: Source | str | None = None,
        target: Target | None = None,
        multiplex: bool = False,
    ) -> None:
        self._source = default_source() if on is None else source(on)
        self._target = target
        self._multiplex = multiplex
        self._asked: dict[str, Request | Available] = {}
        self._requests: dict[str, Request] = {}  # what is counted for it, presets taken apart
        self._plans: dict[str, OverflowPlan] = {}
        self._state = State.STOPPED
        self._counting: Counting | None = None
        self._watch: OverflowWatch | None = None
        self._turns: TurnTaking | None = None
        self._clock: dict[str, int] = {}
        self._opened_as: dict[str, str] = {}  # labels, which lack of rights may have changed
        self._base = Totals()
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
        return tuple(self._asked)

    def __len__(self) -> int:
        return len(self._asked)

    def add(self, names: str) -> tuple[str, ...]:
        """Add one event or several, separated by commas; all of them or none.

        Portable names such as PAPI_TOT_INS stand for events of this machine; one that is
        computed from several takes as many counters.
        """
        self._require("add events to", State.STOPPED)
        fresh = self._parse(names)
        everything = (*self._asked.values(), *fresh.values())
        requests = [each for each in everything if isinstance(each, Request)]
        for name, each in fresh.items():
            if isinstance(each, Request):
                self._refuse_twin(each, requests)
            elif name in self._asked:
                raise UsageError(f"event '{name}' is already in the set.")
        self._take({**self._asked, **fresh})
        return tuple(fresh)

    def _parse(self, names: str) -> dict[str, Request | Available]:
        asked = ask(names, self._resolve, preset_table(self._source, names))
        requests = {request.label: request for group in asked.groups for request in group}
        fresh: dict[str, Request | Available] = {}
        for name in asked.order:
            if name in asked.missing:
                raise NotSupportedError(f"'{name}' cannot be counted here: {asked.missing[name]}.")
            if name in fresh:
                raise UsageError(f"event '{name}' is given twice: name it once.")
            fresh[name] = asked.presets.get(name) or requests[name]
        return fresh

    def _take(self, asked: dict[str, Request | Available]) -> None:
        """Make these the events of the set; what several of them need is counted once."""
        self._asked = asked
        self._requests = {}
        for each in asked.values():
            needed = [each] if isinstance(each, Request) else map(Request, each.operands)
            for request in needed:
                self._requests.setdefault(request.label, request)

    def _refuse_twin(self, request: Request, others: Iterable[Request]) -> None:
        """Raise an error when the same event is there already, under this name or another."""
        for other in others:
            if other is not request and _identity(other) == _identity(request):
                known = "" if other.label == request.label else f" as '{other.label}'"
                raise UsageError(
                    f"event '{request.label}' is in the set already{known}: once is enough."
                )

    def remove(self, name: str) -> None:
        """Take an event out again."""
        self._require("remove events from", State.STOPPED)
        if name not in self._asked:
            raise UsageError(f"event '{name}' is not in the set: it has {self._listing()}.")
        self._take({other: each for other, each in self._asked.items() if other != name})
        self._plans.pop(name, None)

    def _resolve(self, name: str) -> tuple[Event, ...]:
        event = synthetic_event(name)
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
        each = self._asked.get(name)
        if each is None:
            raise UsageError(f"event '{name}' is not in the set: it has {self._listing()}.")
        if not isinstance(each, Request):
            raise UsageError(
                f"'{name}' is computed from {' and '.join(each.definition.events)}: "
                "watch one of those for overflow."
            )
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
        if not self._asked:
            raise StateError("an event set without events cannot be started: add one first.")
        target = self._target if self._target is not None else Thread()
        counted = [r for r in self._requests.values() if r.event.kind is not Kind.SYNTHETIC]
        self._watch = None  # that of the run before, kept for its overflows
        self._base = Totals()
        try:
            self._open(counted, target)
            self._clock = {
                label: read_synthetic(request.event)
                for label, request in self._requests.items()
                if request.event.kind is Kind.SYNTHETIC
            }
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

    def _open(self, counted: list[Request], target: Target) -> None:
        if self._plans:
            self._watch = OverflowWatch(self._plans, self._source, target, self._raw_value)
        sampled = self._watch.sampled if self._watch is not None else frozenset()
        counted = [request for request in counted if request.label not in sampled]
        self._opened_as = {}
        if not counted:
            return
        groups = self._groups(counted)
        self._counting = self._source.open(groups, target, exact=not self._multiplex)
        asked = [request.label for group in groups for request in group]
        opened = [request.label for request in self._counting.requests]
        self._opened_as = dict(zip(asked, opened, strict=True))
        for label, name in self._opened_as.items():
            if opened.count(name) > 1 and label != name:
                raise NotPermittedError(
                    f"'{label}' can only be counted as '{name}' with the rights that you have, "
                    "and that is in the set already: take one of them out."
                )
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
            return self._counts(self._totals())
        if self._final is None:
            raise StateError("an event set must be started before it is read.")
        return dict(self._final)

    def accumulate(self, into: MutableMapping[str, int]) -> None:
        """Add the values to a mapping and go on from zero."""
        self._require("accumulate from", State.RUNNING)
        totals = self._totals()
        counts = self._counts(totals)
        missing = [label for label, count in counts.items() if count.value is None]
        if missing:
            raise NotSupportedError(f"'{missing[0]}' was not counted, so it cannot be added up.")
        for label, count in counts.items():
            into[label] = into.get(label, 0) + (count.value or 0)
        self._go_on_from(totals)

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
        self._go_on_from(self._totals())

    def _go_on_from(self, totals: Totals) -> None:
        self._base = totals
        if self._turns is not None:
            self._turns.restart()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the target, such as a command; False when the time was over first."""
        self._require("wait for", State.RUNNING)
        deadline = None if timeout is None else time.monotonic() + timeout

        def left() -> float | None:
            return None if deadline is None else max(deadline - time.monotonic(), 0.0)

        ended = self._counting is None or self._counting.wait(left())
        return ended and (self._watch is None or self._watch.wait(left))

    def stop(self) -> Values:
        """Cease to count and return the values."""
        self._require("stop", State.RUNNING)
        clocks = self._clocks()
        self._state = State.STOPPED
        try:
            if self._watch is not None:
                self._watch.pause()
            if self._turns is not None:
                self._turns.stop()
            readings = self._counting.stop().readings if self._counting is not None else ()
            if self._watch is not None:  # last, so that gathering overflows is not counted
                self._watch.stop()
            self._final = self._counts(Totals(readings + self._watched(), clocks))
        finally:
            self._drop(keep_overflows=True)
        return self.read()

    def overflows(self) -> list[Overflow]:
        """Return the overflows since the last call that no handler has taken.

        The kernel keeps some thousands of them for us, so take them now and then; a new
        start forgets those that are left.
        """
        return self._watch.take() if self._watch is not None else []

    @property
    def lost_overflows(self) -> int:
        """How many overflows of this run found no room because nobody took them in time."""
        return self._watch.lost if self._watch is not None else 0

    # Details

    def _raw_value(self, label: str) -> int | None:
        """Return an event's count for the timer that stands in for hardware overflow."""
        request = self._requests[label]
        if request.event.kind is Kind.SYNTHETIC:
            return read_synthetic(request.event) - self._clock.get(label, 0)
        if self._counting is None:
            return None
        name = self._opened_as[label]
        parts = [r.value for r in self._counting.read().readings if r.event == name]
        known = [value for value in parts if value is not None]
        return sum(known) if known else None

    def _clocks(self) -> dict[str, int]:
        return {
            label: read_synthetic(self._requests[label].event) - start
            for label, start in self._clock.items()
        }

    def _watched(self) -> tuple[Reading, ...]:
        """Return what was counted by whoever watches for overflows."""
        readings = self._watch.readings() if self._watch is not None else ()
        for reading in readings:
            if reading.running < reading.enabled and not self._multiplex:
                raise NotSupportedError(
                    f"'{reading.event}' did not have a counter all the time, so overflows were "
                    "missed: count fewer events, or let them take turns."
                )
        return readings

    def _totals(self) -> Totals:
        readings = self._counting.read().readings if self._counting is not None else ()
        return Totals(readings + self._watched(), self._clocks())

    def _counts(self, totals: Totals) -> dict[str, Count]:
        """Return what was counted since the last reset, in terms of what was asked for."""
        counted = self._counted(totals)
        return {
            name: counted[name] if isinstance(each, Request) else computed(each, counted)
            for name, each in self._asked.items()
        }

    def _counted(self, totals: Totals) -> dict[str, Count]:
        parts: dict[str, list[Reading]] = {}
        for reading in since(totals.readings, self._base.readings):
            parts.setdefault(reading.event, []).append(reading)
        found: dict[str, Count] = {}
        for label in self._requests:
            clock = totals.clocks.get(label)
            if clock is not None:
                value = clock - self._base.clocks.get(label, 0)
                found[label] = Count(value, 1.0, 0.0, Status.COUNTED)
            else:
                name = self._opened_as.get(label, label)
                found[label] = self._count(name, parts.get(name, []))
        return found

    def _count(self, name: str, parts: list[Reading]) -> Count:
        """Return the count over all places, each scaled by its own times."""
        enabled = sum(part.enabled for part in parts)
        running = sum(part.running for part in parts)
        values = [scaled(part) for part in parts]
        known = [value for value in values if value is not None]
        if not known:
            status = parts[0].status if parts else Status.NOT_COUNTED
            return Count(None, 0.0, None, Status.NOT_COUNTED if status.has_value else status)
        if running >= enabled:
            return Count(round(sum(known)), 1.0, 0.0, Status.COUNTED)
        error = self._turns.error(name, enabled, running) if self._turns else None
        return Count(round(sum(known)), running / enabled, error, Status.SCALED)

    def _drop(self, *, keep_overflows: bool = False) -> None:
        # First whoever reads the counters from a thread, then the counters.
        if self._watch is not None:
            self._watch.close()
            if not keep_overflows:
                self._watch = None
        if self._turns is not None:
            self._turns.stop()
            self._turns = None
        if self._counting is not None:
            self._counting.close()
            self._counting = None

    def close(self) -> None:
        """Give everything back; may be called again."""
        self._drop()
        self._state = State.CLOSED

    def _listing(self) -> str:
        return ", ".join(self._asked) or "none"

    def _require(self, verb: str, *states: State) -> None:
        if self._state not in states:
            raise StateError(f"cannot {verb} an event set that is {self._state}.")


def _identity(request: Request) -> object:
    """Return what two requests have in common when they ask for the same event."""
    event = request.event
    what = event.encoding or frozenset((event.name, *event.aliases))
    return what, request.modifiers
