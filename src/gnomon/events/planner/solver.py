"""One unit: as few batches as possible for all its events, and a bound to show for it."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from gnomon.events.planner.bounds import Bound, mixed_bound, total_bound
from gnomon.events.planner.dealing import deal
from gnomon.events.planner.packing import pack

if TYPE_CHECKING:
    from gnomon.events.planner.problem import Problem
    from gnomon.events.planner.seating import Placed


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
