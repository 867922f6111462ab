"""The way of a message through a graph of links."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
