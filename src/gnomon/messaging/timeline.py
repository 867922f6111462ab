"""What happened when: marks that a run leaves, by node and message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened: when, where, and to which message (0 for none)."""

    time: int
    node: int
    thread: str
    what: str
    message: int = 0


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


@dataclass(slots=True)
class Timeline:
    """All marks, spans and flights of a run."""

    machine: str = ""
    nodes: int = 0
    marks: list[Mark] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    flights: list[Flight] = field(default_factory=list)

    def ordered(self) -> list[Mark]:
        """Return the marks in the order of time."""
        return sorted(self.marks, key=lambda mark: mark.time)

    def of_message(self, number: int) -> list[Mark]:
        """Return the marks of one message, the sending to the receiving."""
        return [mark for mark in self.ordered() if mark.message == number]

    def time_of(self, what: str, message: int) -> int:
        """Return when something first happened to a message."""
        return next(mark.time for mark in self.of_message(message) if mark.what == what)

    def cut(self, start: int, end: int) -> Timeline:
        """Return what happens from one time to another, with times counted from the first."""
        return Timeline(
            self.machine,
            self.nodes,
            [
                replace(mark, time=mark.time - start)
                for mark in self.marks
                if start <= mark.time <= end
            ],
            [
                replace(span, start=max(span.start, start) - start, end=min(span.end, end) - start)
                for span in self.spans
                if span.start < end and span.end > start
            ],
            [
                replace(
                    flight,
                    left=flight.left - start,
                    first=flight.first - start,
                    last=flight.last - start,
                )
                for flight in self.flights
                if flight.left < end and flight.last > start
            ],
        )

    @property
    def end(self) -> int:
        """The time of the last thing that happened."""
        times: Iterable[int] = (
            *(mark.time for mark in self.marks),
            *(span.end for span in self.spans),
            *(flight.last for flight in self.flights),
        )
        return max(times, default=0)
