"""The exact solver: amounts first, then an edge colouring that deals them out to batches."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gnomon.events.planner.colouring import colour_edges
from gnomon.events.planner.flow import transport
from gnomon.events.planner.pmu import FIXED, indices
from gnomon.events.planner.seating import Placed

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from gnomon.events.planner.needs import Need
    from gnomon.events.planner.problem import Problem


def deal(problem: Problem, batches: int) -> list[list[Placed]] | None:
    """Place all events in so many mixed batches, beside those of taken-alone events.

    This always works when the amounts do, but it knows nothing of sharing: every event has
    its extra register to itself. None means that sharing, or an event that needs several
    registers at once, must be dealt with in another way.
    """
    if any(a.demands for a in problem.anchors) or any(len(n.demands) > 1 for n in problem.rest):
        return None
    registers = _assign_registers(problem.rest, batches)
    seats = _assign_counters(problem, batches)
    if registers is None or seats is None:
        return None
    counters, anchor_counters = seats
    placed = [
        Placed(need, counter, registers.get(position, ()))
        for position, (need, counter) in enumerate(zip(problem.rest, counters, strict=True))
    ]
    beside = _move_beside_alone(problem, placed, anchor_counters, batches)
    if beside is None:
        return None
    alone, placed = beside
    edges: list[tuple[Placed, Hashable | None]] = [
        (Placed(anchor, counter), ("anchor", position))
        for position, anchor in enumerate(problem.anchors)
        for counter in anchor_counters[position]
    ]
    edges += [(p, ("register", p.registers[0]) if p.registers else None) for p in placed]
    mixed: list[list[Placed]] = [[] for _ in range(batches)]
    colours = colour_edges([(p.counter, right) for p, right in edges], batches)
    for (seat, _), colour in zip(edges, colours, strict=True):
        mixed[colour].append(seat)
    return alone + mixed


def _assign_registers(needs: Sequence[Need], batches: int) -> dict[int, tuple[int, ...]] | None:
    """Return a register for each event that needs one, none used more often than batches."""
    users: dict[int, list[int]] = {}
    for position, need in enumerate(needs):
        for demand in need.demands:
            users.setdefault(sum(1 << r for r in set(demand.registers)), []).append(position)
    capacity = {r: batches for mask in users for r in indices(mask)}
    given, tight = transport([(mask, len(found)) for mask, found in users.items()], capacity)
    if tight:
        return None
    return {
        position: (register,)
        for found, amounts in zip(users.values(), given, strict=True)
        for position, register in zip(found, _unfold(amounts), strict=True)
    }


def _assign_counters(problem: Problem, batches: int) -> tuple[list[int], list[list[int]]] | None:
    """Return a counter for each event, and for each anchor one counter a batch."""
    users: dict[int, list[int]] = {}
    for position, need in enumerate(problem.rest):
        users.setdefault(need.counters, []).append(position)
    supplies = [(anchor.counters, batches) for anchor in problem.anchors]
    supplies += [(mask, len(found)) for mask, found in users.items()]
    capacity = {c: batches + problem.spare.get(c, 0) for c in indices(problem.counters)}
    given, tight = transport(supplies, capacity)
    if tight:
        return None
    first = len(problem.anchors)
    counters = [0] * len(problem.rest)
    for found, amounts in zip(users.values(), given[first:], strict=True):
        for position, counter in zip(found, _unfold(amounts), strict=True):
            counters[position] = counter
    return counters, [list(_unfold(amounts)) for amounts in given[:first]]


def _move_beside_alone(
    problem: Problem, placed: Sequence[Placed], anchors: Sequence[Sequence[int]], batches: int
) -> tuple[list[list[Placed]], list[Placed]] | None:
    """Move what a fixed counter holds beyond the mixed batches beside taken-alone events."""
    load = Counter(p.counter for p in placed)
    load.update(counter for counters in anchors for counter in counters)
    alone = [list(batch) for batch in problem.alone]
    free = {
        counter: [batch for batch in alone if all(p.counter != counter for p in batch)]
        for counter in load
        if counter >= FIXED
    }
    stay = []
    for seat in placed:
        # What needs a register stays: beside a taken-alone event that may be in use.
        if load[seat.counter] > batches and not seat.need.demands and free.get(seat.counter):
            free[seat.counter].pop(0).append(seat)
            load[seat.counter] -= 1
        else:
            stay.append(seat)
    return (alone, stay) if all(n <= batches for n in load.values()) else None


def _unfold(amounts: dict[int, int]) -> Iterable[int]:
    return (place for place in sorted(amounts) for _ in range(amounts[place]))
