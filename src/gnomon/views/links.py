"""How nodes and the links between them look."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.analysis.links.topology import Topology, disagreements
from gnomon.machines.machine import Link
from gnomon.units import format_bytes
from gnomon.views.table import Column, Table
from gnomon.views.topology import draw_graph, whole_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.analysis.links.graph import LinkGraph, Matrices, Pair

_MOST_NODES = 16  # whose matrices still fit a screen
_TIMES = 1.5  # from here on an error is told as a factor


def heading(topology_name: str, *, simulated: bool) -> str:
    """Return where something was measured, marked when it was simulated."""
    return f"SIMULATED {topology_name}" if simulated else topology_name


def print_topology(topology: Topology, stream: TextIO) -> None:
    """Write nodes, links and matrices, and where reported and measured are apart."""
    count = len(topology.nodes)
    stream.write(f"{heading(topology.name, simulated=topology.simulated)}: {_kind(topology)}\n\n")
    stream.writelines(line + "\n" for line in drawing(topology))
    if topology.distances is not None and count > 1:
        _print_matrix("reported distances (10 is local)", topology.distances, topology, stream)
    if topology.measured is not None:
        latency, rate = topology.measured.latency_ns, topology.measured.gb_per_s
        title = "measured latency of a read, ns: node that reads, by home"
        _print_matrix(title, latency, topology, stream)
        _print_matrix(
            "measured bandwidth of reads, GB/s, with as many generators as bring more",
            rate,
            topology,
            stream,
        )
    if count > 1:
        groups = " | ".join(" ".join(map(str, group)) for group in topology.classes)
        stream.write(f"\n  nodes that are alike: {groups}\n")
    if topology.measured is not None and count > 1:
        apart = disagreements(topology)
        stream.write(f"  reported and measured {'are apart:' if apart else 'agree'}\n")
        stream.writelines(f"    {sentence}\n" for sentence in apart)
        stream.writelines(f"  {line}\n" for line in slit_lines(topology))
    if count == 1:
        only = topology.nodes[0].number
        where = f"--on {topology.name} " if topology.simulated else ""
        stream.write(
            f"\n  One node has no links. Its memory is channel {only}->{only}, to be loaded and\n"
            f"  measured: `gnomon links {where}saturate {only}-{only}`. For links there are\n"
            "  simulated machines, as in `gnomon links --on ring-4`.\n"
        )


def slit_lines(topology: Topology) -> list[str]:
    """Return what a table of distances alone keeps of what was measured."""
    slit = topology.slit
    if slit is None:
        return []
    numbers = [node.number for node in topology.nodes]
    values = " ".join(map(str, slit.values[:_MOST_NODES]))
    source = "reported" if slit.reported else "as firmware would report them"
    lines = [f"distances alone ({source}: {values}) would tell"]
    parts = [
        f"{word} {', '.join(f'{numbers[a]}-{numbers[b]}' for a, b in sorted(pairs))}"
        for word, pairs in (("without", slit.lost), ("also", slit.invented))
        if pairs
    ]
    kept = slit.links - len(slit.lost)
    lines.append(f"  {kept} of {slit.links} links{', ' * bool(parts)}{', '.join(parts)}")
    if slit.rate_off is not None and slit.worst is not None:
        way = "->".join(str(numbers[end]) for end in slit.worst)
        off = (
            f"{slit.rate_off:.2f} times" if slit.rate_off >= _TIMES else f"{slit.rate_off - 1:.0%}"
        )
        lines.append(f"  bandwidth, taken as the inverse of distance, {off} off at worst ({way})")
    return lines


def drawing(topology: Topology) -> list[str]:
    """Return the nodes and the links that are known."""
    texts = [node_text(topology, index) for index in range(len(topology.nodes))]
    graph = topology.best
    links = graph.links if graph else ()
    lines = draw_graph(texts, links, _describe(topology))
    if graph is not None and links and topology.found is None and not topology.simulated:
        lines.append("  (links as the reported distances suggest them; --measure finds out)")
    return lines


def _describe(topology: Topology) -> Any:
    if topology.found is not None:
        return lambda link: f"measured {link.gb_per_s:.3g} GB/s, {link.latency_ns:.3g} ns"
    if topology.simulated:
        return whole_text
    return lambda link: f"distance {link.latency_ns:.3g} more"


def _kind(topology: Topology) -> str:
    count = len(topology.nodes)
    nodes = f"{count} node{'s' * (count > 1)}"
    name = topology.family
    return f"{nodes}, {name}" if name and count > 2 else nodes


def node_text(topology: Topology, index: int) -> list[str]:
    """Return what a box says of a node."""
    node = topology.nodes[index]
    cpus = f"{node.cpus} CPU{'s' * (node.cpus != 1)}" if node.cpus else "no CPUs"
    if node.memory is None:
        memory = "memory"
    elif node.memory == 0:
        memory = "no memory"
    else:
        memory = format_bytes(node.memory)
    lines = [f"node {node.number}", cpus, memory]
    if node.latency_ns is not None or node.gb_per_s is not None:
        parts = []
        if node.gb_per_s is not None:
            parts.append(f"{node.gb_per_s:g} GB/s")
        if node.latency_ns is not None:
            parts.append(f"{node.latency_ns:g} ns")
        remote = node.initiators and node.number not in node.initiators
        source = f" from {'/'.join(map(str, node.initiators))}" if remote else ""
        lines.append(f"HMAT {', '.join(parts)}{source}")
    elif any(n.latency_ns or n.gb_per_s for n in topology.nodes):
        lines.append("")
    return lines


def _print_matrix(
    title: str, matrix: NDArray[np.float64], topology: Topology, stream: TextIO
) -> None:
    stream.write(f"\n  {title}\n")
    numbers = [str(node.number) for node in topology.nodes]
    if len(numbers) > _MOST_NODES:
        stream.write(f"  {len(numbers)} nodes: see --json\n")
        return
    table = Table((Column("node"), *(Column(number, right=True) for number in numbers)))
    for number, row in zip(numbers, matrix, strict=True):
        table.add(number, *("–" if math.isnan(value) else f"{value:.4g}" for value in row))
    table.print(stream)


def topology_as_json(topology: Topology) -> dict[str, Any]:
    """Return all that is known of nodes and links."""
    return {
        "machine": topology.name,
        "nodes": [asdict(node) for node in topology.nodes],
        "topology": topology.family,
        "distances": None if topology.distances is None else _rows(topology.distances),
        "reported_links": _links_as_json(topology.reported, topology),
        "measured": _matrices_as_json(topology.measured),
        "measured_links": _links_as_json(topology.found, topology),
        "adjacency": _adjacency(topology),
        "alike": topology.classes,
        "disagreements": disagreements(topology),
        "slit": _slit_as_json(topology),
    }


def _slit_as_json(topology: Topology) -> dict[str, Any] | None:
    slit = topology.slit
    if slit is None:
        return None
    numbers = [node.number for node in topology.nodes]

    def named(pairs: Iterable[Pair]) -> list[list[int]]:
        return [[numbers[a], numbers[b]] for a, b in sorted(pairs)]

    return {
        "distances": _rows(slit.distances),
        "reported": slit.reported,
        "links_lost": named(slit.lost),
        "links_invented": named(slit.invented),
        "bandwidth_off": slit.rate_off,
        "bandwidth_worst": None if slit.worst is None else named([slit.worst])[0],
    }


def _rows(matrix: NDArray[np.float64]) -> list[list[float | None]]:
    return [[None if math.isnan(value) else float(value) for value in row] for row in matrix]


def _adjacency(topology: Topology) -> dict[str, Any] | None:
    """Return links and memories as matrices; distances alone have neither of the two units."""
    graph = topology.found or (topology.reported if topology.simulated else None)
    return None if graph is None else _matrices_as_json(graph.adjacency())


def _matrices_as_json(matrices: Matrices | None) -> dict[str, Any] | None:
    if matrices is None:
        return None
    return {"latency_ns": _rows(matrices.latency_ns), "gb_per_s": _rows(matrices.gb_per_s)}


def _links_as_json(graph: LinkGraph | None, topology: Topology) -> list[dict[str, Any]] | None:
    if graph is None:
        return None
    # Distances are neither nanoseconds nor do they tell a rate.
    from_distances = graph is topology.reported and not topology.simulated
    numbers = [node.number for node in topology.nodes]

    def one(link: Link) -> dict[str, Any]:
        ends = [numbers[end] for end in link.ends]
        if from_distances:
            return {"ends": ends, "distance": round(link.latency_ns, 3)}
        return {"ends": ends, "latency_ns": link.latency_ns, "gb_per_s": link.gb_per_s}

    return [one(link) for link in graph.links]
