"""What is found of messages: costs and fits, compute beside communicators, predictions, laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from gnomon.result import Interval, Quantity, Result, derived

LEAST_TIMES = 6
"""Fewer of them lie all on one side of their median more often than in 5 % of cases."""


class Regime(StrEnum):
    """Where the two processes are, and whether their CPUs may halt."""

    IDLE = "idle"
    AWAKE = "awake"
    SIBLINGS = "siblings"
    SAME = "same-core"


@dataclass(frozen=True, slots=True)
class Bins:
    """How many times lie from `low` to `high`, in ns; between bins there are none."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of one thing with messages of one size, in ns; a round trip has two messages.

    A percentile is None where there are too few samples to tell it.
    """

    size: int
    samples: int
    p50: Quantity
    p90: float | None
    p99: float | None
    p999: float | None
    mean: float
    histogram: Bins


@dataclass(frozen=True, slots=True)
class Row:
    """All that was measured of one mechanism in one regime; timings begin with the smallest size.

    `notification` is how much of the time one way polling would save, and `wake` what of it
    passes outside both calls and the way through the memory. `counts_per_message` has what each
    event counted on both sides together; None where it could not be counted.
    """

    mechanism: str
    regime: Regime
    cpus: tuple[int, int]
    round_trips: tuple[Timing, ...]
    sends: tuple[Timing, ...] = ()
    receives: tuple[Timing, ...] = ()
    gaps: tuple[Timing, ...] = ()
    counts_per_message: Mapping[str, float | None] = field(default_factory=dict)
    messages: int = 0
    clock: float = 0.0
    notification: Quantity | None = None
    wake: Quantity | None = None

    @property
    def round_trip(self) -> Timing:
        """The round trip of the smallest message."""
        return self.round_trips[0]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was not measured, and why."""

    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.what}{_IS_LEFT_OUT}{self.reason}"

    @classmethod
    def parse(cls, text: str) -> LeftOut | None:
        """Return what `str` made a text of; None for other texts."""
        what, found, reason = text.partition(_IS_LEFT_OUT)
        return cls(what, reason) if found else None


_IS_LEFT_OUT = " is left out: "


def by_reason(left_out: Sequence[LeftOut]) -> dict[str, list[str]]:
    """Return what was left out for each reason."""
    found: dict[str, list[str]] = {}
    for each in left_out:
        found.setdefault(each.reason, []).append(each.what)
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """The fastest mechanism of a group in a regime, and its round trip in ns."""

    group: str
    mechanism: str
    p50: Quantity


@dataclass(frozen=True, slots=True)
class Order:
    """The groups of a regime, from the one that should be fastest to the one that should not.

    `signs` say how each place stands to the next: `<` or `>` where intervals are apart, else
    `~`. It is `shown` where every group is faster than the next.
    """

    regime: Regime
    places: tuple[Place, ...]
    signs: tuple[str, ...]

    @derived
    def shown(self) -> bool:
        """Whether every group is faster than the next, their intervals being apart."""
        return all(sign == "<" for sign in self.signs)

    def place(self, group: str) -> Place | None:
        """Return the place of a group, if it was measured."""
        return next((place for place in self.places if place.group == group), None)


@dataclass(frozen=True, slots=True)
class Hidden:
    """Where waking the other CPU hides how a futex and a socket differ; times in ns.

    `waking` is what it adds to a round trip, `differ` how much faster a futex is on one core.
    """

    regimes: tuple[Regime, ...]
    waking: float
    differ: float


@dataclass(frozen=True, slots=True)
class Segment:
    """Messages from one size to another: `startup` ns, and `per_byte` ns for every byte."""

    smallest: int
    largest: int
    startup: Quantity
    per_byte: Quantity


@dataclass(frozen=True, slots=True)
class Hockney:
    """T(m) = T0 + m / BW in each segment; `error` is the median of those held out."""

    segments: tuple[Segment, ...]
    error: float


@dataclass(frozen=True, slots=True)
class LogGP:
    """L, o (sending and receiving), g of small messages, and G for each byte of large ones.

    T(m) = send + L + receive + m G. L is what is left of the time of the smallest message; it
    is negative where the two calls overlap. G is that of the segment of the largest messages.
    """

    latency: Quantity
    send: Quantity
    receive: Quantity
    gap: Quantity | None
    gap_per_byte: Quantity
    error: float


