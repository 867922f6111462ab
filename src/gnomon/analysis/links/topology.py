"""The topology of a machine: what is reported of its nodes, what was measured, and both together.

Firmware reports a distance of each pair (10 is local), and may report latency and bandwidth of
the nearest memory (HMAT). Measurement gives matrices. A graph of links can be had from either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.links.graph import LinkGraph, Memory, family, node_classes
from gnomon.analysis.links.reconstruct import reconstruct
from gnomon.analysis.links.result import (
    Basis,
    LinkFacts,
    LinksResult,
    Matrices,
    NodeFacts,
    Pair,
    SlitLoss,
)
from gnomon.recording.contents import Provenance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.fabric import Fabric
    from gnomon.machines.machine import Link, Machine
    from gnomon.stress.nodes import Node, Nodes

_APART = 0.25  # what differs by more than this, relatively, is worth a word


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is reported of a machine, and what was measured; nodes by their place."""

    nodes: tuple[NodeFacts, ...]
    described: bool
    distances: NDArray[np.float64] | None
    reported: LinkGraph | None
    measured: Matrices | None
    found: LinkGraph | None

    @property
    def numbers(self) -> list[int]:
        """The numbers of the nodes, in the order of matrices."""
        return [node.number for node in self.nodes]

    @property
    def rates_measured(self) -> bool:
        """Whether any bandwidth was measured: without one, those of found links mean nothing."""
        return self.measured is not None and not np.isnan(self.measured.gb_per_s).all()


def host_topology(
    nodes: Nodes, measured: Matrices | None = None, *, provenance: Provenance | None = None
) -> LinksResult:
    """Return the topology of this host as the kernel reports it, beside measured matrices."""
    facts = tuple(map(_node_facts, nodes.nodes))
    numbers = [node.number for node in nodes.nodes]
    distances = np.array(
        [[nodes.distance(a, b) or np.nan for b in numbers] for a in numbers], float
    )
    known = not np.isnan(distances).any()
    reported = _from_distances(distances, facts) if known else None
    found = None if measured is None else reconstruct(measured)
    both = _Known(facts, False, distances if known else None, reported, measured, found)
    return _result("this host", both, provenance)


def machine_topology(
    machine: Machine, measured: Matrices | None = None, *, provenance: Provenance | None = None
) -> LinksResult:
    """Return the topology of a simulated machine as described, beside measured matrices."""
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
    found = None if measured is None else reconstruct(measured)
    both = _Known(nodes, True, None, LinkGraph(memories, machine.links), measured, found)
    origin = provenance or Provenance(machine.name, simulated=True, machine=machine.name)
    return _result(machine.name, both, origin)


def fabric_topology(fabric: Fabric, *, provenance: Provenance | None = None) -> LinksResult:
    """Return the links of a simulated fabric as described; each goes one way."""
    nodes = fabric.topology.nodes
    latency, rate = np.full((2, nodes, nodes), np.nan)
    links = []
    for ends in fabric.links:
        way = LinkFacts(ends, fabric.delay * fabric.symbol_ns, fabric.gb_per_s, duplex="one-way")
        latency[ends], rate[ends] = way.latency_ns, way.gb_per_s
        links.append(way)
    return LinksResult(
        machine=fabric.name,
        nodes=tuple(NodeFacts(node, 0, None) for node in range(nodes)),
        topology=fabric.kind,
        reported_links=tuple(links),
        adjacency=Matrices(latency, rate),
        provenance=provenance,
    )


def _node_facts(node: Node) -> NodeFacts:
    access = node.access
    if access is None:
        return NodeFacts(node.number, len(node.cpus), node.memory)
    rate = access.read_bandwidth / 1e9 if access.read_bandwidth else None
    facts = access.read_latency, rate, access.initiators
    return NodeFacts(node.number, len(node.cpus), node.memory, *facts)


