"""Plans on random machines, held against an obvious checker and an exhaustive search."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.events.event import Constraint, Event, Fields, Modifiers, Request
from gnomon.events.planner import Counter, Pmu, Watchdog, explain_fit, plan
from gnomon.events.planner.bounds import colour_edges, transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gnomon.events.planner import Batch, Plan

Choice = tuple[Request, Counter, tuple[tuple[int, int], ...]]
"""A request, the counter that it sits on, and the registers with the values they hold."""


# The checker: what one set must obey, straight from the fields of the events.


def counters_of(request: Request, pmu: Pmu) -> Iterator[Counter]:
    total = pmu.general or 0
    usable = total // 2 if pmu.smt_halved else total
    constraint = request.event.constraint
    for number in range(usable):
        if constraint.counters is None or constraint.counters >> number & 1:
            yield Counter(number)
    if constraint.fixed is not None and constraint.fixed < pmu.fixed:
        yield Counter(constraint.fixed, fixed=True)


def values_of(request: Request) -> list[tuple[tuple[int, ...], int]]:
    fields = request.event.fields
    if fields is None:
        return []
    wanted = [(fields.msrs, fields.msr_value)] if fields.msrs else []
    return wanted if fields.ldlat is None else [*wanted, ((0x3F6,), fields.ldlat)]


def watchdog_seats(pmu: Pmu) -> list[Counter | None]:
    total = pmu.general or 0
    general: list[Counter | None] = [Counter(n) for n in range(total // (1 + pmu.smt_halved))]
    fixed: list[Counter | None] = [Counter(pmu.cycles, fixed=True)] * (pmu.cycles < pmu.fixed)
    match pmu.watchdog:
        case Watchdog.NONE:
            return [None]
        case Watchdog.GENERAL:
            return general
        case Watchdog.FIXED:
            return fixed
        case Watchdog.EITHER:
            return general + fixed


def is_valid(seating: Sequence[Choice]) -> bool:
    """Tell whether nobody sits on another's counter, register or right to be alone."""
    counters = [counter for _, counter, _ in seating]
    if len(set(counters)) < len(counters):
        return False
    held: dict[int, int] = {}
    for _, _, registers in seating:
        for register, value in registers:
            if held.setdefault(register, value) != value:
                return False
    on_general = [request for request, counter, _ in seating if not counter.fixed]
    alone = any(request.event.constraint.taken_alone for request in on_general)
    return not alone or len(on_general) == 1


def same_modes(requests: Sequence[Request]) -> bool:
    modifiers = [request.modifiers for request in requests]
    return len({(m.user, m.kernel, m.hypervisor) for m in modifiers}) < 2


def check_batch(batch: Batch, pmu: Pmu) -> None:
    """Fail unless the seats of a batch prove that its events fit together."""
    seating = []
    for seat in batch.seats:
        assert seat.counter in set(counters_of(seat.request, pmu))
        assert seat.counter is not None
        wanted = {register: value for names, value in values_of(seat.request) for register in names}
        assert len(seat.registers) == len(values_of(seat.request))
        registers = tuple((register, wanted[register]) for register in seat.registers)
        seating.append((seat.request, seat.counter, registers))
    assert is_valid(seating)
    taken = {counter for _, counter, _ in seating}
    assert any(seat not in taken for seat in watchdog_seats(pmu))
    assert not pmu.same_modes or same_modes(batch.requests)
    exclusive = any(request.modifiers.exclusive for request in batch.requests)
    assert not exclusive or len(batch.requests) == 1


# The exhaustive search: every seating of every set, and every partition into sets.


def fits(requests: Sequence[Request], pmu: Pmu) -> bool:
    if pmu.same_modes and not same_modes(requests):
        return False
    if any(request.modifiers.exclusive for request in requests) and len(requests) > 1:
        return False
    choices: list[list[Choice]] = []
    for request in requests:
        wanted = values_of(request)
        registers = [
            tuple(zip(chosen, (value for _, value in wanted), strict=True))
            for chosen in product(*(registers for registers, _ in wanted))
        ]
        choices.append([(request, c, r) for c in counters_of(request, pmu) for r in registers])
    return any(
        watchdog not in {counter for _, counter, _ in seating}
        for watchdog in watchdog_seats(pmu)
        for seating in _prefix_valid(choices)
    )


