"""The shortest way to a source: totals that can be read at any time, each by a function.

    SOURCE = totals("kernel", "totals of the kernel", [Total("switches", read, "context switches")])

What a total grows by while a command runs, a process lives or time passes is the count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import NotSupportedError, StateError, UnknownEventError, UsageError
from gnomon.events.event import Event, Group, Kind, Request, Scope
from gnomon.events.names import NameIndex
from gnomon.recording.contents import Provenance, Reading, Status
from gnomon.sources.base import (
    Availability,
    Capabilities,
    Choice,
    Closing,
    Registered,
    Snapshot,
    Source,
    Target,
    Thread,
    Verdict,
)
from gnomon.sources.host import Host, Subject, host_provenance

if TYPE_CHECKING:
    from gnomon.events.planner import Plan


@dataclass(frozen=True, slots=True)
class Total:
    """A number of the whole machine that only grows; `read` raises OSError where there is none."""

    name: str
    read: Callable[[], int]
    description: str = ""
    unit: str = ""


def totals(name: str, title: str, what: Iterable[Total]) -> Registered:
    """Return the entry of a source that reads these totals; its events begin with `name::`."""
    capabilities = Capabilities(
        scopes=frozenset({"command", "process", "cpus"}), event_prefix=f"{name}::"
    )
    found = tuple(what)

    def make(_: Choice) -> Source:
        return TotalsSource(name, capabilities, found)

    return Registered(name=name, title=title, capabilities=capabilities, make=make)


class TotalsSource:
    """A source whose events are totals."""

    def __init__(self, name: str, capabilities: Capabilities, what: Sequence[Total]) -> None:
        self.name, self.capabilities = name, capabilities
        self._events = {
            Event(
                f"{name}::{each.name}",
                each.description or each.name,
                Kind.SYNTHETIC,
                unit=each.unit,
                scope=Scope.SYSTEM,
            ): each
            for each in what
        }
        self._index = NameIndex(tuple(self._events))

    def events(self) -> Iterator[Event]:
        """Yield all events."""
        return iter(self._events)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of this name, with or without the prefix."""
        found = self._index.find_all(name)
        if not found:
            raise UnknownEventError(name, self._index.nearest(name), f"of {self.name}")
        return found

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        """Read each total once."""
        return [self._availability(request.event) for request in requests]

    def _availability(self, event: Event) -> Availability:
        if reason := self._reason(event):
            return Availability(event, Verdict.NOT_SUPPORTED, reason)
        return Availability(event, Verdict.COUNTS, value=_read(self._events[event]))

    def _reason(self, event: Event) -> str:
        """Return why an event cannot be counted, nothing when it can."""
        try:
            self._events[event].read()
        except OSError as error:
            return f"it cannot be read ({error.strerror or error})"
        return ""

    def default_events(self) -> tuple[Group, ...]:
        """Return all that can be read."""
        return tuple((Request(event),) for event in self._events if not self._reason(event))

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        """Return the one run in which everything is read."""
        from gnomon.events.planner import plan_together

        return plan_together((*anchors, *requests), self.name)

    def anchors(self) -> tuple[Request, ...]:
        """Return nothing: no total belongs to a program alone."""
        return ()

    def open(
        self, groups: Sequence[Group], target: Target, *, exact: bool = False
    ) -> TotalsCounting:
        """Set up to read totals while the target runs; `exact` refuses what cannot be read."""
        if isinstance(target, Thread):
            raise UsageError(f"'{self.name}' counts on the whole machine, not in a thread.")
        requests = tuple(request for group in groups for request in group)
        reasons = {each.label: self._reason(each.event) for each in requests}
        refused = [f"'{label}' is not counted: {why}." for label, why in reasons.items() if why]
        if exact and refused:
            raise NotSupportedError(" ".join(refused))
        what = [self._events[each.event] for each in requests]
        return TotalsCounting(requests, what, target, refused)

    def provenance(self, target: Target) -> Provenance:
        """Return what this host is."""
        return host_provenance(self.name, Host(), target)


class TotalsCounting(Closing):
    """Totals over a target: what they have grown by since the start."""

    def __init__(
        self,
        requests: tuple[Request, ...],
        what: Sequence[Total],
        target: Target,
        warnings: list[str],
    ) -> None:
        self.requests = requests
        self.warnings = warnings
        self._what = what
        self._before = [_read(each) for each in what]
        self._subject = Subject(target)
        self._state = "ready"
        self._start = 0
        self._final: Snapshot | None = None

    @property
    def refused(self) -> tuple[Reading, ...]:
        """What could not be read when this was opened."""
        return tuple(r for r in self._snapshot().readings if r.status is not Status.COUNTED)

    @property
    def exit_status(self) -> int | None:
        """How the command ended; None while it runs."""
        return self._subject.exit_status

    def start(self) -> None:
        """Note what the totals are, and let a command run."""
        self._require("start", "ready")
        self._state = "running"
        self._before = [_read(each) for each in self._what]
        self._start = time.monotonic_ns()
        self._subject.release()

    def read(self) -> Snapshot:
        """Return what they have grown by."""
        self._require("read", "running", "stopped")
        return self._final or self._snapshot()

    def stop(self) -> Snapshot:
        """Cease to count."""
        self._require("stop", "running")
        self._final = self._final or self._snapshot()
        self._state = "stopped"
        return self._final

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the target, and of the count; False when the time was over first."""
        self._require("wait for", "running", "stopped")
        ended = self._subject.wait(timeout)
        if ended and self._final is None:
            self._final = self._snapshot()
        return ended

    def ticks(self, interval: int, until: Callable[[], bool]) -> Iterator[Snapshot]:
        """Start, then yield a snapshot each interval, the last one when counting stops."""
        self._require("start", "ready")
        if interval <= 0:
            raise UsageError(f"the interval must be longer than zero, not {interval} ns.")
        self.start()
        try:
            due = self._start + interval
            while not until():
                if self.wait(max(due - time.monotonic_ns(), 0) / 1e9):
                    break
                yield self.read()
                if self._final is not None:
                    break
                due = max(due + interval, time.monotonic_ns())
            yield self._final or self.stop()
        finally:
            if self._state == "running":
                self.stop()

    def interrupt(self, signal: int) -> None:
        """Pass a signal on to a command."""
        self._subject.signal(signal)

    def close(self) -> None:
        """End a command that still runs."""
        self._subject.close()
        self._state = "closed"

    def _require(self, call: str, *states: str) -> None:
        if self._state not in states:
            raise StateError(f"a counting that is {self._state} is not to {call}.")

    def _snapshot(self) -> Snapshot:
        now = time.monotonic_ns()
        elapsed = max(now - self._start, 0) if self._start else 0
        readings = []
        for request, each, before in zip(self.requests, self._what, self._before, strict=True):
            after = _read(each)
            known = after is not None and before is not None
            times = (elapsed, elapsed) if known else (0, 0)
            status = Status.COUNTED if known else Status.NOT_SUPPORTED
            value = None if after is None or before is None else after - before
            readings.append(Reading(now, request.label, "system", value, *times, status))
        return Snapshot(now, tuple(readings))


def _read(total: Total) -> int | None:
    try:
        return total.read()
    except OSError:
        return None
