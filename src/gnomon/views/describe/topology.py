"""The nodes and links of a machine as a graph, for every result that has one to show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views.blocks import Block, Cell, Edge, Graph, Node, Section

if TYPE_CHECKING:
    from gnomon.machines import Machine
    from gnomon.recording.model import Provenance


def graph_of(machine: Machine, caption: str = "") -> Graph:
    """Return the nodes of a machine with their cores and memory, and the links between them."""
    nodes = []
    for number, node in enumerate(machine.nodes):
        facts: list[str | tuple[str, Cell]] = []
        threads = f" × {machine.core.threads} threads" if machine.core.threads > 1 else ""
        cores = f"{node.cores} core{'s' * (node.cores > 1)}{threads}"
        facts.append(cores if node.cores else "no cores")
        if node.memory is None:
            facts.append("no memory")
        else:
            facts.append(("", Cell(node.memory.gb_per_s * 1e9, "B/s")))
            facts.append(("", Cell(node.memory.read_latency_ns, "ns")))
        nodes.append(Node(f"node {number}", tuple(facts)))
    edges = [
        Edge(
            link.ends[0],
            link.ends[1],
            (
                Cell(link.gb_per_s * 1e9, "B/s"),
                Cell(link.latency_ns, "ns"),
                Cell(f"{link.duplex} duplex"),
            ),
        )
        for link in machine.links
    ]
    return Graph(tuple(nodes), tuple(edges), caption)


def machine_of(origin: Provenance | None) -> Iterator[Block]:
    """Yield the simulated machine that numbers come from, where its description can be found."""
    if origin is None or not origin.machine:
        return
    from gnomon.errors import GnomonError
    from gnomon.machines import load_machine

    try:
        machine = load_machine(origin.machine)
    except GnomonError:  # a description of somebody's own, which is not here
        return
    yield Section("The simulated machine")
    yield graph_of(machine, f"The topology of {machine.title}, as it is simulated.")
