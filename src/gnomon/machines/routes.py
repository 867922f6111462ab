"""The way of a message through a graph of links, and how far nodes are from each other."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.machines.machine import Machine

Route = tuple[tuple[int, int], ...]
"""Links in order, each with its direction: 0 from its first end to its second, else 1."""


def shortest_routes(
    nodes: int, links: Sequence[tuple[tuple[int, int], float]]
) -> dict[tuple[int, int], Route]:
    """Return the route of every pair of nodes that are connected.

    The least latency wins, then the fewest links, then the lowest node numbers on the way,
    so that equal machines have equal routes.
    """
    neighbours: list[list[tuple[int, float, int, int]]] = [[] for _ in range(nodes)]
    for number, ((a, b), latency) in enumerate(links):
        neighbours[a].append((b, latency, number, 0))
        neighbours[b].append((a, latency, number, 1))
    routes: dict[tuple[int, int], Route] = {}
    for start in range(nodes):
        best: list[tuple[float, int, tuple[int, ...], Route]] = [(0.0, 0, (start,), ())]
        while best:
            latency, hops, path, route = heapq.heappop(best)
            end = path[-1]
            if (start, end) in routes:
                continue
            routes[start, end] = route
            for node, more, number, direction in neighbours[end]:
                if (start, node) not in routes:
                    step = (latency + more, hops + 1, (*path, node), (*route, (number, direction)))
                    heapq.heappush(best, step)
    return routes


Matrix = tuple[tuple[float | None, ...], ...]
"""A row a reading node, a column a node with the memory; None where it has none."""


@dataclass(frozen=True, slots=True)
class Distances:
    """What a read of one node costs in the memory of another, beyond the caches and unloaded.

    A latency is the sum over the way, a bandwidth the least on it, the memory included.
    """

    latency_ns: Matrix
    gb_per_s: Matrix


def distances(machine: Machine) -> Distances:
    """Return latency and bandwidth of all pairs of nodes."""
    routes = machine.routes()
    latencies: list[tuple[float | None, ...]] = []
    rates: list[tuple[float | None, ...]] = []
    for reader in range(len(machine.nodes)):
        latency: list[float | None] = []
        rate: list[float | None] = []
        for home, node in enumerate(machine.nodes):
            way = [machine.links[link] for link, _ in routes[reader, home]]
            if node.memory is None:
                latency.append(None)
                rate.append(None)
                continue
            latency.append(node.memory.read_latency_ns + sum(link.latency_ns for link in way))
            rate.append(min((node.memory.gb_per_s, *(link.gb_per_s for link in way))))
        latencies.append(tuple(latency))
        rates.append(tuple(rate))
    return Distances(tuple(latencies), tuple(rates))
