"""What a host reports of its nodes, beside what was measured of them."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.analysis.links.graph import LinkGraph, Memory, uniform
from gnomon.analysis.links.graph import ring as ring_pairs
from gnomon.analysis.links.result import Basis, Matrices
from gnomon.analysis.links.topology import host_topology, slit_loss, slit_of
from gnomon.stress.nodes import Node, NodeAccess, Nodes
from gnomon.views.describe.links import graph, slit_text
from gnomon.views.terminal import lines

GIB = 1 << 30
RING = ((10, 16, 22, 16), (16, 10, 16, 22), (22, 16, 10, 16), (16, 22, 16, 10))


def ring(idle: int | None = None) -> Nodes:
    """Four nodes in a ring with figures of HMAT; one may be without CPUs."""
    nodes = []
    for number, row in enumerate(RING):
        cpus = () if number == idle else (2 * number, 2 * number + 1)
        access = NodeAccess((number,), 80.0, 90.0, 20e9, 10e9)
        if number == idle:
            access = NodeAccess((0, 2), 150.0, 160.0, 10e9, 5e9)
        nodes.append(Node(number, cpus, GIB, GIB, dict(enumerate(row)), access))
    return Nodes(tuple(nodes))


def latencies(
    local: float = 80.0, hop: float = 48.0
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Latencies of the ring, a hop by default as long as the distances have it."""
    return np.array([[local + hop * (value - 10) / 6 for value in row] for row in RING])


def measured(
    matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]], rate: float = 15.0
) -> Matrices:
    """Matrices with one rate everywhere."""
    return Matrices(matrix, np.where(np.isnan(matrix), np.nan, rate))


def test_distances_give_links_and_hmat_its_figures() -> None:
    topology = host_topology(ring())
    assert topology.topology == "ring"
    assert topology.basis is Basis.DISTANCES
    assert topology.reported_pairs == frozenset({(0, 1), (1, 2), (2, 3), (0, 3)})
    assert topology.reported_links is not None
    assert {link.distance for link in topology.reported_links} == {6}
    assert {link.gb_per_s for link in topology.reported_links} == {None}
    assert [(node.latency_ns, node.gb_per_s) for node in topology.nodes] == [(80.0, 20.0)] * 4
    drawn = "\n".join(lines([graph(topology)]))
    assert drawn.count("HMAT 20 GB/s") == drawn.count("HMAT 80 ns") == 4
    assert "distance 6 each" in drawn
    assert "from 0" not in drawn
    assert "from 1" not in drawn


def test_what_agrees_is_not_spoken_of() -> None:
    assert host_topology(ring(), measured(latencies())).disagreements == ()


def test_ways_links_and_figures_that_are_apart_are_named() -> None:
    """Distances speak of a ring, but every node is as near as any other, and slower than said."""
    flat = np.where(np.eye(4, dtype=bool), 120.0, 192.0)
    said = host_topology(ring(), measured(flat, rate=40.0)).disagreements
    assert "0->2: reported as 22, 2.2 times local; measured 192 ns, 1.6 times local." in said
    assert not any(text.startswith("0->1: reported") for text in said)
    assert "1->1: HMAT reports a latency of 80 ns; measured 120 ns." in said
    assert "1->1: HMAT reports a bandwidth of 20 GB/s; measured 40 GB/s." in said
    assert "link 0-2: measured latencies suggest it, reported distances do not." in said


def test_a_node_without_cpus_is_compared_as_its_nearest_reader_sees_it() -> None:
    matrix = latencies()
    matrix[3, :] = np.nan
    matrix[0, 3] = 300.0
    topology = host_topology(ring(idle=3), measured(matrix))
    said = topology.disagreements
    assert "0->3: HMAT reports a latency of 150 ns; measured 300 ns." in said
    node = graph(topology).nodes[3]
    assert (node.name, node.facts[0], node.facts[-1]) == ("node 3", "no CPUs", "from 0/2")
    drawn = "\n".join(lines([graph(topology)]))
    for text in ("1 GiB", "HMAT 10 GB/s", "HMAT 150 ns"):
        assert text in drawn
    assert topology.to_json()["measured"]["latency_ns"][3] == [None] * 4


def test_a_kernel_without_distances_leaves_links_unknown() -> None:
    nodes = Nodes(tuple(Node(number, (number,), GIB, GIB) for number in range(2)))
    topology = host_topology(nodes)
    assert topology.distances is None
    assert topology.reported_links is None
    assert topology.basis is None
    assert topology.alike == ((0, 1),)
    found = host_topology(nodes, measured(np.array([[80.0, 130.0], [130.0, 80.0]])))
    assert found.measured_pairs == frozenset({(0, 1)})
    assert found.disagreements == ()


@pytest.mark.parametrize("rate", [1.0, 14.0])
def test_less_bandwidth_than_reported_is_no_contradiction(rate: float) -> None:
    """Few generators may not reach what there is."""
    found = host_topology(ring(), measured(latencies(), rate=rate))
    assert found.disagreements == ()


def test_distances_alone_keep_links_and_lose_bandwidth() -> None:
    """The machine of Sterz, figure 2.9: 30 ns and 45 GB/s local, 70 ns and 15 GB/s a link."""
    graph = uniform(ring_pairs(4), 4, Memory(30.0, 45.0), 15.0, 70.0)
    loss = slit_loss(graph.end_to_end(), graph, None)
    assert loss is not None
    assert loss.values == (10, 33, 57)
    assert (loss.links_lost, loss.links_invented, loss.links) == ((), (), 4)
    # Two hops have 15 GB/s as one hop has; the inverse of their distance would be 7.9.
    assert loss.bandwidth_worst is not None
    assert (loss.bandwidth_worst[1] - loss.bandwidth_worst[0]) % 4 == 2
    assert loss.bandwidth_off == pytest.approx(15 / (45 * 10 / 57))


def test_links_that_distances_hide_are_counted() -> None:
    """Reported as a ring; measured, opposite nodes are linked as well."""
    flat = np.where(np.eye(4, dtype=bool), 120.0, 192.0)
    topology = host_topology(ring(), measured(flat))
    assert topology.slit is not None
    assert topology.slit.reported
    assert "reported: 10 16 22) preserve 4 of 6 links, without 0-2, 1-3; " in slit_text(
        topology.slit
    )
    assert "off by up to 2.20 times" in slit_text(topology.slit)
    found = topology.to_json()["slit"]
    assert found["links_lost"] == [[0, 2], [1, 3]]
    assert found["bandwidth_off"] == pytest.approx(2.2)


def test_what_was_not_measured_is_no_loss() -> None:
    matrix = latencies()
    matrix[3, :] = np.nan
    rates = np.full_like(matrix, np.nan)
    topology = host_topology(ring(idle=3), Matrices(matrix, rates))
    assert topology.slit is not None
    assert topology.slit.bandwidth_off is None
    assert "bandwidth" not in slit_text(topology.slit)
    assert {link.gb_per_s for link in topology.links} == {None}
    assert topology.adjacency is not None
    assert np.isnan(topology.adjacency.gb_per_s).all()
    alone = slit_loss(Matrices(matrix[3:, 3:], rates[3:, 3:]), LinkGraph((Memory(1, 1),), ()), None)
    assert alone is None


def test_a_node_without_cpus_has_distances_from_the_others() -> None:
    matrix = latencies()
    matrix[3, :] = np.nan
    table = slit_of(matrix)
    assert table[0].tolist() == list(RING[0])
    assert np.isnan(table[3]).all()
