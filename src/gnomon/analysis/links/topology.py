"""The topology of a machine: what is reported of its nodes, what was measured, and both together.

Firmware reports a distance of each pair (10 is local), and may report latency and bandwidth of
the nearest memory (HMAT). Measurement gives matrices. A graph of links can be had from either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.links.graph import (
    LinkGraph,
    Matrices,
    Memory,
    family,
    node_classes,
)
from gnomon.analysis.links.reconstruct import NOISE, reconstruct
from gnomon.analysis.links.slit import REPORTED_NOISE, SlitLoss, slit_loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.machines.machine import Machine
    from gnomon.stress.nodes import Nodes

_APART = 0.25  # what differs by more than this, relatively, is worth a word


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node as it is reported: its CPUs and memory, and what HMAT says of it, if anything."""

    number: int
    cpus: int
    memory: int | None
    """Bytes, None where it is not told, as for simulated machines; 0 is without memory."""
    latency_ns: float | None = None
    gb_per_s: float | None = None
    initiators: tuple[int, ...] = ()
    """The nodes whose CPUs HMAT's figures are for: the nearest ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """Nodes with what is reported and, perhaps, measured of them."""

    name: str
    simulated: bool
    nodes: tuple[NodeFacts, ...]
    distances: NDArray[np.float64] | None
    """As firmware reports them, 10 for local; None where it reports none."""
    reported: LinkGraph | None
    """The links that distances suggest, or those of a simulated machine's description."""
    measured: Matrices | None = None
    found: LinkGraph | None = None
    """The links that measured matrices suggest."""
    slit: SlitLoss | None = None
    """What a table of distances alone would keep of what was measured."""

    @property
    def best(self) -> LinkGraph | None:
        """The links as far as they are known: measured rather than reported."""
        return self.found or self.reported

    @property
    def classes(self) -> list[list[int]]:
        """Nodes that cannot be told apart by their place, their CPUs and memory."""
        numbers = [node.number for node in self.nodes]
        if self.best is None:
            return [numbers]
        marks = [(node.cpus, node.memory == 0) for node in self.nodes]
        return [[numbers[i] for i in group] for group in node_classes(self.best, marks)]

    @property
    def family(self) -> str | None:
        """The name of the topology, if it has one."""
        return None if self.best is None else family(self.best.pairs, len(self.nodes))


def host_topology(nodes: Nodes) -> Topology:
    """Return the topology of this host as the kernel reports it."""
    facts = tuple(
        NodeFacts(
            node.number,
            len(node.cpus),
            node.memory,
            node.access.read_latency if node.access else None,
            node.access.read_bandwidth / 1e9
            if node.access and node.access.read_bandwidth
            else None,
            node.access.initiators if node.access else (),
        )
        for node in nodes.nodes
    )
    numbers = [node.number for node in nodes.nodes]
    distances = np.array(
        [[nodes.distance(a, b) or np.nan for b in numbers] for a in numbers], float
    )
    known = not np.isnan(distances).any()
    return Topology(
        "this host",
        simulated=False,
        nodes=facts,
        distances=distances if known else None,
        reported=_from_distances(distances, facts) if known else None,
    )


def machine_topology(machine: Machine) -> Topology:
    """Return the topology of a simulated machine as it is described."""
    nodes = tuple(
        NodeFacts(i, node.cores * machine.core.threads, None if node.memory else 0)
        for i, node in enumerate(machine.nodes)
    )
    memories = tuple(
        Memory(node.memory.read_latency_ns, node.memory.gb_per_s)
        if node.memory
        else Memory(np.nan, np.nan)
        for node in machine.nodes
    )
    graph = LinkGraph(memories, machine.links)
    return Topology(machine.name, simulated=True, nodes=nodes, distances=None, reported=graph)


def with_measured(topology: Topology, matrices: Matrices, noise: float = NOISE) -> Topology:
    """Return the topology with measured matrices and the links that they suggest."""
    found = reconstruct(matrices, noise=noise)
    return replace(
        topology,
        measured=matrices,
        found=found,
        slit=slit_loss(matrices, found, topology.distances),
    )


