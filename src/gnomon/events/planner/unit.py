"""The plan for one unit, before the units are put side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.planner.bounds import Bound
from gnomon.events.planner.needs import Need, need_of, watchdog_of
from gnomon.events.planner.problem import make_problem, settle_anchors
from gnomon.events.planner.reasons import diagnose, modes_of
from gnomon.events.planner.seating import Placed, seat
from gnomon.events.planner.solver import solve
from gnomon.events.planner.words import join, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gnomon.events.model import Request
    from gnomon.events.planner.pmu import Pmu

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
        raise UsageError(f"the anchors do not fit into one batch on {pmu.name}: {_text(clash)}")
    return settled


def _solve(
    needs: Sequence[Need], anchors: tuple[Need, ...], pmu: Pmu
) -> tuple[list[list[Placed]], Bound]:
    if len(needs) + len(anchors) <= pmu.counters_mask.bit_count():
        together = seat([*needs, *anchors])
        if together is not None:
            return [together], Bound(1, "")
    return solve(make_problem(needs, anchors, pmu.counters_mask))


def _class_of(request: Request, pmu: Pmu) -> object:
    """Return what requests must have in common to be counted in one batch."""
    if request.modifiers.exclusive:
        return request
    return modes_of(request) if pmu.same_modes else None


def _why_not(request: Request, anchors: Sequence[Request], pmu: Pmu) -> str:
    by_itself = diagnose([request], pmu)
    if by_itself:
        return _text(by_itself)
    names = join([anchor.label for anchor in anchors])
    return f"it does not fit beside {names}: {_text(diagnose([*anchors, request], pmu))}"


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


def _text(reasons: Sequence[str]) -> str:
    return "; ".join(reasons) or "no seating was found"
