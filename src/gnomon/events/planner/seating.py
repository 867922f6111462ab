"""One set: can these events be counted together, and on which counter does each one sit?

`Need` is what an event needs of a unit to be counted, in the terms that the solver works in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UsageError
from gnomon.events.planner.pmu import FIXED, GENERAL_MASK, indices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gnomon.events.event import Request
    from gnomon.events.planner.pmu import Pmu


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
