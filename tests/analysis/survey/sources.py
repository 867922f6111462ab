"""A source with few counters that needs neither a PMU nor a program."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Self

from gnomon.errors import UnknownEventError
from gnomon.events.event import Event, Group, Request
from gnomon.events.planner import Plan, Pmu, plan
from gnomon.recording.contents import Provenance, Reading, Status
from gnomon.sources.base import Availability, Capabilities, Snapshot, Target, Verdict

COUNTERS = 4


@dataclass
class FakeCounting:
    """A run that is over as soon as it was started."""

    groups: Sequence[Group]
    values: Callable[[str], int]
    exit_status: int | None = 0
    warnings: list[str] = field(default_factory=list)
    refused: tuple[Reading, ...] = ()

    @property
    def requests(self) -> tuple[Request, ...]:
        return tuple(request for group in self.groups for request in group)

    def start(self) -> None:
        pass

    def read(self) -> Snapshot:
        now = time.monotonic_ns()
        return Snapshot(
            now,
            tuple(
                Reading(now, r.label, "process", self.values(r.label), 10, 10, Status.COUNTED)
                for r in self.requests
            ),
        )

    stop = read

    def close(self) -> None:
        pass

    def wait(self, timeout: float | None = None) -> bool:
        return True

    def ticks(self, interval: int, until: Callable[[], bool]) -> Iterator[Snapshot]:
        yield self.read()

    def interrupt(self, signal: int) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeSource:
    """Counts any number of events, four at a time, with values from a function."""

    name = "fake"
    capabilities = Capabilities()

    def __init__(self, events: int, values: Callable[[str, Random], int]) -> None:
        self._events = [Event(f"event-{i}", f"what {i} counts") for i in range(events)]
        self._values = values
        self._random = Random(1)

    def events(self) -> Iterator[Event]:
        return iter(self._events)

    def resolve(self, name: str) -> tuple[Event, ...]:
        found = tuple(event for event in self._events if event.name == name)
        if not found:
            raise UnknownEventError(name)
        return found

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        return [Availability(request.event, Verdict.COUNTS, value=1) for request in requests]

    def default_events(self) -> tuple[Group, ...]:
        return tuple((Request(event),) for event in self._events[:4])

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        return plan(requests, Pmu("cpu", COUNTERS), anchors=anchors)

    def anchors(self) -> tuple[Request, ...]:
        return (Request(self._events[0]),)

    def open(self, groups: Sequence[Group], target: Target, *, exact: bool = False) -> FakeCounting:
        return FakeCounting(groups, lambda label: self._values(label, self._random))

    def provenance(self, target: Target) -> Provenance:
        return Provenance("fake", command=("program",))