@dataclass(frozen=True, slots=True)
class PLogP:
    """L, and g, o_s and o_r as they change with the size: T(m) = L + g(m).

    g of the smallest message is that of a flood; those of others follow from round trips.
    """

    latency: Quantity
    sizes: tuple[int, ...]
    gaps: tuple[Quantity, ...]
    sends: tuple[Quantity, ...]
    receives: tuple[Quantity, ...]
    error: float


@dataclass(frozen=True, slots=True)
class Passes:
    """How many passes over sizes there were, how many were alike, and what the others took.

    `others` is how many times as long messages took in the passes that are left out.
    """

    count: int
    kept: int
    others: float = 1.0


@dataclass(frozen=True, slots=True)
class Curve:
    """The time of a message over its size, with the models that were fitted to it."""

    mechanism: str
    regime: Regime
    sizes: tuple[int, ...]
    times: tuple[Quantity, ...]
    hockney: Hockney
    loggp: LogGP | None
    plogp: PLogP | None
    passes: Passes


@dataclass(frozen=True, slots=True)
class Bench(Result):
    """What messages cost on a host: a row per mechanism and regime, curves over sizes with fits.

    `null_call` is a system call that does nothing, `spin` how long `spin-block` spins, in ns.
    `error` is the median of the errors that Hockney's law has at sizes held out of the fits.
    """

    kind: ClassVar[str] = "messages-bench"
    rows: tuple[Row, ...]
    null_call: Timing | None = None
    curves: tuple[Curve, ...] = ()
    error: float | None = None
    orders: tuple[Order, ...] = ()
    hidden: Hidden | None = None
    left_out: tuple[LeftOut, ...] = ()
    spin: int = 0

    def row(self, mechanism: str, regime: Regime | str) -> Row | None:
        """Return the row of a mechanism in a regime, if it was measured."""
        for row in self.rows:
            if (row.mechanism, row.regime) == (mechanism, regime):
                return row
        return None

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """The regimes that were measured."""
        return tuple(r for r in Regime if any(row.regime is r for row in self.rows))


class Pays(StrEnum):
    """When a way of waiting makes an application faster than the one that blocks."""

    ALWAYS = "always"
    BELOW = "below"  # with less compute per message than the break-even
    NEVER = "never"
    REFERENCE = "reference"  # the one that blocks


@dataclass(frozen=True, slots=True)
class Beside:
    """A communicator that waits in one way, with one pause between messages; times are in ns.

    `lost` is the share of the node's compute that is gone, `latency` the mean and `p50` and
    `p99` percentiles of the round trips that its client saw. `work_per_message` is processor
    time that a message takes from compute. `break_even` is the compute per message below which
    this way pays, `between` its interval, whose end is infinite where no compute is too much.
    """

    mechanism: str
    pause: int
    lost: Quantity
    latency: Quantity
    p50: float
    p99: float
    work_per_message: Quantity
    pays: Pays
    break_even: float | None
    between: Interval | None
    messages: int


@dataclass(frozen=True, slots=True)
class Interference(Result):
    """What communicators took from compute on this host; a row per way and pause."""

    kind: ClassVar[str] = "messages-interference"
    recommendation: str
    rows: tuple[Beside, ...]
    compute: tuple[int, ...]
    communicator: int
    client: int
    shares: str
    rounds: int
    left_out: tuple[LeftOut, ...] = ()

    @property
    def pauses(self) -> tuple[int, ...]:
        """The pauses between messages, shortest first."""
        return tuple(sorted({row.pause for row in self.rows}))

    def at(self, pause: int) -> tuple[Beside, ...]:
        """Return the rows of one pause."""
        return tuple(row for row in self.rows if row.pause == pause)


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
    known how often it asks.
    """

    kind: ClassVar[str] = "messages-prediction"
    application: Application
    regime: str
    rows: tuple[Predicted, ...]
    user_level: Predicted
    curves: tuple[Slowdowns, ...] = ()
    break_even: float | None = None
    worth: float = 0.05

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
            return f"nothing can be said of '{self.application.name}'"
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
