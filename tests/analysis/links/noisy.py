"""Topologies with links that are alike, and matrices of them with noise."""

from __future__ import annotations

import numpy as np

from gnomon.analysis.links.graph import Memory, topology_pairs, uniform
from gnomon.analysis.links.result import Matrices, Pair

NOISE = 0.1
MEMORY = Memory(30.0, 45.0)  # the example of Sterz (2016): 30 ns, 45 GB/s, links 70 ns, 15 GB/s
LINK_NS, LINK_RATE = 70.0, 15.0


def noisy(
    pairs: set[Pair], nodes: int, seed: int, *, memory: Memory = MEMORY, ns: float = LINK_NS
) -> Matrices:
    """Matrices whose every entry is off by a tenth of its value, as a standard deviation."""
    random = np.random.default_rng(seed)
    true = uniform(pairs, nodes, memory, LINK_RATE, ns).end_to_end()

    def off(
        matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return matrix * np.maximum(1 + NOISE * random.standard_normal(matrix.shape), 0.05)

    return Matrices(off(true.latency_ns), off(true.gb_per_s))


def shuffled(name: str, nodes: int, seed: int) -> set[Pair]:
    """The pairs of a topology whose nodes have other numbers."""
    order = np.random.default_rng(seed).permutation(nodes).tolist()
    return {
        (min(order[a], order[b]), max(order[a], order[b])) for a, b in topology_pairs(name, nodes)
    }
