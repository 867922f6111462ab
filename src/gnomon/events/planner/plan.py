"""Plans: which events to count together in which run of the program, in as few runs as can be.

Events that share counters by turns are only sampled in time. A plan avoids that: the
program is run once for each batch, and every counter of a batch covers the whole run
(Sterz, section 3.1). Each batch carries the counter of each of its events, which anyone
can check, and the plan carries a bound that no plan can go below. Each unit is planned
by itself, then the units are put side by side. `explain_fit` tells whether events fit
into one set, and if not, what stands in the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gnomon.errors import UsageError
from gnomon.events.event import Event, Request
from gnomon.events.planner.bounds import Bound, make_problem, settle_anchors
from gnomon.events.planner.pmu import Counter, Need, Placed, Pmu, need_of, route, seat, watchdog_of
from gnomon.events.planner.reasons import diagnose, join, modes_of, plural, remedies

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a request is counted; `counter` is None on a unit without a limit.

    `registers` are the extra registers that carry the values the event needs.
    """

    request: Request
    pmu: str
    counter: Counter | None
    registers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Events for one run of the program, and the proof that they fit: a seat for each.

    The kernel chooses counters itself; the seats show that there is a choice that works.
    """

    seats: tuple[Seat, ...]

    @property
    def requests(self) -> tuple[Request, ...]:
        """What is counted, anchors first."""
        return tuple(seat.request for seat in self.seats)

    @property
    def assignment(self) -> dict[Request, Counter | None]:
        """The counter of each request."""
        return {seat.request: seat.counter for seat in self.seats}


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """A request that fits into no batch, and why."""

    request: Request
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Batches that count every request once, and anchors in every one of them.

    No plan for the same requests has fewer than `lower_bound` batches, for the reason in
    `bound_reason`.
    """

    batches: tuple[Batch, ...]
    lower_bound: int
    bound_reason: str = ""
    anchors: tuple[Request, ...] = ()
    unplaceable: tuple[Unplaceable, ...] = ()

    @property
    def minimal(self) -> bool:
        """Whether the number of batches is proved to be the least possible."""
        return len(self.batches) == self.lower_bound

    def explain(self) -> str:
        """Return the plan in a few sentences: how many batches, why, and what is missing."""
        events = {seat.request for batch in self.batches for seat in batch.seats}
        proof = "the fewest possible" if self.minimal else f"the bound is {self.lower_bound}"
        lines = [
            f"{plural(len(events), 'event')} in"
            f" {len(self.batches)} {'batch' if len(self.batches) == 1 else 'batches'}, {proof}."
        ]
        if self.bound_reason:
            lines.append(f"Why not fewer: {self.bound_reason}.")
        if self.anchors:
            lines.append(f"In every batch: {join([anchor.label for anchor in self.anchors])}.")
        lines += [f"Not placed: {miss.request.label}: {miss.reason}." for miss in self.unplaceable]
        return "\n".join(lines)


def plan(
    requests: Iterable[Request | Event],
    *pmus: Pmu,
    anchors: Iterable[Request | Event] = (),
    seed: int | None = None,
) -> Plan:
    """Return a plan that counts all requests on these units in as few batches as possible.

    The first unit is the core's. Events of different units do not compete: their batches
    run side by side. Anchors are in every batch, to tell drift between runs from a change.
    The same requests give the same plan; a seed shuffles the order of the batches, so that
    drift does not follow the order of the requests.
    """
    wanted = as_requests(requests)
    held = as_requests(anchors)
    everything = dict.fromkeys((*held, *wanted))
    routed = route(list(everything), pmus)
    always = set(held)
    for request, reason in routed.lost:
        if request in always:
            raise UsageError(f"cannot anchor {request.label}: {reason}")
    units = [
        plan_unit(pmu, [r for r in found if r not in always], [r for r in found if r in always])
        for pmu, found in routed.units
    ]
    # Anchors alone make no batch, unless they are also what is asked for.
    least = 1 if always.intersection(wanted) else 0
    total = max([least, *(len(unit.batches) for unit in units)])
    order = {request: position for position, request in enumerate(everything)}
    batches = [_merge(units, position, order) for position in range(total)]
    if seed is not None:
        _shuffle(batches, seed)
    bound = max((unit.bound for unit in units), key=lambda b: b.batches, default=Bound(0, ""))
    misses = dict(routed.lost)
    for unit in units:
        misses.update(unit.unplaceable)
    return Plan(
        tuple(batches),
        max(bound.batches, least),
        bound.reason,
        held,
        tuple(Unplaceable(request, misses[request]) for request in wanted if request in misses),
    )


