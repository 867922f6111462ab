"""The graph of links comes back out of matrices, exactly, also when these are noisy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.analysis.links.graph import (
    LinkGraph,
    Memory,
    family,
    node_classes,
    topology_pairs,
    uniform,
)
from gnomon.analysis.links.reconstruct import reconstruct
from gnomon.analysis.links.result import Matrices
from gnomon.errors import UsageError
from gnomon.machines.machine import Link

from .noisy import LINK_NS, LINK_RATE, MEMORY, noisy, shuffled

SMALL = [
    ("ring", 4),
    ("ring", 16),
    ("mesh", 9),
    ("mesh", 16),
    ("twisted-ladder", 8),
    ("twisted-ladder", 16),
    ("hypercube", 8),
    ("hypercube", 16),
    ("full", 4),
    ("full", 16),
]
LARGE = [(name, 64) for name in ("ring", "mesh", "twisted-ladder", "hypercube", "full")]


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(SMALL), st.integers(0, 2**32 - 1))
def test_small_graphs_come_back_exactly_from_noisy_matrices(
    case: tuple[str, int], seed: int
) -> None:
    name, nodes = case
    pairs = shuffled(name, nodes, seed)
    found = reconstruct(noisy(pairs, nodes, seed))
    assert found.pairs == pairs
    assert family(found.pairs, nodes) in (name, "ring", "full", "hypercube")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "nodes"), SMALL)
def test_all_of_many_graphs_come_back_exactly(name: str, nodes: int) -> None:
    for seed in range(20):
        pairs = shuffled(name, nodes, seed)
        assert reconstruct(noisy(pairs, nodes, seed)).pairs == pairs, f"seed {seed}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "nodes"), LARGE)
@pytest.mark.parametrize("seed", range(3))
def test_large_graphs_come_back_exactly_from_noisy_matrices(
    name: str, nodes: int, seed: int
) -> None:
    pairs = shuffled(name, nodes, seed)
    assert reconstruct(noisy(pairs, nodes, seed)).pairs == pairs


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_connected_graph_comes_back_without_noise(data: st.DataObject) -> None:
    """Round trip of adjacency to end to end and back: nothing is lost."""
    nodes = data.draw(st.integers(2, 8))
    every = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    tree = {(data.draw(st.integers(0, b - 1)), b) for b in range(1, nodes)}
    pairs = tree | set(data.draw(st.sets(st.sampled_from(every))))
    graph = uniform(pairs, nodes, MEMORY, LINK_RATE, LINK_NS)
    found = reconstruct(graph.end_to_end(), noise=0.02)
    assert found.pairs == pairs
    assert all(link.latency_ns == pytest.approx(LINK_NS, rel=1e-6) for link in found.links)
    assert all(link.gb_per_s == pytest.approx(LINK_RATE) for link in found.links)


def test_weights_come_back_within_the_noise() -> None:
    pairs = topology_pairs("hypercube", 16)
    found = reconstruct(noisy(pairs, 16, 1))
    assert found.links[0].latency_ns == pytest.approx(LINK_NS, rel=0.03)
    assert found.links[0].gb_per_s == pytest.approx(LINK_RATE, rel=0.05)
    assert found.memories[0].latency_ns == pytest.approx(MEMORY.latency_ns, rel=0.1)


@pytest.mark.parametrize("seed", range(5, 9))
def test_links_of_two_kinds_are_told_apart(seed: int) -> None:
    """Two packages of four nodes: fast links within, two slow ones between."""
    links = [Link((a, b), 40.0, 30.0) for a in range(4) for b in range(a + 1, 4)]
    links += [Link((a + 4, b + 4), 40.0, 30.0) for a in range(4) for b in range(a + 1, 4)]
    links += [Link((0, 4), 15.0, 90.0), Link((1, 5), 15.0, 90.0)]
    graph = LinkGraph((Memory(60.0, 45.0),) * 8, tuple(links))
    true = graph.end_to_end()
    off = 1 + 0.03 * np.random.default_rng(seed).standard_normal(true.latency_ns.shape)
    found = reconstruct(Matrices(true.latency_ns * off, true.gb_per_s), noise=0.03)
    assert found.pairs == graph.pairs
    slow = {link.ends for link in found.links if link.latency_ns > 60}
    assert slow == {(0, 4), (1, 5)}
    assert {link.gb_per_s for link in found.links if link.ends in slow} == {15.0}


def test_a_node_without_cpus_and_one_without_memory_have_their_place() -> None:
    pairs = topology_pairs("ring", 6)
    matrices = uniform(pairs, 6, MEMORY, LINK_RATE, LINK_NS).end_to_end()
    for matrix in (matrices.latency_ns, matrices.gb_per_s):
        matrix[2, :] = np.nan  # nobody there who could read
        matrix[:, 4] = np.nan  # nothing there to be read
    assert reconstruct(matrices).pairs == pairs


def test_one_node_has_no_links() -> None:
    assert reconstruct(Matrices(np.array([[80.0]]), np.array([[10.0]]))).links == ()


def test_nodes_that_cannot_be_reached_are_reported() -> None:
    apart = np.array([[80.0, np.nan], [np.nan, 80.0]])
    with pytest.raises(UsageError, match="leave nodes apart"):
        reconstruct(Matrices(apart, apart))


def test_a_hypercube_and_a_ladder_must_have_fitting_sizes() -> None:
    with pytest.raises(UsageError, match="a hypercube has 2, 4, 8"):
        topology_pairs("hypercube", 6)
    with pytest.raises(UsageError, match="a twisted ladder has 8, 12"):
        topology_pairs("twisted-ladder", 6)
    with pytest.raises(UsageError, match="'rink' is not a topology"):
        topology_pairs("rink", 6)


def test_nodes_fall_into_classes_by_their_place() -> None:
    def classes(name: str, nodes: int) -> list[list[int]]:
        pairs = topology_pairs(name, nodes)
        return node_classes(uniform(pairs, nodes, MEMORY, LINK_RATE, LINK_NS))

    assert classes("ring", 6) == [[0, 1, 2, 3, 4, 5]]
    assert classes("mesh", 9) == [[0, 2, 6, 8], [1, 3, 5, 7], [4]]
    assert classes("star", 4) == [[0], [1, 2, 3]]
    assert classes("twisted-ladder", 8) == [[0, 1, 6, 7], [2, 3, 4, 5]]


def test_nodes_that_are_marked_apart_stay_apart() -> None:
    graph = uniform(topology_pairs("full", 3), 3, MEMORY, LINK_RATE, LINK_NS)
    assert node_classes(graph, ["cpus", "cpus", "memory alone"]) == [[0, 1], [2]]
