"""The data model of a measurement: readings, what was measured, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """What a reading's value means; only the first two come with a value.

    COUNTED: the raw count; where `running` is less than `enabled` it covers only that
    share of the time and nobody has scaled it. SCALED: someone else (perf stat, say)
    already extrapolated it. NOT_COUNTED: the event was open but never got a counter.
    """

    COUNTED = "counted"
    SCALED = "scaled"
    NOT_COUNTED = "not-counted"
    NOT_SUPPORTED = "not-supported"
    NOT_PERMITTED = "not-permitted"


class Reading(NamedTuple):
    """What one event counted in one place from the previous reading up to `time`.

    Times are nanoseconds; `time` is on CLOCK_MONOTONIC. `scope` says where: `process`,
    `thread/1234`, `cpu/3`, `node/0`, `socket/1`, `link/0-1`, `system`.
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


@dataclass(frozen=True, slots=True)
class EventInfo:
    """What a recording must know of an event to show its values: value x scale is in unit."""

    name: str
    description: str = ""
    unit: str = ""
    scale: float = 1.0
    scope: str = "thread"
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One execution of the measured program, or one stretch of watching."""

    run: int
    batch: int = 0
    start: int = 0
    end: int = 0
    exit_status: int | None = None
    started_at: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a recording comes from, enough to doubt it or to repeat it."""

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
    environment: dict[str, str] = field(default_factory=dict)
    imported_from: str = ""