def plan_together(requests: Iterable[Request | Event], unit: str) -> Plan:
    """Return the plan of a source that counts everything in one run."""
    seats = tuple(Seat(request, unit, None) for request in as_requests(requests))
    return Plan((Batch(seats),), 1) if seats else Plan((), 0)


def as_requests(things: Iterable[Request | Event]) -> tuple[Request, ...]:
    """Return events and requests as requests, each once."""
    found = []
    for thing in things:
        if not isinstance(thing, Request | Event):
            raise UsageError(f"cannot plan {thing!r}: it is neither an event nor a request")
        found.append(Request(thing) if isinstance(thing, Event) else thing)
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether events can be counted together: a seating if so, else the reasons.

    `remedies` would make them fit; `batches` is how many runs count them as things are,
    0 when some cannot be counted at all.
    """

    requests: tuple[Request, ...]
    batch: Batch | None
    reasons: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    batches: int = 1

    @property
    def fits(self) -> bool:
        """Whether all events can be counted together."""
        return self.batch is not None

    def __bool__(self) -> bool:
        return self.fits

    @property
    def text(self) -> str:
        """The answer as sentences, one a line."""
        several = len(self.requests) > 1
        if self.batch is not None:
            head = "These events fit together" if several else "This event can be counted"
            return f"{head}: {', '.join(map(_seat_text, self.batch.seats))}."
        head = "These events do not fit together:" if several else "This event cannot be counted:"
        lines = [head, *(f"  - {reason}." for reason in self.reasons)]
        lines += [f"Remedy: {remedy}." for remedy in self.remedies]
        if self.batches:
            lines.append(f"As they are, {self.batches} batches count all of them.")
        return "\n".join(lines)


def explain_fit(events: Iterable[Request | Event], *pmus: Pmu) -> Fit:
    """Tell whether events fit together in one set on these units, and why if they do not."""
    requests = as_requests(events)
    if not requests:
        raise UsageError("there are no events to fit together")
    routed = route(requests, pmus)
    reasons = [f"{request.label}: {why}" for request, why in routed.lost]
    cures: list[str] | None = [] if routed.lost else None
    for pmu, found in routed.units:
        if not pmu.unlimited and (why := diagnose(found, pmu)):
            reasons += why
            helpful = remedies(found, pmu)
            # A change to the machine helps only if it helps on every unit that is short.
            cures = helpful if cures is None else [cure for cure in cures if cure in helpful]
    whole = plan(requests, *pmus)
    if not reasons:
        return Fit(requests, whole.batches[0])
    batches = 0 if whole.unplaceable else len(whole.batches)
    return Fit(requests, None, tuple(reasons), tuple(cures or ()), batches)


def _seat_text(seat: Seat) -> str:
    return f"{seat.request.label} on {seat.counter}" if seat.counter else seat.request.label


def _merge(units: Sequence[UnitPlan], position: int, order: dict[Request, int]) -> Batch:
    """Return what all units count in the same run."""
    seats = []
    for unit in units:
        placed = unit.batches[position] if position < len(unit.batches) else unit.idle
        seats += [_place(unit.pmu, p) for p in placed if p.need.request is not None]
    return Batch(tuple(sorted(seats, key=lambda seat: order[seat.request])))


def _place(pmu: Pmu, placed: Placed) -> Seat:
    if placed.need.request is None:
        raise ValueError("the watchdog has no seat of ours")
    counter = Counter.of_index(placed.counter) if placed.counter >= 0 else None
    return Seat(placed.need.request, pmu.name, counter, placed.registers)


def _shuffle(items: list[_T], seed: int) -> None:
    from random import Random

    Random(seed).shuffle(items)


NO_COUNTER = -1
"""The counter of an event on a unit without a limit."""


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """The batches of one unit; `idle` is what it counts when it has no batch left."""

    pmu: Pmu
    batches: tuple[tuple[Placed, ...], ...]
    idle: tuple[Placed, ...]
    bound: Bound
    unplaceable: tuple[tuple[Request, str], ...] = ()


def plan_unit(pmu: Pmu, requests: Sequence[Request], anchors: Sequence[Request]) -> UnitPlan:
    """Plan requests on one unit, with all anchors in every batch."""
    if pmu.unlimited:
        idle = _loose(anchors)
        loose = ((*idle, *_loose(requests)),) if requests else ()
        return UnitPlan(pmu, loose, idle, Bound(len(loose), ""))
    held, left = _hold_anchors(pmu, anchors)
    unplaceable: list[tuple[Request, str]] = []
    classes: dict[object, list[Need]] = {}
    fits: dict[tuple[object, ...], bool] = {}
    for request in requests:
        need = need_of(request, pmu).within(left)
        key = (need.counters, need.alone, need.demands)
        if key not in fits:
            fits[key] = seat([need, *held]) is not None
        apart = _class_of(request, pmu)
        if fits[key] and not (anchors and apart != _class_of(anchors[0], pmu)):
            classes.setdefault(apart, []).append(need)
        else:
            unplaceable.append((request, _why_not(request, anchors, pmu)))
    solved = [_solve(needs, held, pmu) for needs in classes.values()]
    order = {request: position for position, request in enumerate(requests)}
    return UnitPlan(
        pmu,
        tuple(
            sorted(
                (tuple(batch) for batches, _ in solved for batch in batches),
                key=lambda batch: _first(batch, order),
            )
        ),
        tuple(seat(held) or ()),
        _sum([bound for _, bound in solved], pmu),
        tuple(unplaceable),
    )


def _hold_anchors(pmu: Pmu, anchors: Sequence[Request]) -> tuple[tuple[Need, ...], int]:
    """Return what every batch holds, the watchdog included, and the counters left to others."""
    clash = diagnose(anchors, pmu)
    watchdog = watchdog_of(pmu)
    needs = [need_of(anchor, pmu) for anchor in anchors]
    settled = settle_anchors([watchdog, *needs] if watchdog else needs)
    if clash or settled is None:
        raise UsageError(f"the anchors do not fit into one batch on {pmu.name}: {_said(clash)}")
    return settled


def _solve(
    needs: Sequence[Need], anchors: tuple[Need, ...], pmu: Pmu
) -> tuple[list[list[Placed]], Bound]:
    if len(needs) + len(anchors) <= pmu.counters_mask.bit_count():
        together = seat([*needs, *anchors])
        if together is not None:
            return [together], Bound(1, "")
    from gnomon.events.planner.solver import solve

    return solve(make_problem(needs, anchors, pmu.counters_mask))


def _class_of(request: Request, pmu: Pmu) -> object:
    """Return what requests must have in common to be counted in one batch."""
    if request.modifiers.exclusive:
        return request
    return modes_of(request) if pmu.same_modes else None


def _why_not(request: Request, anchors: Sequence[Request], pmu: Pmu) -> str:
    by_itself = diagnose([request], pmu)
    if by_itself:
        return _said(by_itself)
    names = join([anchor.label for anchor in anchors])
    return f"it does not fit beside {names}: {_said(diagnose([*anchors, request], pmu))}"


def _sum(bounds: Sequence[Bound], pmu: Pmu) -> Bound:
    if len(bounds) < 2:
        return bounds[0] if bounds else Bound(0, "")
    apart = f"{plural(len(bounds), 'part')} of the events on {pmu.name} cannot be mixed"
    return Bound(
        sum(bound.batches for bound in bounds),
        "; ".join([apart, *dict.fromkeys(bound.reason for bound in bounds if bound.reason)]),
    )


def _first(batch: Iterable[Placed], order: dict[Request, int]) -> int:
    """Return the earliest request of a batch that is no anchor."""
    return min(order[p.need.request] for p in batch if p.need.request in order)


def _loose(requests: Sequence[Request]) -> tuple[Placed, ...]:
    return tuple(Placed(Need(request, 0), NO_COUNTER) for request in requests)


def _said(reasons: Sequence[str]) -> str:
    return "; ".join(reasons) or "no seating was found"
