"""The solver for what the exact one leaves: events that must share extra registers.

Events that need registers are put into batches first, by rule of thumb. Everything else
then fills the places left by one bipartite matching over all batches at once, which for
that part is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.events.planner.bounds import together
from gnomon.events.planner.pmu import FIXED, indices
from gnomon.events.planner.seating import Placed, allot, seat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gnomon.events.planner.needs import Demand, Need
    from gnomon.events.planner.problem import Problem


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
