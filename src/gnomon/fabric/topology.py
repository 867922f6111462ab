"""How rings make a fabric: which controller a packet leaves a node by, and where it leaves a ring.

A node has a link controller on each of its rings, and packets go from ring to ring over its Blink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_NODES = 4096
MOST_CONTROLLERS = 7
"""Of a node: so many link controllers a Blink can have."""


class FabricError(UsageError):
    """An invalid fabric or load; `key` says which part of a description is meant, if one is."""

    def __init__(self, reason: str, key: str = "") -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"{key}: {reason}." if key else f"{reason}.")


@dataclass(frozen=True, slots=True)
class Topology:
    """Rings of nodes, each in the order in which packets go round.

    `hosts` are the nodes that make and take packets; the others only pass them on.
    """

    rings: tuple[tuple[int, ...], ...]
    nodes: int
    hosts: int
    grid: tuple[int, int] | None = None
    """Width and height of a torus, whose ways follow from it."""

    def __post_init__(self) -> None:
        if not 2 <= self.nodes <= MOST_NODES:
            raise FabricError(f"must have 2 to {MOST_NODES} nodes, not {self.nodes}", "nodes")
        owned = [0] * self.nodes
        for ring in self.rings:
            if len(ring) < 2 or len(set(ring)) != len(ring):
                raise FabricError("each ring needs two nodes or more, and none twice", "rings")
            for node in ring:
                if not 0 <= node < self.nodes:
                    raise FabricError(f"there is no node {node}", "rings")
                owned[node] += 1
        if 0 in owned:
            raise FabricError(f"node {owned.index(0)} is on no ring", "rings")
        if max(owned) > MOST_CONTROLLERS:
            raise FabricError(
                f"node {owned.index(max(owned))} would be on {max(owned)} rings, and a Blink has "
                f"at most {MOST_CONTROLLERS} link controllers",
                "rings",
            )

    @property
    def controllers(self) -> tuple[tuple[int, int], ...]:
        """Ring and node of each link controller, ring by ring."""
        return tuple((r, node) for r, ring in enumerate(self.rings) for node in ring)


def ring(nodes: int) -> Topology:
    """Return one ring."""
    return Topology((tuple(range(nodes)),), nodes, nodes)


def torus(width: int, height: int) -> Topology:
    """Return rings along both directions of a grid; node x + y * width is at (x, y)."""
    rows = tuple(tuple(y * width + x for x in range(width)) for y in range(height))
    columns = tuple(tuple(y * width + x for y in range(height)) for x in range(width))
    if width == 1 or height == 1:
        return Topology(columns if width == 1 else rows, width * height, width * height)
    return Topology((*rows, *columns), width * height, width * height, (width, height))


def switch(rings: int, nodes: int) -> Topology:
    """Return rings that meet in one node, the last, which has no host in use."""
    hosts = rings * nodes
    all_rings = tuple((*range(i * nodes, (i + 1) * nodes), hosts) for i in range(rings))
    return Topology(all_rings, hosts + 1, hosts)


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """A topology as the kernel wants it; controllers are numbered ring by ring."""

    node: NDArray[np.uint32]  # (controller)
    next: NDArray[np.uint32]  # (controller)
    first: NDArray[np.int32]  # (node, target): the controller that a packet leaves a node by
    leg: NDArray[np.int32]  # (controller, target): the controller that takes it off that ring


def routes(topology: Topology) -> Routes:
    """Return the ways with the fewest changes of ring, then the fewest links.

    Of equal ways, the one that leaves by the earlier ring: along a row first in a torus, so that
    packets cannot wait for each other in a circle.
    """
    import numpy as np

    if topology.grid is not None:
        return _ways_in_a_torus(*topology.grid)
    controllers = topology.controllers
    nodes = topology.nodes
    node = np.array([each for _, each in controllers], np.uint32)
    following: list[int] = []
    at_ring: list[dict[int, tuple[int, int]]] = []  # node: its controller, and place in the ring
    for members in topology.rings:
        base = len(following)
        following += [base + (k + 1) % len(members) for k in range(len(members))]
        at_ring.append({each: (base + k, k) for k, each in enumerate(members)})
    of_node: list[list[int]] = [[] for _ in range(nodes)]
    for r, members in enumerate(topology.rings):
        for each in members:
            of_node[each].append(r)
    first = np.full((nodes, nodes), -1, np.int32)
    leg = np.full((len(controllers), nodes), -1, np.int32)
    first[np.arange(nodes), np.arange(nodes)] = [at_ring[of_node[n][0]][n][0] for n in range(nodes)]
    for target in range(nodes):
        _ways_to(target, topology.rings, of_node, at_ring, first, leg)
    if (first < 0).any():
        start, target = np.argwhere(first < 0)[0]
        raise FabricError(f"there is no way from node {start} to node {target}", "rings")
    return Routes(node, np.array(following, np.uint32), first, leg)


def _ways_in_a_torus(width: int, height: int) -> Routes:
    import numpy as np

    nodes = np.arange(width * height)
    x, y = nodes % width, nodes // width
    count = width * height
    column = count + x * height + y  # the controller of each node in its column
    following = np.concatenate(
        [
            y * width + (x + 1) % width,
            (count + np.arange(width)[:, None] * height + (np.arange(height) + 1) % height).ravel(),
        ]
    )
    in_column = np.empty(count, np.int64)
    in_column[column - count] = nodes
    first = np.where(x[:, None] == x[None], column[:, None], nodes[:, None])
    rows = y[:, None] * width + x[None]
    columns = count + x[in_column][:, None] * height + y[None]
    return Routes(
        np.concatenate([nodes, in_column]).astype(np.uint32),
        following.astype(np.uint32),
        np.ascontiguousarray(first, np.int32),
        np.ascontiguousarray(np.concatenate([rows, columns]), np.int32),
    )


def _ways_to(
    target: int,
    rings: Sequence[Sequence[int]],
    of_node: Sequence[Sequence[int]],
    at_ring: Sequence[dict[int, tuple[int, int]]],
    first: NDArray[np.int32],
    leg: NDArray[np.int32],
) -> None:
    """Fill in the ways to one node: rings are visited outwards from it."""
    # (changes of ring, links) from a node that is reached so far.
    cost: dict[int, tuple[int, int]] = {target: (0, 0)}
    known: set[int] = set()
    border = [target]
    while border:
        reached: dict[int, tuple[tuple[int, int], int, int]] = {}
        for r in sorted({r for each in border for r in of_node[each]} - known):
            known.add(r)
            length = len(rings[r])
            exits = [(each, at_ring[r][each]) for each in border if each in at_ring[r]]
            for start in rings[r]:
                if start in cost:
                    continue
                mine, place = at_ring[r][start]
                best = min(
                    ((cost[each][0] + 1, cost[each][1] + (where - place) % length), into)
                    for each, (into, where) in exits
                )
                leg[mine, target] = best[1]
                if start not in reached or best[0] < reached[start][0]:
                    reached[start] = (best[0], mine, best[1])
        for start, (price, mine, _) in reached.items():
            cost[start] = price
            first[start, target] = mine
        border = list(reached)


def waits_in_a_circle(found: Routes) -> bool:
    """Return whether full output queues could wait for each other for ever.

    A packet in a queue waits for a place in the queue of its next leg; where these form no circle,
    the last one always empties.
    """
    import numpy as np

    nodes = found.first.shape[0]
    after: dict[int, set[int]] = {}
    for target in range(nodes):
        starts = found.first[:, target]
        into = found.leg[starts, target]
        own = np.arange(nodes) != target
        there = found.node[into]
        onwards = own & (there != target)
        pairs = zip(starts[onwards], found.first[there[onwards], target], strict=True)
        for one, other in pairs:
            after.setdefault(int(one), set()).add(int(other))
    done: set[int] = set()
    for start in after:
        stack, path = [(start, iter(after.get(start, ())))], {start}
        if start in done:
            continue
        while stack:
            here, others = stack[-1]
            each = next(others, None)
            if each is None:
                stack.pop()
                path.discard(here)
                done.add(here)
            elif each in path:
                return True
            elif each not in done:
                path.add(each)
                stack.append((each, iter(after.get(each, ()))))
    return False
