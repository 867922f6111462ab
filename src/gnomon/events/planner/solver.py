"""One unit: as few batches as possible for all its events, and a bound to show for it.

The exact solver takes amounts first, then an edge colouring that deals them out to
batches. What it leaves is packed: events that must share extra registers are put into
batches first, by rule of thumb. Everything else then fills the places left by one
bipartite matching over all batches at once, which for that part is exact.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

from gnomon.events.planner.bounds import (
    Bound,
    colour_edges,
    mixed_bound,
    together,
    total_bound,
    transport,
)
from gnomon.events.planner.pmu import FIXED, Placed, allot, indices, seat

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from gnomon.events.planner.bounds import Problem
    from gnomon.events.planner.pmu import Demand, Need


def solve(problem: Problem) -> tuple[list[list[Placed]], Bound]:
    """Return batches, each with its seating, and the lower bound on their number.

    Without events that share a value in an extra register the number equals the bound.
    """
    bound = mixed_bound(problem)
    # The number of events is always enough: each then has a batch of its own.
    for batches in count(bound.batches):
        found = deal(problem, batches)
        if found is None:
            found = pack(problem, batches)
        if found is not None:
            anchors = {anchor.request for anchor in problem.anchors}
            # Rules of thumb may leave a batch empty when they needed one more elsewhere.
            used = [b for b in found if any(placed.need.request not in anchors for placed in b)]
            return used, total_bound(problem, bound)
    raise AssertionError("unreachable")


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
    for (place, _), colour in zip(edges, colours, strict=True):
        mixed[colour].append(place)
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
    for place in placed:
        # What needs a register stays: beside a taken-alone event that may be in use.
        if load[place.counter] > batches and not place.need.demands and free.get(place.counter):
            free[place.counter].pop(0).append(place)
            load[place.counter] -= 1
        else:
            stay.append(place)
    return (alone, stay) if all(n <= batches for n in load.values()) else None


def _unfold(amounts: dict[int, int]) -> Iterable[int]:
    return (place for place in sorted(amounts) for _ in range(amounts[place]))


def pack(problem: Problem, batches: int) -> list[list[Placed]] | None:
    """Place all events in so many mixed batches, or return None when no way was found."""
    plain = [need for need in problem.rest if not need.demands]
    # Events with few counters to choose from first: the others can go around them.
    plain.sort(key=lambda need: need.counters.bit_count())
    for bundles in _bundlings(problem):
        bins = _place_bundles(bundles, problem, batches)
        if bins is None:
            continue
        slots = Slots(problem.counters, bins)
        if all(slots.add(need) for need in plain):
            return slots.result()
    return None


def _bundlings(problem: Problem) -> Iterator[list[list[Need]]]:
    """Yield ways to split events that want the same values into bundles, small ones first.

    A bundle is counted in one batch and shares its registers. Small bundles leave the most
    freedom, large ones need the fewest registers.
    """
    groups: dict[tuple[Demand, ...], list[Need]] = {}
    for need in problem.rest:
        if need.demands:
            groups.setdefault(need.demands, []).append(need)
    most = max(
        (together([n.counters for n in group], problem.anchors) for group in groups.values()),
        default=1,
    )
    for size in range(1, most + 1):
        bundles = [
            bundle for group in groups.values() for bundle in _split(group, size, problem.anchors)
        ]
        yield sorted(bundles, key=_difficulty)


def _difficulty(bundle: Sequence[Need]) -> tuple[int, int, int]:
    """Return a key that puts bundles first for which it is hard to find a batch."""
    return -len(bundle[0].demands), -len(bundle), bundle[0].counters.bit_count()


def _split(group: Sequence[Need], size: int, anchors: Sequence[Need]) -> list[list[Need]]:
    bundles: list[list[Need]] = []
    for need in sorted(group, key=lambda need: need.counters.bit_count()):
        for bundle in bundles:
            if len(bundle) < size and seat([*anchors, *bundle, need]) is not None:
                bundle.append(need)
                break
        else:
            bundles.append([need])
    return bundles


def _place_bundles(
    bundles: Sequence[Sequence[Need]], problem: Problem, batches: int
) -> list[list[Need]] | None:
    """Put each bundle into the emptiest batch that can take it, split up if none can."""
    bins = [[placed.need for placed in batch] for batch in problem.alone]
    bins += [list(problem.anchors) for _ in range(batches)]
    for bundle in bundles:
        if _drop(bins, bundle, len(problem.alone)):
            continue
        if not all(_drop(bins, [need], len(problem.alone)) for need in bundle):
            return None
    return bins


def _drop(bins: list[list[Need]], bundle: Sequence[Need], alone: int) -> bool:
    """Add a bundle to the best of the bins, of which so many hold a taken-alone event."""
    wanted = set(bundle[0].demands)

    def rank(position: int) -> tuple[int, bool, int]:
        # A batch that holds the values already is best: there they cost no register. Next
        # are fixed counters beside a taken-alone event, which few others can use.
        held = {demand for need in bins[position] for demand in need.demands}
        return -len(wanted & held), position >= alone, len(bins[position])

    usable = range(0 if all(need.fixed for need in bundle) else alone, len(bins))
    for held in (bins[position] for position in sorted(usable, key=rank)):
        if seat([*held, *bundle]) is not None:
            held.extend(bundle)
            return True
    return False


class Slots:
    """The places (batch, counter) of all batches, and a matching of events to them.

    Events that came with a batch stay in it, though not always on the same counter; the
    others may move between batches to let one more in.
    """

    def __init__(self, counters: int, bins: Sequence[Sequence[Need]]) -> None:
        self._batches = len(bins)
        self._needs: list[Need] = []
        self._home: list[int | None] = []
        self._slot: list[tuple[int, int]] = []
        self._owner: dict[tuple[int, int], int] = {}
        self._free: dict[int, set[int]] = {counter: set() for counter in indices(counters)}
        for batch, needs in enumerate(bins):
            seats = seat(needs)
            if seats is None:
                raise ValueError("a batch was filled with events that do not fit")
            alone = any(need.alone for need in needs)
            for counter, free in self._free.items():
                if counter >= FIXED or not alone:
                    free.add(batch)
            for placed in seats:
                self._needs.append(placed.need)
                self._home.append(batch)
                self._slot.append((batch, placed.counter))
                # Beside a taken-alone event the general counters are nobody's: neither free
                # nor to be had from who sits there.
                if placed.counter >= FIXED or not alone:
                    self._take(len(self._needs) - 1, (batch, placed.counter))

    def add(self, need: Need) -> bool:
        """Add an event that may sit in any batch; tell whether it found a place."""
        self._needs.append(need)
        self._home.append(None)
        start = len(self._needs) - 1
        self._slot.append((-1, -1))
        reached_by: dict[tuple[int, int], int] = {}
        queue = [start]
        for event in queue:
            for counter in indices(self._needs[event].counters):
                slot = self._free_slot(event, counter)
                if slot is not None:
                    self._move_along(event, slot, start, reached_by)
                    return True
            for slot in self._slots_of(event):
                if slot not in reached_by and slot in self._owner:
                    reached_by[slot] = event
                    queue.append(self._owner[slot])
        return False

    def result(self) -> list[list[Placed]]:
        """Return the batches as they stand."""
        members: list[list[tuple[Need, int]]] = [[] for _ in range(self._batches)]
        for need, (batch, counter) in zip(self._needs, self._slot, strict=True):
            members[batch].append((need, counter))
        batches = []
        for found in members:
            registers = allot(demand for need, _ in found for demand in need.demands)
            if registers is None:
                raise ValueError("a batch was filled with values that do not fit")
            batches.append(
                [
                    Placed(need, counter, tuple(registers[demand] for demand in need.demands))
                    for need, counter in found
                ]
            )
        return batches

    def _free_slot(self, event: int, counter: int) -> tuple[int, int] | None:
        free = self._free[counter]
        home = self._home[event]
        if home is not None:
            return (home, counter) if home in free else None
        return (min(free), counter) if free else None

    def _slots_of(self, event: int) -> Iterator[tuple[int, int]]:
        home = self._home[event]
        batches = range(self._batches) if home is None else range(home, home + 1)
        for counter in indices(self._needs[event].counters):
            for batch in batches:
                yield batch, counter

    def _take(self, event: int, slot: tuple[int, int]) -> None:
        self._slot[event] = slot
        self._owner[slot] = event
        self._free[slot[1]].discard(slot[0])

    def _move_along(
        self, event: int, slot: tuple[int, int], start: int, reached_by: dict[tuple[int, int], int]
    ) -> None:
        while True:
            left = self._slot[event]
            self._take(event, slot)
            if event == start:
                return
            slot, event = left, reached_by[left]
