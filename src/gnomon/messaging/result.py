"""What message programs did, message by message and on clusters, and what the model answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

from gnomon.result import Quantity, Result, Simulated, derived


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


# ---- what the model answers ---------------------------------------------------------------------

NOTHING = Quantity(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class NetworkLink:
    """A network between the nodes, in place of the memory of one host; `latency` is in ns."""

    latency: float
    bytes_per_ns: float


@dataclass(frozen=True, slots=True)
class Sharing:
    """How threads share a core: n of them do `height * (1 - exp(-n / knee))` of the work of one."""

    height: float
    knee: float


@dataclass(frozen=True, slots=True)
class Application:
    """Threads that compute, ask another node for something and wait for the answer.

    `compute` is what a thread works between an answer and its next request, and `handler`
    what the far side works for it, both in ns without any messaging. With a `communicator`
    one thread of a node receives for all others and wakes them. Without `sharing` each thread
    has a core to itself.
    """

    name: str
    compute: Quantity
    handler: Quantity = NOTHING
    threads: int = 1
    request: int = 0
    response: int = 0
    exchanges: float | None = None
    mechanism: str | None = None
    communicator: bool = False
    network: NetworkLink | None = None
    sharing: Sharing | None = None


@dataclass(frozen=True, slots=True)
class Predicted:
    """An application with one way of being told: how long a cycle takes, and what would help.

    `speedup` is how many times as fast user-level notification would make it. `running` and
    `waiting` are shares of the cycle, `load` that of the handler.
    """

    mechanism: str
    measured: bool
    polls: bool
    cycle: Quantity
    speedup: Quantity
    running: float
    waiting: float
    load: float


@dataclass(frozen=True, slots=True)
class Slowdowns:
    """How many times as long a cycle takes as at user level, over compute per message in ns."""

    mechanism: str
    compute: tuple[float, ...]
    slowdown: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Prediction(Result):
    """What user-level notification would bring; `rows` begins with the way that is used now.

    Beyond `break_even`, in ns of compute per message, there is little to gain: less than the
    share `worth`. `saved` is the time that a thread would save in a run, in ns, where it is
    known how often it asks. `beyond` says why no gain is claimed: sizes that nobody measured.
    """

    kind: ClassVar[str] = "messages-prediction"
    application: Application
    regime: str
    rows: tuple[Predicted, ...]
    user_level: Predicted
    curves: tuple[Slowdowns, ...] = ()
    break_even: float | None = None
    worth: float = 0.05
    beyond: str = ""

    @property
    def now(self) -> Predicted:
        """The way that the application uses."""
        return self.rows[0]

    @derived
    def saved(self) -> float | None:
        """The time that a thread would save in a run, where the number of exchanges is known."""
        if self.application.exchanges is None or not self.rows:
            return None
        saved = self.now.cycle.value - self.user_level.cycle.value
        return saved * self.application.exchanges

    @derived
    def sentence(self) -> str:
        """The answer in words."""
        if not self.rows:
            return f"no prediction is possible for '{self.application.name}'"
        if self.beyond:
            return f"no gain is claimed for '{self.application.name}': {self.beyond}"
        gain = self.now.speedup
        return (
            f"user-level notification would make '{self.application.name}' {gain.value:.3g} times "
            f"as fast as with {self.now.mechanism} ({gain.low:.3g} to {gain.high:.3g})"
        )


class Law(StrEnum):
    """The laws of the model that can be fitted to measurements."""

    SHARING = "sharing"
    MISSES = "misses"
    IMBALANCE = "imbalance"


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement at `x` (of threads or nodes) and what the law says there."""

    x: float
    measured: float
    fitted: float


@dataclass(frozen=True, slots=True)
class Fit(Result):
    """A law of the model fitted to measurements.

    `error` is the root mean square residual, `r_squared` how much of the differences between
    runs is explained. `speeds` are those of each of 1, 2, ... threads that share a core;
    `late` says how much later than the mean the last of so many nodes is expected.
    """

    kind: ClassVar[str] = "messages-fit"
    law: Law
    formula: str
    parameters: Mapping[str, Quantity]
    points: tuple[Point, ...] = ()
    error: float | None = None
    r_squared: float | None = None
    speeds: tuple[float, ...] = ()
    nodes: int | None = None
    late: Mapping[int, float] = field(default_factory=dict)
    doubt: str = ""
