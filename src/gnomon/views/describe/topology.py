"""The nodes and links of a machine as a graph, for every result that has one to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.machines import Machine
    from gnomon.recording.contents import Provenance


def graph_of(machine: Machine, caption: str = "") -> b.Graph:
    """Return the nodes of a machine with their cores and memory, and the links between them."""
    nodes = []
    for number, node in enumerate(machine.nodes):
        facts: list[str | tuple[str, b.Cell]] = []
        threads = f" × {machine.core.threads} threads" if machine.core.threads > 1 else ""
        cores = f"{node.cores} core{'s' * (node.cores > 1)}{threads}"
        facts.append(cores if node.cores else "no cores")
        if node.memory is None:
            facts.append("no memory")
        else:
            facts.append(("", b.Cell(node.memory.gb_per_s * 1e9, "B/s")))
            facts.append(("", b.Cell(node.memory.read_latency_ns, "ns")))
        nodes.append(b.Node(f"node {number}", tuple(facts)))
    edges = [
        b.Edge(
            link.ends[0],
            link.ends[1],
            (
                b.Cell(link.gb_per_s * 1e9, "B/s"),
                b.Cell(link.latency_ns, "ns"),
                b.Cell(f"{link.duplex} duplex"),
            ),
        )
        for link in machine.links
    ]
    return b.Graph(tuple(nodes), tuple(edges), caption)


def machines_of(origins: Iterable[Provenance]) -> Iterator[b.Block]:
    """Yield the simulated machines that numbers come from, as far as they can be found."""
    names = dict.fromkeys(name for origin in origins for name in origin.machine.split(", ") if name)
    if not names:
        return
    from gnomon.errors import GnomonError
    from gnomon.machines import load_machine

    headed = False
    for name in names:
        try:
            machine = load_machine(name)
        except GnomonError:  # a description of somebody's own, which is not here
            continue
        if not headed:
            yield b.Section("The simulated machine")
            headed = True
        yield graph_of(machine, f"The topology of {machine.title}, as it is simulated.")
