"""What happened when: marks that a run of message programs leaves, by node and message."""

from __future__ import annotations

from collections.abc import Iterable
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
