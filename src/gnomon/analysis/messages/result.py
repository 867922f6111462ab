"""What the measurements of messages find: times, costs, fits over sizes, and what was left out."""

from __future__ import annotations

import math
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

    def steps(self) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Return edges, and how many times lie from each to the next: none between bins."""
        points: list[tuple[float, int]] = []
        end = None
        for low, high, count in zip(self.low, self.high, self.counts, strict=True):
            if end is None or low > end:
                points += [(each, 0) for each in (end, low) if each is not None]
            points.append((low, count))
            end = high
        if end is not None:
            points.append((end, 0))
        return tuple(edge for edge, _ in points), tuple(count for _, count in points)


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

    @property
    def tail(self) -> float:
        """The highest percentile that is known."""
        return self.p999 or self.p99 or self.p90 or self.p50.high


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

    @property
    def bandwidth(self) -> Quantity | None:
        """Bytes per second, without an upper end where bytes may take no time; None for any."""
        slope = self.per_byte
        if slope.value <= 0:
            return None
        high = 1e9 / slope.low if slope.low > 0 else math.inf
        return Quantity(1e9 / slope.value, 1e9 / slope.high, high)

    def time(self, size: int) -> float | None:
        """Return what a message of a size takes by the law, where that is a time."""
        time = self.startup.value + self.per_byte.value * size
        return time if time > 0 else None


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

    @property
    def plogp_error(self) -> float | None:
        """The error of PLogP, where it was fitted."""
        return None if self.plogp is None else self.plogp.error

    def fitted(self) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
        """Return sizes and the times that Hockney's law gives them, None between its pieces."""
        points: list[tuple[float | None, float | None]] = []
        for part in self.hockney.segments:
            inside = [s for s in self.sizes if s > 0 and part.smallest <= s <= part.largest]
            points += [*((float(size), part.time(size)) for size in inside), (None, None)]
        return tuple(size for size, _ in points), tuple(time for _, time in points)


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

    def ranked(self, regime: Regime) -> tuple[Row, ...]:
        """Return the rows of a regime, the fastest round trip first."""
        rows = (row for row in self.rows if row.regime is regime)
        return tuple(sorted(rows, key=lambda row: row.round_trip.p50.value))

    @property
    def samples(self) -> int:
        """How many times were taken in all."""
        kinds = ((r.round_trips, r.sends, r.receives, r.gaps) for r in self.rows)
        return sum(timing.samples for row in kinds for some in row for timing in some)


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

    @property
    def ways(self) -> dict[str, list[Beside]]:
        """The rows of each way of waiting."""
        found: dict[str, list[Beside]] = {}
        for row in self.rows:
            found.setdefault(row.mechanism, []).append(row)
        return found

    def at(self, pause: int) -> tuple[Beside, ...]:
        """Return the rows of one pause."""
        return tuple(row for row in self.rows if row.pause == pause)
