"""What can be counted: events, how they are encoded, and what a user asks of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum


class Scope(StrEnum):
    """What a count of the event belongs to; counts are never summed below this level."""

    THREAD = "thread"
    CORE = "core"
    SOCKET = "socket"
    NODE = "node"
    LINK = "link"
    SYSTEM = "system"


class Kind(StrEnum):
    """Where an event comes from, as users tell events apart in listings."""

    HARDWARE = "hardware"
    CACHE = "cache"
    SOFTWARE = "software"
    TRACEPOINT = "tracepoint"
    RAW = "raw"
    BREAKPOINT = "breakpoint"
    PMU = "pmu"
    SYNTHETIC = "synthetic"
    VALGRIND = "valgrind"


@dataclass(frozen=True, slots=True)
class PerfEncoding:
    """The numbers that perf_event_open wants for an event."""

    pmu: str
    type: int
    config: int
    config1: int = 0
    config2: int = 0
    config3: int = 0
    bp_type: int = 0


@dataclass(frozen=True, slots=True)
class Fields:
    """An event select as the hardware manual writes it, before a kernel encodes it.

    `msrs` are the extra registers that can carry the event's extra value (offcore
    response has two to choose from); `ldlat` is a load-latency threshold in cycles;
    `precise` is the highest precise level that the event allows.
    """

    code: int
    umask: int = 0
    cmask: int = 0
    invert: bool = False
    edge: bool = False
    any_thread: bool = False
    msrs: tuple[int, ...] = ()
    msr_value: int = 0
    ldlat: int | None = None
    precise: int = 0


@dataclass(frozen=True, slots=True)
class Constraint:
    """Which counters can hold an event.

    `counters` is a bit mask of general-purpose counters; None means any of them and 0
    none. `fixed` is the number of the fixed counter that counts the event, if there is
    one. An event that is `taken_alone` cannot share the general counters with others.
    """

    counters: int | None = None
    fixed: int | None = None
    taken_alone: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """Something a source can count, with every name that users know it by.

    A raw count times `scale` is in `unit`; an empty unit means plain occurrences. `cpus`
    are the CPUs to count on for a unit outside the cores; `cores` are the CPUs that have
    the unit when only some kinds of core do.
    """

    name: str
    description: str = ""
    kind: Kind = Kind.PMU
    aliases: tuple[str, ...] = ()
    encoding: PerfEncoding | None = None
    fields: Fields | None = None
    unit: str = ""
    scale: float = 1.0
    scope: Scope = Scope.THREAD
    cpus: tuple[int, ...] | None = None
    cores: tuple[int, ...] | None = None
    constraint: Constraint = field(default_factory=Constraint)
    caveats: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    deprecated: bool = False

    def renamed(self, name: str) -> Event:
        """Return the same event under another canonical name; the old one stays an alias."""
        return replace(self, name=name, aliases=(*self.aliases, self.name))


@dataclass(frozen=True, slots=True)
class Modifiers:
    """How an event is to be counted: at which privilege levels and how precisely."""

    user: bool = True
    kernel: bool = True
    hypervisor: bool = True
    guest: bool = True
    host: bool = True
    precise: int = 0
    pinned: bool = False
    exclusive: bool = False

    @property
    def text(self) -> str:
        """The modifiers as users write them after the colon, empty when there are none."""
        letters = ""
        if (self.user, self.kernel, self.hypervisor) != (True, True, True):
            letters += "u" * self.user + "k" * self.kernel + "h" * self.hypervisor
        if (self.guest, self.host) != (True, True):
            letters += "G" * self.guest + "H" * self.host
        return letters + "p" * self.precise + "D" * self.pinned + "e" * self.exclusive


@dataclass(frozen=True, slots=True)
class Request:
    """An event as a user asked for it."""

    event: Event
    modifiers: Modifiers = Modifiers()

    @property
    def label(self) -> str:
        """The name that stands in tables and recordings, modifiers included."""
        text = self.modifiers.text
        return f"{self.event.name}:{text}" if text else self.event.name


Group = tuple[Request, ...]
"""Requests that are counted at the same time or not at all."""
