"""The data model of a measurement: readings, what was measured, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

SIMULATED_CLOCK = "simulated"
"""The clock of a simulated machine: ns since the beginning of each run."""

ONE_RUN = "in one run"
"""What the target of a recording says when its events took turns in a single run."""


class Status(StrEnum):
    """What a reading's value means; only the first three come with a value.

    COUNTED: the raw count; where `running` is less than `enabled` it covers only that
    share of the time and nobody has scaled it. SCALED: someone else (perf stat, say)
    already extrapolated it. NOT_COUNTED: the event was open but never got a counter.
    ESTIMATED is for results only, and comes with an interval there: no reading has it.
    """

    COUNTED = "counted"
    SCALED = "scaled"
    ESTIMATED = "estimated"
    NOT_COUNTED = "not-counted"
    NOT_SUPPORTED = "not-supported"
    NOT_PERMITTED = "not-permitted"

    @property
    def has_value(self) -> bool:
        """Whether a reading with this status comes with a value."""
        return self in (Status.COUNTED, Status.SCALED, Status.ESTIMATED)


class Reading(NamedTuple):
    """What one event counted in one place from the previous reading up to `time`.

    Times are nanoseconds; `time` is on CLOCK_MONOTONIC. `scope` says where: `process`,
    `process/1234` (one of several), `thread/1234`, `cpu/3`, `node/0`, `socket/1`,
    `link/0-1`, `system`.
    """

    time: int
    event: str
    scope: str
    value: int | None
    enabled: int
    running: int
    status: Status
    run: int = 0
    batch: int = 0


class Sample(NamedTuple):
    """One moment at which a sampled event was seen: where it was, and what it touched.

    `ip` and `address` are 64-bit addresses without a sign. `weight` is the latency in
    cycles and `source` names what served the access, where the machine tells them.
    """

    time: int
    event: str
    pid: int
    tid: int
    cpu: int
    ip: int | None = None
    address: int | None = None
    weight: int | None = None
    source: str = ""
    period: int = 1
    run: int = 0


class Flush(NamedTuple):
    """What a counter of accesses had counted in its range when it was flushed at `time`.

    `event` says which accesses; `begin` is when the counter was allocated. `start` is the
    first of `bytes` addresses, `node` who asked and `home` where the page is, -1 where nobody
    told.
    """

    time: int
    event: str
    begin: int
    start: int
    bytes: int
    accesses: int
    writes: int
    node: int
    home: int
    run: int = 0


class Estimate(NamedTuple):
    """What an event is estimated to have counted in the tick that ended at `time`.

    `low` to `high` is a 90 % interval. All of them are counts, as the values of readings
    are, over all places together; where the event was read, they are what was read.
    """

    time: int
    event: str
    mean: float
    deviation: float
    low: float
    high: float
    run: int = 0
    batch: int = 0


class Bin(NamedTuple):
    """How many times of one kind lay from `low` up to `high`, both in ns: a bar of a histogram.

    `batch` numbers the consecutive blocks of the measurement of a run.
    """

    time: int
    event: str
    low: float
    high: float
    occurrences: int
    run: int = 0
    batch: int = 0


class Total(NamedTuple):
    """What one event counted in one place over a whole run.

    `value` sums the readings that have one and is None when none has. `enabled` and
    `running` sum over all of them, so that time without a count shows. `missing` tells
    how many of the `readings` came without a value.
    """

    run: int
    batch: int
    event: str
    scope: str
    value: int | None
    enabled: int
    running: int
    status: Status
    readings: int
    missing: int

    @property
    def partial(self) -> bool:
        """Whether some readings had a value and others had none."""
        return 0 < self.missing < self.readings


@dataclass(frozen=True, slots=True)
class EventInfo:
    """What a recording must know of an event to show its values: value x scale is in unit.

    `source` is set where the events of a recording come from several of them.
    """

    name: str
    description: str = ""
    unit: str = ""
    scale: float = 1.0
    scope: str = "thread"
    caveats: tuple[str, ...] = ()
    source: str = ""
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One execution of the measured program, or one stretch of watching.

    `parameters` holds what was put into the command for this run, name by name, as text.
    """

    run: int
    batch: int = 0
    start: int = 0
    end: int = 0
    exit_status: int | None = None
    started_at: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a recording comes from, enough to doubt it or to repeat it.

    `plan` has a line a batch of a survey, its source and the events counted together; each
    of them was to be run `repeat` times. Where sets of events took turns as gnomon told
    them to, `always` has the events that were counted all the time, `sets` a line a set,
    and `model` says what estimated the rest. `campaign` is what must be the same for further
    runs to be added: programs, options, source and machine, each by name.
    """

    source: str
    simulated: bool = False
    command: tuple[str, ...] = ()
    target: str = ""
    host: str = ""
    cpu: str = ""
    cpus: int = 0
    kernel: str = ""
    machine: str = ""
    gnomon: str = ""
    python: str = ""
    clock: str = "CLOCK_MONOTONIC"
    created: str = ""
    interval: int | None = None
    seed: int | None = None
    plan: tuple[str, ...] = ()
    repeat: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    imported_from: str = ""
    always: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    model: str = ""
    campaign: dict[str, str] = field(default_factory=dict)