def _prefix_valid(choices: Sequence[Sequence[Choice]]) -> Iterator[list[Choice]]:
    if not choices:
        yield []
        return
    for head in _prefix_valid(choices[:-1]):
        for last in choices[-1]:
            if is_valid([*head, last]):
                yield [*head, last]


def optimum(requests: Sequence[Request], anchors: Sequence[Request], pmu: Pmu) -> int:
    """Return the least number of sets that the requests can be split into."""

    @cache
    def one_batch(members: int) -> bool:
        chosen = [r for i, r in enumerate(requests) if members >> i & 1]
        return fits([*anchors, *chosen], pmu)

    @cache
    def fewest(members: int) -> int:
        if not members:
            return 0
        first = members & -members
        rest = members ^ first
        best = len(requests) + 1
        part = rest
        while True:
            if one_batch(part | first):
                best = min(best, 1 + fewest(rest ^ part))
            if not part:
                return best
            part = (part - 1) & rest

    return fewest((1 << len(requests)) - 1)


# Random machines and requests. Small numbers make clashes, and so hard cases, frequent.


@st.composite
def pmus(draw: st.DrawFn, most: int = 4) -> Pmu:
    fixed = draw(st.integers(0, 3))
    dogs = list(Watchdog) if fixed > 1 else [Watchdog.NONE, Watchdog.GENERAL]
    return Pmu(
        "cpu",
        general=draw(st.integers(2, most)),
        fixed=fixed,
        watchdog=draw(st.sampled_from(dogs)),
        smt_halved=draw(st.booleans()),
        same_modes=draw(st.integers(0, 4)) == 0,
    )


REGISTERS = [(0x1A6, 0x1A7), (0x1A6, 0x1A7), (0x1A6,), (0x3F7,), (0x1A7, 0x3F7)]


@st.composite
def constraints(draw: st.DrawFn, soft: bool = True) -> Constraint:
    counters = draw(st.none() | st.integers(0, 15))
    fixed = draw(st.none() | st.none() | st.integers(0, 3))
    alone = draw(st.integers(0, 5)) == 0 and (soft or fixed is None)
    return Constraint(counters, fixed, alone)


@st.composite
def extras(draw: st.DrawFn) -> Fields | None:
    kind = draw(st.sampled_from(["plain", "plain", "register", "latency", "both"]))
    fields = Fields(1)
    if kind in ("register", "both"):
        fields = Fields(1, msrs=draw(st.sampled_from(REGISTERS)), msr_value=draw(st.integers(0, 3)))
    if kind in ("latency", "both"):
        threshold = draw(st.sampled_from([3, 30]))
        fields = Fields(1, msrs=fields.msrs, msr_value=fields.msr_value, ldlat=threshold)
    return None if kind == "plain" else fields


@st.composite
def request_lists(
    draw: st.DrawFn, most: int, prefix: str = "e", soft: bool = True
) -> list[Request]:
    kinds = st.tuples(constraints(soft), extras(), st.integers(0, 12))
    modes = {0: Modifiers(kernel=False), 1: Modifiers(exclusive=True)}
    return [
        Request(Event(f"{prefix}{i}", constraint=c, fields=f), modes.get(mode, Modifiers()))
        for i, (c, f, mode) in enumerate(draw(st.lists(kinds, max_size=most)))
    ]


def plan_or_assume(requests: Sequence[Request], pmu: Pmu, anchors: Sequence[Request]) -> Plan:
    try:
        return plan(requests, pmu, anchors=anchors)
    except UsageError:
        assert not fits(anchors, pmu)
        assume(False)
        raise


def check_plan(found: Plan, requests: Sequence[Request], anchors: Sequence[Request]) -> None:
    """Fail unless every request is counted once and the anchors always."""
    for batch in found.batches:
        assert batch.requests[: len(anchors)] == tuple(anchors)
    counted = [r for batch in found.batches for r in batch.requests if r not in anchors]
    missed = [miss.request for miss in found.unplaceable]
    assert all(miss.reason for miss in found.unplaceable)
    assert sorted(r.label for r in [*counted, *missed]) == sorted(r.label for r in requests)


@settings(deadline=None, max_examples=200)
@given(request_lists(most=30), pmus(most=8), request_lists(most=2, prefix="anchor"))
def test_every_batch_is_proved_feasible_and_every_request_counted_once(
    requests: list[Request], pmu: Pmu, anchors: list[Request]
) -> None:
    found = plan_or_assume(requests, pmu, anchors)
    check_plan(found, requests, anchors)
    for batch in found.batches:
        check_batch(batch, pmu)
    assert found.lower_bound <= len(found.batches)


