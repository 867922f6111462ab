"""What a unit offers, counters and who else holds some of them, and which events can sit there.

`route` says which unit counts an event. `Need` is what an event needs of a unit to be counted, in
the terms that the solver works in; `seat` says whether events can be counted together, and on which
counter each one sits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UsageError
from gnomon.events.event import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gnomon.events.event import Event, Request

FIXED = 64
"""Counter sets are bit sets: general counter n is bit n, fixed counter n is bit FIXED + n."""

GENERAL_MASK = (1 << FIXED) - 1


class Watchdog(StrEnum):
    """Which counter the kernel's lockup detector holds while it is on.

    The detector counts cycles. Linux seats it like any other event: on Intel it may sit
    on the fixed cycles counter or on a general one (`EITHER`), on AMD there are only
    general ones (`GENERAL`). `FIXED` is for a unit that keeps it where it is.
    """

    NONE = "none"
    GENERAL = "general"
    FIXED = "fixed"
    EITHER = "either"


class Counter(NamedTuple):
    """One counter register of a unit."""

    number: int
    fixed: bool = False

    def __str__(self) -> str:
        return f"{'fixed ' if self.fixed else ''}counter {self.number}"

    @property
    def bit(self) -> int:
        """The counter as a one-element counter set."""
        return 1 << (self.number + FIXED * self.fixed)

    @classmethod
    def of_index(cls, index: int) -> Counter:
        """Return the counter whose bit in a counter set has this index."""
        return cls(index % FIXED, index >= FIXED)


@dataclass(frozen=True, slots=True)
class Pmu:
    """A performance monitoring unit, as far as deciding what fits on it needs.

    `general` is the number of general counters of a core with all of them usable, or None
    for a unit without a limit, as the kernel's software events. `smt_halved` says that
    hardware threads share them, so that half are left (Haswell with hyper-threading: 4 of
    8). `width` is in bits. `cycles` is the fixed counter that counts cycles, which the
    watchdog takes. On a unit with `same_modes` all events of a set must count at the same
    privilege levels (UltraSPARC T2: one set of mode bits for both counters).

    Extra registers are not described here: an event names those that can carry its extra
    value, and each register holds one value at a time.
    """

    name: str
    general: int | None
    fixed: int = 0
    width: int = 48
    watchdog: Watchdog = Watchdog.NONE
    cycles: int = 1
    smt_halved: bool = False
    same_modes: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("a performance monitoring unit needs a name")
        self._check_range("general", 0 if self.general is None else self.general, 0, FIXED)
        self._check_range("fixed", self.fixed, 0, FIXED)
        self._check_range("width", self.width, 1, 64)
        if self.watchdog not in tuple(Watchdog):
            raise UsageError(
                f"{self.name}: watchdog is '{self.watchdog}', but must be one of"
                f" {', '.join(Watchdog)}"
            )
        if self.watchdog is Watchdog.FIXED and not 0 <= self.cycles < self.fixed:
            raise UsageError(
                f"{self.name}: the watchdog cannot hold fixed counter {self.cycles}:"
                f" there are {self.fixed} fixed counters"
            )
        if self.watchdog is not Watchdog.NONE and not self.watchdog_mask:
            raise UsageError(f"{self.name}: there is no counter for the watchdog to hold")

    def _check_range(self, field: str, value: int, low: int, high: int) -> None:
        if not low <= value <= high:
            raise UsageError(
                f"{self.name}: {field} is {value}, but must be between {low} and {high}"
            )

    @property
    def unlimited(self) -> bool:
        """Whether any number of events can be counted together."""
        return self.general is None

    @property
    def available(self) -> int:
        """How many general counters one hardware thread can use."""
        total = self.general or 0
        return total // 2 if self.smt_halved else total

    @property
    def general_mask(self) -> int:
        """The usable general counters as a counter set."""
        return (1 << self.available) - 1

    @property
    def counters_mask(self) -> int:
        """All usable counters, general and fixed, as a counter set."""
        return self.general_mask | ((1 << self.fixed) - 1) << FIXED

    @property
    def watchdog_mask(self) -> int:
        """The counters that the watchdog can sit on; empty when there is no watchdog."""
        cycles = (1 << self.cycles) << FIXED & self.counters_mask if self.cycles >= 0 else 0
        return {
            Watchdog.NONE: 0,
            Watchdog.GENERAL: self.general_mask,
            Watchdog.FIXED: cycles,
            Watchdog.EITHER: self.general_mask | cycles,
        }[self.watchdog]


SOFTWARE = Pmu("software", general=None)
"""Events that the kernel counts in memory: as many at once as anyone likes."""

BREAKPOINT = Pmu("breakpoint", general=4)
"""Debug registers of x86; pass a unit of the same name for a processor with more."""


def indices(mask: int) -> list[int]:
    """Return the counter indices in a counter set, fixed counters first, then lowest first.

    The order is one of preference: few events can use a fixed counter.
    """
    found = []
    for part in (mask & ~GENERAL_MASK, mask & GENERAL_MASK):
        rest = part
        while rest:
            low = rest & -rest
            found.append(low.bit_length() - 1)
            rest ^= low
    return found


_CORE = frozenset({Kind.HARDWARE, Kind.CACHE, Kind.RAW})
_UNCOUNTED = frozenset({Kind.SOFTWARE, Kind.TRACEPOINT, Kind.SYNTHETIC})

# Units of the kernel whose events each have a counter or a variable of their own.
_FREE_RUNNING = ("software", "tracepoint", "kprobe", "uprobe", "msr", "power", "cstate_")


@dataclass(frozen=True, slots=True)
class Routed:
    """Requests by unit, and those that belong to no unit known here, with the reason."""

    units: tuple[tuple[Pmu, tuple[Request, ...]], ...]
    lost: tuple[tuple[Request, str], ...]


def route(requests: Sequence[Request], pmus: Sequence[Pmu]) -> Routed:
    """Sort requests by the unit that counts them, in the order of the units."""
    if not pmus:
        raise UsageError("there is no performance monitoring unit to plan for")
    known = {pmu.name: pmu for pmu in pmus}
    if len(known) < len(pmus):
        raise UsageError("two performance monitoring units have the same name")
    found: dict[Pmu, list[Request]] = {pmu: [] for pmu in pmus}
    lost = []
    for request in requests:
        pmu = _unit_of(request.event, known, pmus[0])
        if pmu is None:
            name = request.event.encoding.pmu if request.event.encoding else "its unit"
            lost.append((request, f"nothing is known of the counters of {name}"))
        else:
            found.setdefault(pmu, []).append(request)
    return Routed(tuple((pmu, tuple(rs)) for pmu, rs in found.items() if rs), tuple(lost))


def _unit_of(event: Event, known: dict[str, Pmu], core: Pmu) -> Pmu | None:
    name = event.encoding.pmu if event.encoding else ""
    if name in known:
        return known[name]
    if event.kind in _UNCOUNTED or name.startswith(_FREE_RUNNING) or "free_running" in name:
        return known.get(SOFTWARE.name, SOFTWARE)
    if event.kind is Kind.BREAKPOINT:
        return known.get(BREAKPOINT.name, BREAKPOINT)
    return core if event.kind in _CORE or not name else None


class Placed(NamedTuple):
    """A need with the index of the counter that it sits on and the registers that serve it."""

    need: Need
    counter: int
    registers: tuple[int, ...] = ()


class Matching:
    """A bipartite matching of events to counters that grows by augmenting paths.

    An event that was matched stays matched, though not always on the same counter, so the
    order of adding is an order of priority.
    """

    def __init__(self) -> None:
        self.seats: list[int] = []
        self._masks: list[int] = []
        self._owner: dict[int, int] = {}
        self._taken = 0
        self.blocked: tuple[list[int], int] = ([], 0)

    def add(self, mask: int) -> bool:
        """Add an event that these counters can hold; tell whether it found a counter.

        When it did not, `blocked` holds events, this one among them, and the counters that
        they are confined to: one fewer than the events, and any event less would fit (a
        minimal violator of Hall's condition).
        """
        self._masks.append(mask)
        self.seats.append(-1)
        queue = [len(self._masks) - 1]
        reached_by: dict[int, int] = {}
        seen = 0
        for event in queue:
            new = self._masks[event] & ~seen
            free = new & ~self._taken
            if free:
                self._move_along(event, indices(free)[0], reached_by)
                return True
            seen |= new
            for counter in indices(new):
                reached_by[counter] = event
                queue.append(self._owner[counter])
        self.blocked = (queue, seen)
        return False

    def _move_along(self, event: int, counter: int, reached_by: dict[int, int]) -> None:
        self._taken |= 1 << counter
        while True:
            left = self.seats[event]
            self.seats[event] = counter
            self._owner[counter] = event
            if left < 0:
                return
            counter, event = left, reached_by[left]


def seat(needs: Sequence[Need]) -> list[Placed] | None:
    """Return where each event sits when all are counted together, None when they do not fit."""
    registers = allot(demand for need in needs for demand in need.demands)
    if registers is None:
        return None
    for masks in layouts(needs):
        matching = Matching()
        if all(matching.add(mask) for mask in masks):
            return [
                Placed(need, counter, tuple(registers[demand] for demand in need.demands))
                for need, counter in zip(needs, matching.seats, strict=True)
            ]
    return None


def layouts(needs: Sequence[Need]) -> Iterator[list[int]]:
    """Yield the counters left to each need, once for each way to keep taken-alone events alone.

    Intel's lists define TakenAlone as "the remaining programmable counters are not
    available to count any other events": the fixed counters are, and an event that sits on
    a fixed counter itself is in nobody's way. The watchdog is exempt: it runs whatever we
    count, so holding it to the rule would only forbid these events altogether.
    """
    alone = [position for position, need in enumerate(needs) if need.alone]
    if not alone:
        yield [need.counters for need in needs]
        return
    yield [need.fixed if need.alone else need.counters for need in needs]
    for chosen in alone:
        masks = [need.fixed for need in needs]
        masks[chosen] = needs[chosen].general
        watchdog = [position for position, need in enumerate(needs) if need.request is None]
        # Beside a taken-alone event the watchdog costs nothing on a general counter.
        for allowed in (GENERAL_MASK, -1) if watchdog else (-1,):
            for position in watchdog:
                masks[position] = needs[position].counters & allowed
            yield list(masks)


def allot(demands: Iterable[Demand]) -> dict[Demand, int] | None:
    """Return a register for each demand so that no register holds two values, or None.

    As in the kernel, events that want the same value share a register, and one that finds
    its register taken tries the alternatives. Unlike the kernel this tries all choices
    that differ: registers that the same demands name are alike.
    """
    todo = sorted(dict.fromkeys(demands), key=lambda demand: len(demand.registers))
    kind: dict[int, int] = {}
    for position, demand in enumerate(todo):
        for register in set(demand.registers):
            kind[register] = kind.get(register, 0) | 1 << position
    held: dict[int, int] = {}
    chosen: dict[Demand, int] = {}

    def place(position: int) -> bool:
        if position == len(todo):
            return True
        demand = todo[position]
        # A register that has the value already costs nothing, so no other choice is better.
        for register in demand.registers:
            if held.get(register) == demand.value:
                chosen[demand] = register
                return place(position + 1)
        free = {kind[register]: register for register in demand.registers if register not in held}
        for register in free.values():
            chosen[demand] = register
            held[register] = demand.value
            if place(position + 1):
                return True
            del held[register]
        return False

    return chosen if place(0) else None


LDLAT_MSR = 0x3F6
"""The register that holds the load-latency threshold on Intel (Sterz, section 2)."""


class Demand(NamedTuple):
    """A value that one of several extra registers must hold while the event counts."""

    registers: tuple[int, ...]
    value: int


@dataclass(frozen=True, slots=True)
class Need:
    """What one event needs; `request` is None for the watchdog, which is no event of ours.

    `counters` is the set of counters that exist on the unit and can hold the event.
    """

    request: Request | None
    counters: int
    alone: bool = False
    demands: tuple[Demand, ...] = ()

    @property
    def label(self) -> str:
        """The name that a user reads."""
        return self.request.label if self.request else "the watchdog"

    @property
    def general(self) -> int:
        """The general counters among those that can hold the event."""
        return self.counters & GENERAL_MASK

    @property
    def fixed(self) -> int:
        """The fixed counters among those that can hold the event."""
        return self.counters & ~GENERAL_MASK

    def within(self, counters: int) -> Need:
        """Return the same need, confined to these counters."""
        return replace(self, counters=self.counters & counters)


def need_of(request: Request, pmu: Pmu) -> Need:
    """Return what a request needs of a unit, with counters that do not exist left out."""
    constraint = request.event.constraint
    if constraint.counters is not None and constraint.counters < 0:
        raise UsageError(f"{request.label}: a set of counters cannot be {constraint.counters}")
    if constraint.fixed is not None and not 0 <= constraint.fixed < FIXED:
        raise UsageError(f"{request.label}: there can be no fixed counter {constraint.fixed}")
    general = pmu.general_mask
    counters = general if constraint.counters is None else constraint.counters & general
    if constraint.fixed is not None:
        counters |= 1 << (FIXED + constraint.fixed)
    return Need(request, counters & pmu.counters_mask, constraint.taken_alone, _demands_of(request))


def watchdog_of(pmu: Pmu) -> Need | None:
    """Return what the watchdog takes away from a unit, if it is on."""
    return Need(None, pmu.watchdog_mask) if pmu.watchdog_mask else None


def _demands_of(request: Request) -> tuple[Demand, ...]:
    fields = request.event.fields
    if fields is None:
        return ()
    demands = []
    if fields.ldlat is not None:
        demands.append(Demand((LDLAT_MSR,), fields.ldlat))
    # A list that spells the threshold both ways means one register, not two values.
    msrs = tuple(m for m in dict.fromkeys(fields.msrs) if fields.ldlat is None or m != LDLAT_MSR)
    if msrs:
        demands.append(Demand(msrs, fields.msr_value))
    return tuple(demands)