def _result(name: str, both: _Known, provenance: Provenance | None) -> LinksResult:
    numbers = both.numbers
    best = both.found or both.reported
    groups = [list(range(len(numbers)))]
    if best is not None:
        marks = [(node.cpus, node.memory == 0) for node in both.nodes]
        groups = node_classes(best, marks)
    slit = None
    if both.measured is not None and both.found is not None:
        slit = slit_loss(both.measured, both.found, both.distances, numbers)
    basis = Basis.DESCRIBED if both.described else Basis.DISTANCES
    return LinksResult(
        machine=name,
        nodes=both.nodes,
        topology=None if best is None else family(best.pairs, len(numbers)),
        distances=both.distances,
        reported_links=_links(both, both.reported, basis),
        measured=both.measured,
        measured_links=_links(both, both.found, Basis.MEASURED),
        adjacency=_adjacency(both),
        alike=tuple(tuple(numbers[i] for i in group) for group in groups),
        disagreements=tuple(_disagreements(both)),
        slit=slit,
        provenance=provenance,
    )


def _links(both: _Known, graph: LinkGraph | None, basis: Basis) -> tuple[LinkFacts, ...] | None:
    """Return links with the numbers of nodes; distances tell neither nanoseconds nor a rate."""

    def one(link: Link) -> LinkFacts:
        ends = both.numbers[link.ends[0]], both.numbers[link.ends[1]]
        if basis is Basis.DISTANCES:
            return LinkFacts(ends, distance=round(link.latency_ns, 3))
        if basis is Basis.MEASURED:
            return LinkFacts(ends, link.latency_ns, link.gb_per_s if both.rates_measured else None)
        return LinkFacts(ends, link.latency_ns, link.gb_per_s, duplex=str(link.duplex))

    return None if graph is None else tuple(map(one, graph.links))


def _adjacency(both: _Known) -> Matrices | None:
    """Return links and memories as matrices; distances alone have neither of the two units."""
    if both.found is not None:
        found = both.found.adjacency()
        rates = found.gb_per_s if both.rates_measured else np.full_like(found.gb_per_s, np.nan)
        return Matrices(found.latency_ns, rates)
    if both.described and both.reported is not None:
        return both.reported.adjacency()
    return None


def _from_distances(distances: NDArray[np.float64], nodes: tuple[NodeFacts, ...]) -> LinkGraph:
    """Return the links that distances suggest, with distances in place of nanoseconds.

    Distances say nothing of bandwidth: all links count as one, which is no rate of anything.
    """
    unknown = np.ones_like(distances)
    for index, node in enumerate(nodes):
        unknown[index, index] = node.gb_per_s or 1.0
    return reconstruct(Matrices(distances, unknown), noise=REPORTED_NOISE)


def _disagreements(both: _Known) -> Iterator[str]:
    """Yield where reported and measured are apart, a sentence each, by number."""
    if both.measured is not None:
        yield from _distance_sentences(both, both.measured)
        yield from _hmat_sentences(both, both.measured)
        yield from _link_sentences(both)


def _distance_sentences(both: _Known, measured: Matrices) -> Iterator[str]:
    """Compare distances with latencies, both relative to local ones.

    A simulated machine is described in nanoseconds beyond the caches: there it is compared what
    the way adds to a local read.
    """
    numbers, seen = both.numbers, measured.latency_ns
    described = both.described and both.reported is not None
    said = both.reported.end_to_end().latency_ns if described and both.reported else both.distances
    if said is None:
        return
    for a, b in permutations(range(len(numbers)), 2):
        way = f"{numbers[a]}->{numbers[b]}"
        if described:
            reported, found = said[a, b] - said[a, a], seen[a, b] - seen[a, a]
            if _apart(reported, found):
                yield (
                    f"{way}: described as {reported:g} ns more than local; measured "
                    f"{found:.4g} ns more."
                )
        else:
            reported, found = said[a, b] / said[a, a], seen[a, b] / seen[a, a]
            if _apart(reported, found):
                yield (
                    f"{way}: reported as {said[a, b]:g}, {reported:.2g} times local; measured "
                    f"{seen[a, b]:.4g} ns, {found:.2g} times local."
                )


def _apart(reported: float, measured: float) -> bool:
    """Whether two figures are worth a word; what is not known is not apart."""
    if np.isnan(reported) or np.isnan(measured):
        return False
    return bool(abs(measured - reported) > _APART * abs(reported))


