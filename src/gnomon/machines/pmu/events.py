"""What a simulated PMU is: its counters, its events, and what each event is made of.

Everything a simulated machine counts is in its ledger, by name. An event of a PMU is a sum of
such counts, with the restrictions that the real counter had: few registers of few bits, some
events on some registers only, privilege levels, one latency threshold at a time.

Beside the names of the ledger there is `run_ns`, the time that threads ran, and there are some
that stand for the last level of caches that a machine has, such as `last_load_misses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING

from gnomon.events.event import Constraint, Event, Fields, Kind, Scope
from gnomon.events.names import NameIndex
from gnomon.machines.ledger import ALL_MODES, CLASSES, Mode, count_names, ledger_names
from gnomon.machines.program import Observed

if TYPE_CHECKING:
    from gnomon.machines.ledger import Ledger
    from gnomon.machines.machine import Machine


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


_PLURALS = {"load": "loads", "store": "stores", "fetch": "fetches"}
_LAST = tuple(f"last_{kind}_{what}" for kind in _PLURALS for what in ("references", "misses"))
_TIMES = frozenset({"cycles", "stall_cycles", "run_ns", "idle_cycles"})
_OF_THE_SYSTEM = frozenset({"context_switches", "migrations"})


@cache
def known_counts() -> Mapping[str, frozenset[str]]:
    """Return the names that an event of a thread, core, node or link may be made of."""
    names = {scope: frozenset(found) for scope, found in count_names().items()}
    return {
        **names,
        "thread": frozenset((*ledger_names(), "run_ns", *_LAST)),
        "core": names["core"] | {"idle_cycles"},
    }


@dataclass(frozen=True, slots=True)
class Recipe:
    """The count of the ledger to look at, and how much of it is a unit."""

    name: str
    divisor: float = 1.0


def recipe(name: str, machine: Machine) -> Recipe:
    """Return how a machine counts something."""
    if name == "run_ns":
        return Recipe("cycles", machine.core.clock_ghz)
    if name in _LAST:
        _, kind, what = name.split("_")
        level = len(machine.levels) - (what == "references")
        return Recipe(f"l{level}_{kind}_misses" if level else _PLURALS[kind])
    return Recipe(name)


def absent(name: str, machine: Machine) -> str:
    """Return why a machine has nothing of this kind to count, empty when it has."""
    for level, ordinal in ((2, "second"), (3, "third")):
        if name.startswith(f"l{level}_") and len(machine.levels) < level:
            return f"{machine.name} has no {ordinal} level of caches"
    buffers = machine.translation
    for start, buffer, words in (
        ("dtlb_", buffers.data, "translation buffer for data"),
        ("itlb_", buffers.instruction, "translation buffer for instructions"),
        ("stlb_", buffers.second, "second translation buffer"),
    ):
        if name.startswith(start) and buffer is None:
            return f"{machine.name} has no {words}"
    return ""


def needs_of(names: Iterable[str], *, latency: bool = False) -> frozenset[Observed]:
    """Return what a program must let the machine see for these counts to mean something.

    Time passes, and the system does its work, whatever is seen of a program.
    """
    found = {_need(name) for name in names if name not in _TIMES | _OF_THE_SYSTEM}
    return frozenset(found | ({Observed.REFERENCES} if latency else set()))


def _need(name: str) -> Observed:
    if name in ("instructions", "traps"):
        return Observed.INSTRUCTIONS
    if name in CLASSES or name.startswith("branch"):
        return Observed.CLASSES
    if name in ("fetches", *_LAST[4:]) or "_fetch_" in name or name.startswith("itlb"):
        return Observed.FETCHES
    return Observed.REFERENCES


def evaluate(
    event: PmuEvent, machine: Machine, ledger: Ledger, modes: Iterable[Mode] = ALL_MODES
) -> list[int]:
    """Return an event's count in each row of its scope: threads, cores, nodes or directions."""
    totals: list[int] = []
    for term in event.terms:
        how = recipe(term.name, machine)
        values = _column(ledger, event.scope, how.name, modes)
        if how.divisor != 1.0:
            values = [int(value / how.divisor) for value in values]
        totals = totals or [0] * len(values)
        totals = [total + term.sign * value for total, value in zip(totals, values, strict=True)]
    return totals


def _column(ledger: Ledger, scope: Scope, name: str, modes: Iterable[Mode]) -> list[int]:
    if scope is Scope.THREAD:
        return [int(value) for value in ledger[name][:, sorted(modes)].sum(axis=1)]
    if name == "idle_cycles":
        return [int(value) for value in ledger.idle_cycles]
    counts = ledger.machine
    table = {Scope.CORE: counts.cores, Scope.LINK: counts.links}.get(scope, counts.nodes)
    return [int(value) for value in table[name]]