@settings(deadline=None, max_examples=200)
@given(request_lists(most=6), pmus(), request_lists(most=2, prefix="anchor", soft=False))
def test_the_bound_holds_and_plans_are_within_one_of_the_optimum(
    requests: list[Request], pmu: Pmu, anchors: list[Request]
) -> None:
    found = plan_or_assume(requests, pmu, anchors)
    missed = {miss.request for miss in found.unplaceable}
    assert not any(fits([*anchors, request], pmu) for request in missed)
    placed = [request for request in requests if request not in missed]
    best = optimum(placed, anchors, pmu)
    event(f"batches beyond the optimum: {len(found.batches) - best}")
    assert found.lower_bound <= best <= len(found.batches) <= best + 1


@st.composite
def unshared_lists(draw: st.DrawFn, most: int) -> list[Request]:
    """Requests as real lists have them: every value in an extra register is another one."""
    drawn = draw(st.lists(st.tuples(constraints(soft=False), st.booleans()), max_size=most))
    return [
        Request(
            Event(
                f"e{value}",
                constraint=constraint,
                fields=Fields(1, msrs=(0x1A6, 0x1A7), msr_value=value)
                if needs_register and constraint.fixed is None
                else None,
            )
        )
        for value, (constraint, needs_register) in enumerate(drawn)
    ]


@settings(deadline=None, max_examples=200)
@given(unshared_lists(most=40), pmus(most=8))
def test_plans_without_shared_registers_reach_the_bound(requests: list[Request], pmu: Pmu) -> None:
    found = plan(requests, pmu)
    check_plan(found, requests, [])
    for batch in found.batches:
        check_batch(batch, pmu)
    assert found.minimal


@settings(deadline=None, max_examples=200)
@given(request_lists(most=5), pmus())
def test_explain_fit_agrees_with_the_exhaustive_search(requests: list[Request], pmu: Pmu) -> None:
    assume(requests)
    answer = explain_fit(requests, pmu)
    assert answer.fits == fits(requests, pmu)
    if answer.batch is not None:
        assert set(answer.batch.requests) == set(requests)
        check_batch(answer.batch, pmu)
    else:
        assert answer.reasons
        assert answer.batches != 1


@settings(deadline=None, max_examples=100)
@given(request_lists(most=20), pmus(), st.integers())
def test_the_same_input_gives_the_same_plan_and_a_seed_only_its_order(
    requests: list[Request], pmu: Pmu, seed: int
) -> None:
    first = plan(requests, pmu)
    assert plan(list(requests), pmu) == first
    shuffled = plan(requests, pmu, seed=seed)
    assert plan(requests, pmu, seed=seed) == shuffled
    assert sorted(map(repr, shuffled.batches)) == sorted(map(repr, first.batches))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 5)), max_size=60))
def test_edges_of_one_colour_never_meet(edges: list[tuple[int, int | None]]) -> None:
    lefts = [left for left, _ in edges]
    rights = [right for _, right in edges if right is not None]
    degree = max((ends.count(node) for ends in (lefts, rights) for node in ends), default=0)
    colours = colour_edges(edges, degree)
    assert all(0 <= colour < degree for colour in colours)
    at_left = list(zip(lefts, colours, strict=True))
    at_right = [(r, c) for (_, r), c in zip(edges, colours, strict=True) if r is not None]
    assert len(set(at_left)) == len(at_left)
    assert len(set(at_right)) == len(at_right)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 15), st.integers(0, 9)), max_size=8),
    st.lists(st.integers(0, 12), min_size=4, max_size=4),
)
def test_transport_distributes_all_or_names_a_set_that_is_too_small(
    supplies: list[tuple[int, int]], room: list[int]
) -> None:
    given_out, tight = transport(supplies, dict(enumerate(room)))
    if tight:
        capacity = sum(room[place] for place in range(4) if tight >> place & 1)
        assert sum(amount for mask, amount in supplies if not mask & ~tight) > capacity
        return
    for (mask, amount), places in zip(supplies, given_out, strict=True):
        assert sum(places.values()) == amount
        assert all(mask >> place & 1 for place, share in places.items() if share)
    for place in range(4):
        assert sum(places.get(place, 0) for places in given_out) <= room[place]
