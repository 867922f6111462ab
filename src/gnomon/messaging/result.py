"""What message programs did: when and where, message by message, and on several clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from gnomon.result import Result, Simulated, derived


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened: when (in ns), where, and to which message (0 for none)."""

    time: int
    node: int
    thread: str
    what: str
    message: int = 0
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """What a thread did from one time to another."""

    start: int
    end: int
    node: int
    thread: str
    what: str


@dataclass(frozen=True, slots=True)
class Flight:
    """A message on its way: when it left and arrived, first byte and last."""

    number: int
    source: int
    dest: int
    bytes: int
    left: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Timeline(Result):
    """All marks, spans and flights of a simulated run; marks are in the order of time."""

    kind: ClassVar[str] = "messages-timeline"
    machine: str = ""
    nodes: int = 0
    marks: tuple[Mark, ...] = ()
    spans: tuple[Span, ...] = ()
    flights: tuple[Flight, ...] = ()

    @derived
    def simulated(self) -> Simulated:
        """Always: message programs run on simulated machines."""
        return Simulated.YES

    @classmethod
    def of(
        cls,
        machine: str,
        nodes: int,
        marks: Iterable[Mark],
        spans: Iterable[Span] = (),
        flights: Iterable[Flight] = (),
    ) -> Timeline:
        """Return a timeline of what happened, in the order of time."""
        return cls(
            machine,
            nodes,
            tuple(sorted(marks, key=lambda mark: mark.time)),
            tuple(sorted(spans, key=lambda span: (span.start, span.node, span.thread))),
            tuple(flights),
        )

    def of_message(self, number: int) -> Timeline:
        """Return what happened to one message, with times counted from the first."""
        marks = [mark for mark in self.marks if mark.message == number]
        flights = [flight for flight in self.flights if flight.number == number]
        found = replace(self, marks=tuple(marks), spans=(), flights=tuple(flights))
        return found.cut(marks[0].time, found.end) if marks else found

    def time_of(self, what: str, message: int) -> int:
        """Return when something first happened to a message."""
        return next(
            mark.time for mark in self.marks if (mark.what, mark.message) == (what, message)
        )

    def cut(self, start: int, end: int) -> Timeline:
        """Return what happens from one time to another, with times counted from the first."""
        return replace(
            self,
            marks=tuple(
                replace(mark, time=mark.time - start)
                for mark in self.marks
                if start <= mark.time <= end
            ),
            spans=tuple(
                replace(span, start=max(span.start, start) - start, end=min(span.end, end) - start)
                for span in self.spans
                if span.start < end and span.end > start
            ),
            flights=tuple(
                replace(
                    flight,
                    left=flight.left - start,
                    first=flight.first - start,
                    last=flight.last - start,
                )
                for flight in self.flights
                if flight.left < end and flight.last > start
            ),
        )

    @property
    def end(self) -> int:
        """The time of the last thing that happened."""
        return max(
            *(mark.time for mark in self.marks),
            *(span.end for span in self.spans),
            *(flight.last for flight in self.flights),
            0,
            0,
        )


# ---- programs on several clusters -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timings:
    """What a program timed under one name, in ns; percentiles are right to one part in 32."""

    count: int
    mean: float | None = None
    deviation: float | None = None
    least: float | None = None
    most: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    p999: float | None = None


@dataclass(frozen=True, slots=True)
class OnCluster:
    """What a program did on one cluster; times are in ns.

    `speedup` is how many times as fast as on the first cluster it ran, `polled` the share of the
    time that threads had a core in which they only polled. `counts` has what each node counted.
    """

    name: str
    title: str
    nodes: int
    contexts: int
    duration: float
    speedup: float
    events: int
    polled: float
    timed: Mapping[str, Timings]
    counts: tuple[Mapping[str, float], ...]
    timeline: Timeline | None = None

    def total(self, name: str) -> float:
        """Return a count over all nodes."""
        return sum(node[name] for node in self.counts)


@dataclass(frozen=True, slots=True)
class Simulation(Result):
    """A message program on simulated clusters.

    Each has a timeline of the first steps of messages; `listed` says how many of them are to be
    listed as well.
    """

    kind: ClassVar[str] = "messages-simulation"
    program: str
    parameters: tuple[str, ...]
    seed: int
    clusters: tuple[OnCluster, ...]
    listed: int = 0

    @derived
    def simulated(self) -> Simulated:
        """Always: the clusters are."""
        return Simulated.YES


@dataclass(frozen=True, slots=True)
class Program:
    """A message program, and its parameters as they are unless they are given."""

    name: str
    what: str
    parameters: Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Named:
    """A cluster that comes with gnomon, and how threads wait there unless they say so."""

    name: str
    title: str
    waiting: str


@dataclass(frozen=True, slots=True)
class Programs(Result):
    """The message programs that can be simulated, and the clusters that they run on."""

    kind: ClassVar[str] = "messages-programs"
    programs: tuple[Program, ...]
    clusters: tuple[Named, ...]
