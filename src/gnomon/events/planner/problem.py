"""The task for one unit, brought into the form that bounds and solvers share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon.events.planner.pmu import FIXED, GENERAL_MASK, indices
from gnomon.events.planner.seating import seat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.events.planner.needs import Need
    from gnomon.events.planner.seating import Placed


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
