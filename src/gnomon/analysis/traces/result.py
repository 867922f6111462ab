"""What traces are asked for: what is in one, rows of a query, a chain of packets, latencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gnomon.result import Interval, Result


@dataclass(frozen=True, slots=True)
class TypeCount:
    """How many records of a type there are."""

    type: int
    name: str
    family: str
    records: int


@dataclass(frozen=True, slots=True)
class PairCount:
    """How many packets went from one place to another."""

    source: str
    destination: str
    packets: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Records of each class in a stretch of time that begins at `start`, in ns."""

    start: int
    records: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TraceResult(Result):
    """A trace: how much is in it, of what, from when to when, between whom.

    `damages` says which parts do not check; it is empty for a trace that is whole.
    """

    kind: ClassVar[str] = "trace"

    path: str
    records: int
    bytes: int
    start: int  # ns on the clock of the trace
    stop: int
    complete: bool
    types: tuple[TypeCount, ...] = ()
    pairs: tuple[PairCount, ...] = ()
    interfaces: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()  # what the numbers of a stretch are of
    stretches: tuple[Stretch, ...] = ()
    notes: tuple[str, ...] = ()
    damages: tuple[str, ...] = ()
    files: int = 0  # of Parquet
    segments: int = 0


Value = int | float | str | None


@dataclass(frozen=True, slots=True)
class TraceRows(Result):
    """The rows that answer a query; `more` says that there were more than were asked for.

    Bytes are hexadecimal digits, and whole numbers above 2^53 texts, so that no digit is lost.
    """

    kind: ClassVar[str] = "trace-rows"

    query: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A record of a chain; `after` is the time since its first, `since` since the one before."""

    trace: int
    record: int
    time: int
    place: str  # where it was seen
    name: str
    source: str
    destination: str
    after: int
    since: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class TraceChain(Result):
    """What belongs together: a request with its echo, its response and the echo of that.

    `chosen` is the record that was asked for. `parts` are those of a transaction that were seen,
    `lacking` those that were not, because no probe could see them or they never came.
    """

    kind: ClassVar[str] = "trace-chain"

    chosen: int
    what: str
    steps: tuple[Step, ...]
    lacking: tuple[str, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """A quantile of latencies, with the records at its ends."""

    share: float
    latency: float  # ns


@dataclass(frozen=True, slots=True)
class Slowest:
    """One of the longest latencies, and the records that it lies between."""

    latency: int
    begin: int
    end: int
    begin_trace: int = 1
    end_trace: int = 1


@dataclass(frozen=True, slots=True)
class Bar:
    """How many latencies there are in an interval, in ns."""

    within: Interval
    count: int


@dataclass(frozen=True, slots=True)
class TraceLatency(Result):
    """Times from records of one kind to those of another that belong to them, in ns."""

    kind: ClassVar[str] = "trace-latency"

    begins: str
    ends: str
    by: str
    pairs: int
    unmatched_begins: int
    unmatched_ends: int
    mean: float | None = None
    least: int | None = None
    most: int | None = None
    quantiles: tuple[Share, ...] = ()
    bars: tuple[Bar, ...] = ()
    slowest: tuple[Slowest, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceExport(Result):
    """A file that was written for another tool, and how many records are in it."""

    kind: ClassVar[str] = "trace-export"

    path: str
    format: str
    records: int
    bytes: int
    filter: str = ""
