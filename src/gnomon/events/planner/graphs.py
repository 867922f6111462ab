"""The two graph problems behind a plan: how few batches are enough, and dealing events out.

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

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gnomon.events.planner.pmu import indices

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence


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
