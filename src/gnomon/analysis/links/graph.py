"""Topologies of nodes: which are linked, by what, and what that makes of their distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.analysis.links.result import Matrices, Pair
from gnomon.errors import UsageError
from gnomon.machines.machine import Link
from gnomon.machines.routes import shortest_routes


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a node, as it is seen from this node."""

    latency_ns: float
    gb_per_s: float


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Nodes with the links between them; the adjacency matrices in another form."""

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]

    @property
    def pairs(self) -> frozenset[Pair]:
        """The linked pairs, lower node first."""
        return frozenset((min(link.ends), max(link.ends)) for link in self.links)

    def adjacency(self) -> Matrices:
        """Return the weights of links and, on the diagonal, of memories; NaN where no link is."""
        size = len(self.memories)
        latency, rate = np.full((2, size, size), np.nan)
        for node, memory in enumerate(self.memories):
            latency[node, node], rate[node, node] = memory.latency_ns, memory.gb_per_s
        for link in self.links:
            for one, other in (link.ends, link.ends[::-1]):
                latency[one, other], rate[one, other] = link.latency_ns, link.gb_per_s
        return Matrices(latency, rate)

    def end_to_end(self) -> Matrices:
        """Return what every node sees of every other: latency adds up, the least rate counts."""
        size = len(self.memories)
        routes = shortest_routes(size, [(link.ends, link.latency_ns) for link in self.links])
        latency, rate = np.full((2, size, size), np.nan)
        for (reader, home), route in routes.items():
            way = [self.links[number] for number, _ in route]
            memory = self.memories[home]
            latency[reader, home] = memory.latency_ns + sum(link.latency_ns for link in way)
            rate[reader, home] = min((memory.gb_per_s, *(link.gb_per_s for link in way)))
        return Matrices(latency, rate)


def ring(nodes: int) -> set[Pair]:
    """Return the pairs of a ring."""
    return {_pair(i, (i + 1) % nodes) for i in range(nodes) if nodes > 1}


def mesh(nodes: int) -> set[Pair]:
    """Return the pairs of a mesh as square as possible, row by row."""
    width = next(i for i in range(int(nodes**0.5), 0, -1) if nodes % i == 0)
    across = {(i, i + 1) for i in range(nodes) if (i + 1) % width}
    return across | {(i, i + width) for i in range(nodes - width)}


def twisted_ladder(nodes: int) -> set[Pair]:
    """Return the pairs of a twisted ladder: rungs at both ends, crosses between them.

    Nodes 2r and 2r+1 are row r. Rails join all rows; rows 1 and 2, 3 and 4 and so on are
    crossed as well, as in Opteron machines with eight sockets.
    """
    if nodes < 8 or nodes % 4:
        raise UsageError(f"a twisted ladder has 8, 12, 16 ... nodes, not {nodes}.")
    rows = nodes // 2
    pairs = {(0, 1), (nodes - 2, nodes - 1)}
    for row in range(rows - 1):
        left, right = 2 * row, 2 * row + 1
        pairs |= {(left, left + 2), (right, right + 2)}
        if row % 2:
            pairs |= {(left, right + 2), (right, left + 2)}
    return pairs


def hypercube(nodes: int) -> set[Pair]:
    """Return the pairs of a hypercube."""
    if nodes & (nodes - 1):
        raise UsageError(f"a hypercube has 2, 4, 8, 16 ... nodes, not {nodes}.")
    bits = range(nodes.bit_length() - 1)
    return {_pair(node, node ^ (1 << bit)) for node in range(nodes) for bit in bits}


def full(nodes: int) -> set[Pair]:
    """Return all pairs."""
    return {(a, b) for a in range(nodes) for b in range(a + 1, nodes)}


def line(nodes: int) -> set[Pair]:
    """Return the pairs of a line."""
    return {(i, i + 1) for i in range(nodes - 1)}


def star(nodes: int) -> set[Pair]:
    """Return the pairs of a star around node 0."""
    return {(0, i) for i in range(1, nodes)}


TOPOLOGIES: dict[str, Callable[[int], set[Pair]]] = {
    "full": full,
    "ring": ring,
    "hypercube": hypercube,
    "mesh": mesh,
    "twisted-ladder": twisted_ladder,
    "line": line,
    "star": star,
}


def topology_pairs(name: str, nodes: int) -> set[Pair]:
    """Return the pairs that a topology of this name links."""
    if name not in TOPOLOGIES:
        raise UsageError(f"'{name}' is not a topology: choose from {', '.join(TOPOLOGIES)}.")
    return TOPOLOGIES[name](nodes)


def uniform(
    pairs: set[Pair] | frozenset[Pair], nodes: int, memory: Memory, gb_per_s: float, ns: float
) -> LinkGraph:
    """Return a graph whose links are all alike, and its memories too."""
    links = tuple(Link(pair, gb_per_s, ns) for pair in sorted(pairs))
    return LinkGraph((memory,) * nodes, links)


def family(pairs: frozenset[Pair], nodes: int) -> str | None:
    """Return the name of the topology that this one is, whatever numbers its nodes have."""
    if nodes < 2:
        return None
    wanted = hop_profile(pairs, nodes)
    for name, build in TOPOLOGIES.items():
        try:
            known = build(nodes)
        except UsageError:
            continue
        if len(known) == len(pairs) and hop_profile(frozenset(known), nodes) == wanted:
            return name
    return None


def hop_profile(pairs: frozenset[Pair], nodes: int) -> list[tuple[int, ...]]:
    """Return how many links every node is from each other, without their numbers."""
    return sorted(tuple(sorted(row)) for row in hops(pairs, nodes))


def hops(pairs: frozenset[Pair] | set[Pair], nodes: int) -> list[list[int]]:
    """Return the number of links on the shortest way of every pair; -1 where there is none."""
    near: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    found = []
    for start in range(nodes):
        distance = [-1] * nodes
        distance[start] = 0
        queue = [start]
        for node in queue:
            for other in near[node]:
                if distance[other] < 0:
                    distance[other] = distance[node] + 1
                    queue.append(other)
        found.append(distance)
    return found


def node_classes(graph: LinkGraph, marks: Sequence[object] | None = None) -> list[list[int]]:
    """Return the nodes in groups that cannot be told apart by their place in the graph.

    `marks` tell nodes apart from the outset, such as by whether they have memory. Then nodes
    with the same neighbours, over links of the same kind, stay together until nothing changes.
    """
    size = len(graph.memories)
    colours = _ranks([() if marks is None else (repr(marks[node]),) for node in range(size)])
    # How far all others are says more than neighbours alone: two rings are not one of twice
    # the length.
    distance = hops(graph.pairs, size)
    while True:
        seen = [
            (
                colours[node],
                tuple(sorted((distance[node][other], colours[other]) for other in range(size))),
                tuple(
                    sorted(
                        (round(link.latency_ns, 6), round(link.gb_per_s, 6))
                        for link in graph.links
                        if node in link.ends
                    )
                ),
            )
            for node in range(size)
        ]
        finer = _ranks(seen)
        if max(finer, default=0) == max(colours, default=0):
            break
        colours = finer
    groups: dict[int, list[int]] = {}
    for node, colour in enumerate(colours):
        groups.setdefault(colour, []).append(node)
    return sorted(groups.values())


def _ranks(keys: Sequence[tuple[object, ...]]) -> list[int]:
    order = {key: rank for rank, key in enumerate(sorted(set(keys), key=repr))}
    return [order[key] for key in keys]


def _pair(a: int, b: int) -> Pair:
    return (min(a, b), max(a, b))
