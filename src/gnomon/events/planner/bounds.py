"""How few batches can be enough: lower bounds that hold for every plan of one unit.

Three kinds of scarcity count. A taken-alone event fills a batch, as far as general
counters go, so those add up with what the others need. The others need places on
counters, and values in extra registers; for either, any set of places gives a bound: what
is confined to the set, over its size (Hall). `fewest_batches` finds the worst set.
`Problem` is the form of the task that bounds and solvers share.

All batches have the same counters, so without further ties an event that sits on counter
3 of one batch can sit on counter 3 of any other. How many batches are needed is then a
matter of amounts alone, a transport problem: so many events for each set of counters, so
many places on each counter. The same holds of extra registers and the values they must hold.

Dealing out is an edge colouring. An event that sits on a counter and uses an extra register
is an edge between the two, and a batch is a colour. Counters on one side, registers on the
other: the graph is bipartite, so by König's theorem as many colours are enough as edges meet
at the busiest counter or register. That is the bound, so a plan dealt out this way is minimal.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from gnomon.events.planner.pmu import FIXED, GENERAL_MASK, Matching, indices, seat
from gnomon.events.planner.reasons import counters_text, join, plural, registers_text

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from gnomon.events.planner.pmu import Demand, Need, Placed


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """Why no fewer batches are enough: `amount` events are confined to `places`.

    In every batch `taken` of the places go to anchors.
    """

    batches: int
    places: int = 0
    amount: int = 0
    taken: int = 0


def transport(
    supplies: Sequence[tuple[int, int]], capacity: Mapping[int, int]
) -> tuple[list[dict[int, int]], int]:
    """Distribute amounts over places, and return the distribution and what stands in the way.

    A supply is a set of places and an amount. The second value is 0 when all was
    distributed, else a set of places whose capacity is below what is confined to it.
    """
    left = dict(capacity)
    given: list[dict[int, int]] = [{} for _ in supplies]
    users: dict[int, set[int]] = {place: set() for place in capacity}
    for start, (_, amount) in enumerate(supplies):
        rest = amount
        while rest > 0:
            path, seen = _free_path(start, supplies, left, users)
            if not path:
                return given, seen
            # Along the path each supply passes its share of a place on to the next.
            step = min(rest, left[path[-1][1]])
            for (_, place), (giver, _) in pairwise(path):
                step = min(step, given[giver][place])
            left[path[-1][1]] -= step
            for supply, place in path:
                given[supply][place] = given[supply].get(place, 0) + step
                users[place].add(supply)
            for (_, place), (giver, _) in pairwise(path):
                given[giver][place] -= step
                if not given[giver][place]:
                    users[place].discard(giver)
            rest -= step
    return given, 0


def _free_path(
    start: int,
    supplies: Sequence[tuple[int, int]],
    left: Mapping[int, int],
    users: Mapping[int, set[int]],
) -> tuple[list[tuple[int, int]], int]:
    """Return a shortest chain of (supply, place) to a place with room, or the places seen."""
    seen = 0
    reached_by: dict[int, tuple[int, int]] = {}  # supply -> (supply before it, place between)
    queue = [start]
    known = {start}
    for supply in queue:
        new = supplies[supply][0] & ~seen
        seen |= new
        for place in indices(new):
            if left[place] > 0:
                path = [(supply, place)]
                while path[-1][0] != start:
                    path.append(reached_by[path[-1][0]])
                return path[::-1], 0
        for place in indices(new):
            for other in sorted(users[place]):
                if other not in known:
                    known.add(other)
                    reached_by[other] = (supply, place)
                    queue.append(other)
    return [], seen


def fewest_batches(
    supplies: Sequence[tuple[int, int]],
    every_batch: Sequence[int],
    spare: Mapping[int, int],
    places: int,
) -> Bottleneck:
    """Return the least number of batches in which all supplies find a place, and why.

    `every_batch` are the sets of places of anchors, one unit of each in every batch;
    `spare` are places that exist besides. By Hall's theorem the answer is the maximum, over
    sets of places, of what is confined to the set over the places left in it. Each failed
    distribution names a set that demands more batches, so few are tried.
    """
    found = Bottleneck(0)
    while True:
        batches = found.batches
        amounts = [*((mask, batches) for mask in every_batch), *supplies]
        capacity = {place: batches + spare.get(place, 0) for place in indices(places)}
        _, tight = transport(amounts, capacity)
        if not tight:
            return found
        confined = sum(amount for mask, amount in supplies if not mask & ~tight)
        taken = sum(not mask & ~tight for mask in every_batch)
        free = sum(spare.get(place, 0) for place in indices(tight))
        width = tight.bit_count() - taken
        if width <= 0:
            raise ValueError("something is confined to places that anchors fill")
        found = Bottleneck(-(-(confined - free) // width), tight, confined, taken)
        if found.batches <= batches:
            raise AssertionError("a tight set must demand more batches")


def colour_edges(edges: Sequence[tuple[Hashable, Hashable | None]], colours: int) -> list[int]:
    """Return a colour for each edge so that edges of one colour never meet.

    No node may have more edges than there are colours. A right end of None is a node of
    its own: the edge meets no other there.
    """
    full = (1 << colours) - 1
    used: dict[Hashable, int] = {}
    at: dict[tuple[Hashable, int], int] = {}
    result: list[int] = []
    ends = [(("left", left), None if right is None else ("right", right)) for left, right in edges]

    def paint(edge: int, colour: int) -> None:
        result[edge] = colour
        for node in ends[edge]:
            if node is not None:
                used[node] = used.get(node, 0) | 1 << colour
                at[node, colour] = edge

    def swap_path(node: Hashable, first: int, second: int) -> None:
        """Exchange two colours along the path that leaves the node by the first of them."""
        path = []
        here: Hashable | None = node
        colour = first
        while here is not None and (edge := at.get((here, colour))) is not None:
            path.append((edge, colour))
            left, right = ends[edge]
            here = right if here == left else left
            colour = first + second - colour
        for edge, old in path:
            for end in ends[edge]:
                if end is not None:
                    used[end] &= ~(1 << old)
                    del at[end, old]
        for edge, old in path:
            paint(edge, first + second - old)

    for edge, (left, right) in enumerate(ends):
        result.append(-1)
        free_left = full & ~used.get(left, 0)
        free_right = full if right is None else full & ~used.get(right, 0)
        if not (free_left and free_right):
            raise ValueError(f"a node of edge {edge} has more than {colours} edges")
        common = free_left & free_right
        if not common and right is not None:
            # The path from the right end cannot come back to the left one: it would have to
            # arrive there by the colour that is free there.
            common = free_left & -free_left
            swap_path(right, common.bit_length() - 1, (free_right & -free_right).bit_length() - 1)
        paint(edge, (common & -common).bit_length() - 1)
    return result


@dataclass(frozen=True, slots=True)
class Bound:
    """A number of batches that no plan can go below, and the reason in words."""

    batches: int
    reason: str


def mixed_bound(problem: Problem) -> Bound:
    """Return how many batches the events need that are not taken alone."""
    counters = _counter_bottleneck(problem)
    registers, names = _register_bottleneck(problem)
    if registers.batches > counters.batches:
        places = registers_text(names[i] for i in range(len(names)) if registers.places >> i & 1)
        return Bound(
            registers.batches,
            f"{plural(registers.amount, 'value')} must go through {places},"
            f" {registers.places.bit_count() - registers.taken} a batch",
        )
    if not counters.batches:
        return Bound(0, "")
    width = counters.places.bit_count() - counters.taken
    held = [a.request is None for a in problem.anchors if not a.counters & ~counters.places]
    beside = ["the anchors"] * (not all(held)) + ["the watchdog"] * any(held)
    left = f" beside {join(beside)}" if beside else ""
    return Bound(
        counters.batches,
        f"{plural(counters.amount, 'event')} can only be counted on"
        f" {counters_text(counters.places)}, {width} a batch{left}",
    )


def total_bound(problem: Problem, mixed: Bound) -> Bound:
    """Return how many batches all events need together."""
    alone = len(problem.alone)
    reasons = []
    if alone:
        verb = "event needs" if alone == 1 else "events each need"
        reasons.append(f"{alone} {verb} the general counters alone")
    if mixed.reason:
        reasons.append(mixed.reason)
    return Bound(alone + mixed.batches, "; ".join(reasons))


def _counter_bottleneck(problem: Problem) -> Bottleneck:
    supplies = Counter(problem.choices)
    anchors = [anchor.counters for anchor in problem.anchors]
    return fewest_batches(list(supplies.items()), anchors, problem.spare, problem.counters)


def _register_bottleneck(problem: Problem) -> tuple[Bottleneck, list[int]]:
    """Return the bound by extra registers and the register of each place in it.

    Events with the same value may share a register, but no more of them than one batch can
    seat; so a value takes a register in at least that many batches.
    """
    demands = [d for need in (*problem.rest, *problem.anchors) for d in need.demands]
    names = sorted({register for demand in demands for register in demand.registers})
    place = {register: index for index, register in enumerate(names)}
    pool = _pools(demands)
    held: dict[tuple[int, int], int] = {}
    wanted: dict[tuple[int, int], list[int]] = {}
    reach: dict[tuple[int, int], int] = {}
    for anchor in problem.anchors:
        for demand in anchor.demands:
            key = (pool[demand.registers[0]], demand.value)
            held[key] = held.get(key, 0) | _bits(demand, place)
    for need, counters in zip(problem.rest, problem.choices, strict=True):
        # On a fixed counter the event may run beside a taken-alone one: not counted here.
        if need.fixed and problem.alone:
            continue
        for demand in need.demands:
            key = (pool[demand.registers[0]], demand.value)
            if key not in held:
                wanted.setdefault(key, []).append(counters)
                reach[key] = reach.get(key, 0) | _bits(demand, place)
    supplies: Counter[int] = Counter()
    for key, masks in wanted.items():
        supplies[reach[key]] += -(-len(masks) // together(masks, problem.anchors))
    found = fewest_batches(list(supplies.items()), list(held.values()), {}, (1 << len(names)) - 1)
    return found, names


def together(masks: Sequence[int], anchors: Sequence[Need]) -> int:
    """Return how many events, given their counters, one batch can hold beside the anchors."""
    matching = Matching()
    for anchor in anchors:
        matching.add(anchor.counters)
    return sum(matching.add(mask) for mask in masks)


def _bits(demand: Demand, place: dict[int, int]) -> int:
    return sum(1 << place[register] for register in set(demand.registers))


def _pools(demands: Iterable[Demand]) -> dict[int, int]:
    """Return a pool number for each register; registers that one demand names share it."""
    pool: dict[int, int] = {}
    for demand in demands:
        joined = {pool[r] for r in demand.registers if r in pool}
        number = min(joined, default=min(demand.registers))
        pool.update({r: number for r, old in pool.items() if old in joined})
        pool.update(dict.fromkeys(demand.registers, number))
    return pool


@dataclass(frozen=True, slots=True)
class Problem:
    """Needs that each fit beside the anchors, sorted by how they can be placed.

    Every batch holds the anchors. Each of `alone` is a batch of its own, in which only
    fixed counters are left: `spare` tells how many of these batches leave each of them
    free. `rest` can be mixed at will in `counters`. `choices` are the counters of `rest`
    before a choice was made for those that could also be alone on a general counter.
    """

    counters: int
    anchors: tuple[Need, ...]
    alone: tuple[tuple[Placed, ...], ...]
    rest: tuple[Need, ...]
    choices: tuple[int, ...]
    spare: dict[int, int]


def settle_anchors(anchors: Sequence[Need]) -> tuple[tuple[Need, ...], int] | None:
    """Return the anchors with taken-alone ones settled, and the counters left to others.

    An anchor that is taken alone on a general counter leaves the others only fixed
    counters, in every batch. None means that the anchors do not fit together.
    """
    seats = seat(anchors)
    if seats is None:
        return None
    hogs = [p.need for p in seats if p.need.alone and p.counter < FIXED]
    left = ~GENERAL_MASK if hogs else -1
    settled = []
    for placed in seats:
        need = placed.need
        if need.alone:
            side = GENERAL_MASK if placed.counter < FIXED else ~GENERAL_MASK
            need = replace(need.within(side), alone=False)
        elif need.request is not None:
            need = need.within(left)
        settled.append(need)
    return tuple(settled), left


def make_problem(needs: Sequence[Need], anchors: tuple[Need, ...], counters: int) -> Problem:
    """Return the task of placing needs, each of which fits beside the anchors."""
    alone = []
    rest = []
    choices = []
    spare: Counter[int] = Counter()
    fixed = indices(counters & ~GENERAL_MASK)
    for need in needs:
        quiet = _quiet(need, anchors)
        if quiet is not None:
            rest.append(quiet)
            choices.append(need.counters)
            continue
        placed = seat([need.within(GENERAL_MASK), *anchors])
        if placed is None:
            raise ValueError(f"{need.label} does not fit beside the anchors")
        alone.append(tuple(placed))
        taken = {p.counter for p in placed}
        spare.update(counter for counter in fixed if counter not in taken)
    return Problem(counters, anchors, tuple(alone), tuple(rest), tuple(choices), dict(spare))


def _quiet(need: Need, anchors: tuple[Need, ...]) -> Need | None:
    """Return the need if it can be mixed with others, confined to where it can.

    A taken-alone event bothers nobody on a fixed counter, so it sits there when it can.
    """
    if not need.alone:
        return need
    quiet = replace(need.within(~GENERAL_MASK), alone=False)
    return quiet if quiet.counters and seat([quiet, *anchors]) is not None else None
