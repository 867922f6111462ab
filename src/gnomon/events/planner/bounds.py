"""How few batches can be enough: lower bounds that hold for every plan of one unit.

Three kinds of scarcity count. A taken-alone event fills a batch, as far as general
counters go, so those add up with what the others need. The others need places on
counters, and values in extra registers; for either, any set of places gives a bound: what
is confined to the set, over its size (Hall). `graphs.fewest_batches` finds the worst set.
`Problem` is the form of the task that bounds and solvers share.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon.events.planner.graphs import Bottleneck, fewest_batches
from gnomon.events.planner.pmu import FIXED, GENERAL_MASK, indices
from gnomon.events.planner.reasons import counters_text, join, plural, registers_text
from gnomon.events.planner.seating import Matching, seat

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gnomon.events.planner.seating import Demand, Need, Placed


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
