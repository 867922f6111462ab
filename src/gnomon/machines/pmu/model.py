"""What a simulated PMU is: its counters, its events, and what each event is made of.

Everything a simulated machine counts is in its ledger, by name. An event of a PMU is a sum of
such counts, with the restrictions that the real counter had: few registers of few bits, some
events on some registers only, privilege levels, one latency threshold at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from gnomon.events.event import Constraint, Event, Fields, Kind, Scope
from gnomon.events.names import NameIndex
from gnomon.machines.ledger import ALL_MODES, Mode
from gnomon.machines.program import Observed


class Unit(StrEnum):
    """Whose registers count an event: those of a hardware thread, of a node, or nobody's."""

    CORE = "core"
    UNCORE = "uncore"
    SOFTWARE = "software"


@dataclass(frozen=True, slots=True)
class Term:
    """A count of the ledger that goes into an event, added or subtracted."""

    name: str
    sign: int = 1


@dataclass(frozen=True, slots=True)
class PmuEvent:
    """An event of a simulated PMU.

    `select` is what the hardware's event register holds, `code` the number that a library
    gives the event. `counters` is a bit mask of general counters, None for any. A `constant`
    event always reads the same; a `latency` event counts loads that take at least `threshold`
    cycles. `missing` says why an event that the hardware had cannot be counted here, and
    `no_overflow` why it cannot interrupt.
    """

    name: str
    description: str
    terms: tuple[Term, ...] = ()
    aliases: tuple[str, ...] = ()
    group: str = ""
    unit: Unit = Unit.CORE
    scope: Scope = Scope.THREAD
    select: int | None = None
    code: int | None = None
    counters: int | None = None
    fixed: int | None = None
    measure: str = ""
    scale: float = 1.0
    constant: int | None = None
    latency: bool = False
    threshold: int | None = None
    needs: frozenset[Observed] = frozenset()
    caveats: tuple[str, ...] = ()
    missing: str = ""
    no_overflow: str = ""

    @property
    def separates_modes(self) -> bool:
        """Whether user and privileged work can be told apart."""
        return self.scope is Scope.THREAD and self.constant is None

    @property
    def event(self) -> Event:
        """The event as the rest of the program knows it."""
        hidden = (self.missing,) if self.missing else ()
        fields = None
        if self.select is not None or self.threshold is not None:
            fields = Fields(self.select or 0, ldlat=self.threshold)
        return Event(
            self.name,
            self.description,
            Kind.SOFTWARE if self.unit is Unit.SOFTWARE else Kind.PMU,
            self.aliases,
            fields=fields,
            unit=self.measure,
            scale=self.scale,
            scope=self.scope,
            constraint=Constraint(self.counters, self.fixed),
            caveats=(*self.caveats, *hidden),
        )

    def with_threshold(self, cycles: int, name: str) -> PmuEvent:
        """Return a latency event with its threshold, under the name it was asked for."""
        return replace(self, name=name, aliases=(), threshold=cycles)


@dataclass(frozen=True)
class Pmu:
    """The performance monitoring unit of a simulated machine.

    Each hardware thread has `general` counters and the fixed ones, all of `width` bits; each
    node has `uncore` counters for events of memory and links. Where `same_modes` is set, all
    counters of a thread share their privilege bits. Events that do not fit take turns, a turn
    being `rotation_ns` of simulated time. A reading comes up to `read_jitter_ns` late. An
    interrupt is taken up to `skid` operations after the event that caused it.
    """

    name: str
    title: str
    general: int
    width: int
    events: Mapping[str, PmuEvent]
    fixed: tuple[str, ...] = ()
    uncore: int = 0
    modes: frozenset[Mode] = ALL_MODES
    same_modes: bool = False
    longest_threshold: int = 0
    skid: int = 0
    rotation_ns: int = 4_000_000
    read_jitter_ns: int = 0
    masks: bool = False
    presets: str = ""
    default_events: tuple[str, ...] = ()
    file: str = field(default="", compare=False)

    @cached_property
    def index(self) -> NameIndex:
        """The events by all their names."""
        return NameIndex(each.event for each in self.events.values())
