"""How far the nodes of a machine are from each other: latency and bandwidth of every pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.machines.model import Machine

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