def _from_distances(distances: NDArray[np.float64], nodes: tuple[NodeFacts, ...]) -> LinkGraph:
    """Return the links that distances suggest, with distances in place of nanoseconds.

    Distances say nothing of bandwidth: all links count as one, which is no rate of anything.
    """
    unknown = np.ones_like(distances)
    for index, node in enumerate(nodes):
        unknown[index, index] = node.gb_per_s or 1.0
    return reconstruct(Matrices(distances, unknown), noise=REPORTED_NOISE)


def disagreements(topology: Topology) -> list[str]:
    """Return where reported and measured are apart, a sentence each, by name."""
    if topology.measured is None:
        return []
    numbers = [node.number for node in topology.nodes]
    return [
        *_distance_sentences(topology, numbers),
        *_hmat_sentences(topology, numbers),
        *_link_sentences(topology, numbers),
    ]


def _distance_sentences(topology: Topology, numbers: list[int]) -> list[str]:
    """Compare distances with latencies, both relative to local ones.

    A simulated machine is described in nanoseconds beyond the caches: there it is compared what
    the way adds to a local read.
    """
    assert topology.measured is not None
    seen = topology.measured.latency_ns
    sentences = []
    for a, b in permutations(range(len(numbers)), 2):
        way = f"{numbers[a]}->{numbers[b]}"
        if topology.simulated and topology.reported is not None:
            said = topology.reported.end_to_end().latency_ns
            reported, measured = said[a, b] - said[a, a], seen[a, b] - seen[a, a]
            if _apart(reported, measured):
                sentences.append(
                    f"{way}: described as {reported:g} ns more than local; measured "
                    f"{measured:.4g} ns more."
                )
        elif topology.distances is not None:
            said = topology.distances
            reported, measured = said[a, b] / said[a, a], seen[a, b] / seen[a, a]
            if _apart(reported, measured):
                sentences.append(
                    f"{way}: reported as {said[a, b]:g}, {reported:.2g} times local; measured "
                    f"{seen[a, b]:.4g} ns, {measured:.2g} times local."
                )
    return sentences


def _apart(reported: float, measured: float) -> bool:
    """Whether two figures are worth a word; what is not known is not apart."""
    if np.isnan(reported) or np.isnan(measured):
        return False
    return bool(abs(measured - reported) > _APART * abs(reported))


def _hmat_sentences(topology: Topology, numbers: list[int]) -> list[str]:
    assert topology.measured is not None
    sentences = []
    for index, node in enumerate(topology.nodes):
        # A node without CPUs is read by those that firmware names as nearest.
        readers = [numbers.index(each) for each in node.initiators if each in numbers] or [index]
        reader = index if index in readers else readers[0]
        way = f"{numbers[reader]}->{numbers[index]}"
        seen = topology.measured.latency_ns[reader, index]
        if node.latency_ns and _apart(node.latency_ns, seen):
            sentences.append(
                f"{way}: HMAT reports a latency of {node.latency_ns:g} ns; measured {seen:.4g} ns."
            )
        rate = topology.measured.gb_per_s[reader, index]
        # Less is no contradiction: few generators may not reach what there is.
        if node.gb_per_s and not np.isnan(rate) and rate > (1 + _APART) * node.gb_per_s:
            sentences.append(
                f"{way}: HMAT reports a bandwidth of {node.gb_per_s:g} GB/s; measured "
                f"{rate:.4g} GB/s."
            )
    return sentences


def _link_sentences(topology: Topology, numbers: list[int]) -> list[str]:
    if topology.found is None or topology.reported is None:
        return []
    source = "the description" if topology.simulated else "reported distances"
    only_reported = sorted(topology.reported.pairs - topology.found.pairs)
    only_found = sorted(topology.found.pairs - topology.reported.pairs)
    return [
        f"link {numbers[a]}-{numbers[b]}: {source} suggest{'s' * topology.simulated} it, measured "
        "latencies do not."
        for a, b in only_reported
    ] + [
        f"link {numbers[a]}-{numbers[b]}: measured latencies suggest it, {source} "
        f"do{'es' * topology.simulated} not."
        for a, b in only_found
    ]