def _hmat_sentences(both: _Known, measured: Matrices) -> Iterator[str]:
    numbers = both.numbers
    for index, node in enumerate(both.nodes):
        # A node without CPUs is read by those that firmware names as nearest.
        readers = [numbers.index(each) for each in node.initiators if each in numbers] or [index]
        reader = index if index in readers else readers[0]
        way = f"{numbers[reader]}->{numbers[index]}"
        seen = measured.latency_ns[reader, index]
        if node.latency_ns and _apart(node.latency_ns, seen):
            yield (
                f"{way}: HMAT reports a latency of {node.latency_ns:g} ns; measured {seen:.4g} ns."
            )
        rate = measured.gb_per_s[reader, index]
        # Less is no contradiction: few generators may not reach what there is.
        if node.gb_per_s and not np.isnan(rate) and rate > (1 + _APART) * node.gb_per_s:
            yield (
                f"{way}: HMAT reports a bandwidth of {node.gb_per_s:g} GB/s; measured "
                f"{rate:.4g} GB/s."
            )


def _link_sentences(both: _Known) -> Iterator[str]:
    if both.found is None or both.reported is None:
        return
    numbers = both.numbers
    source = "the description" if both.described else "reported distances"
    for a, b in sorted(both.reported.pairs - both.found.pairs):
        yield (
            f"link {numbers[a]}-{numbers[b]}: {source} suggest{'s' * both.described} it, measured "
            "latencies do not."
        )
    for a, b in sorted(both.found.pairs - both.reported.pairs):
        yield (
            f"link {numbers[a]}-{numbers[b]}: measured latencies suggest it, {source} "
            f"do{'es' * both.described} not."
        )


# ---- what a table of distances loses ----------------------------------------------------------
#
# Firmware describes ways between nodes by one number each (the SLIT of ACPI): latency relative to
# local, 10 for local, rounded. Sterz (figure 2.9) names what is lost: bandwidth, not the inverse of
# latency; single links, as the numbers are end to end; and what directions take from each other.
# The first two can be seen in measured matrices: here they are put beside the table.


LOCAL_DISTANCE = 10
_FARTHEST = 254  # the table has a byte for each way, and 255 means that there is none
REPORTED_NOISE = 0.03
"""Distances are round numbers, not measurements."""


def slit_of(latency_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the table of distances that firmware would make of latencies."""
    local = np.diag(latency_ns).copy()
    # Nodes without CPUs or memory have no local latency: that of the others must do.
    local[np.isnan(local)] = np.nanmedian(local)
    scaled = LOCAL_DISTANCE * latency_ns / local[:, None]
    return np.clip(np.round(scaled), LOCAL_DISTANCE, _FARTHEST)


def links_of(distances: NDArray[np.float64]) -> LinkGraph:
    """Return the links that distances alone suggest; there is no bandwidth in them."""
    return reconstruct(Matrices(distances, np.ones_like(distances)), noise=REPORTED_NOISE)


def slit_loss(
    measured: Matrices,
    found: LinkGraph,
    distances: NDArray[np.float64] | None,
    numbers: Sequence[int] | None = None,
) -> SlitLoss | None:
    """Compare measured matrices and links with the reported distances, or with made ones.

    `numbers` are those of the nodes, in the order of the matrices.
    """
    if measured.nodes < 2 or np.isnan(np.diag(measured.latency_ns)).all():
        return None
    number = list(range(measured.nodes) if numbers is None else numbers)
    table = slit_of(measured.latency_ns) if distances is None else distances
    suggested = links_of(table).pairs
    off, worst = _rate_off(measured.gb_per_s, table)

    def named(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
        return tuple((number[a], number[b]) for a, b in sorted(pairs))

    return SlitLoss(
        distances=table,
        reported=distances is not None,
        links=len(found.pairs),
        links_lost=named(found.pairs - suggested),
        links_invented=named(suggested - found.pairs),
        bandwidth_off=off,
        bandwidth_worst=named([worst])[0] if worst is not None else None,
    )


def _rate_off(
    rates: NDArray[np.float64], distances: NDArray[np.float64]
) -> tuple[float | None, Pair | None]:
    most, worst = None, None
    for reader, home in permutations(range(len(rates)), 2):
        expected = rates[home, home] * LOCAL_DISTANCE / distances[reader, home]
        ratio = float(rates[reader, home] / expected)
        if np.isnan(ratio) or ratio <= 0:
            continue
        apart = max(ratio, 1 / ratio)
        if most is None or apart > most:
            most, worst = apart, (reader, home)
    return most, worst
