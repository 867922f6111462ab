"""The topology of a machine as a drawing of characters: nodes as boxes, links as lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gnomon.views.terminal import graph

if TYPE_CHECKING:
    from gnomon.machines.machine import Link, Machine, Node


def draw_topology(machine: Machine) -> list[str]:
    """Return a machine as lines of text, with what the links are below it."""
    texts = [node_lines(machine, number) for number in range(len(machine.nodes))]
    return draw_graph(texts, machine.links)


def whole_text(link: Link) -> str:
    """Return all there is to say of a link."""
    return f"{link_text(link)}, {link.duplex} duplex"


def draw_graph(
    texts: Sequence[Sequence[str]],
    links: Sequence[Link],
    describe: Callable[[Link], str] = whole_text,
) -> list[str]:
    """Return nodes with these texts and their links as lines of text, with a legend below."""
    return graph.draw_graph(texts, [link.ends for link in links], [*map(describe, links)])


def node_lines(machine: Machine, number: int) -> list[str]:
    """Return what a box says of a node: its cores and its memory."""
    node: Node = machine.nodes[number]
    lines = [f"node {number}"]
    if node.cores:
        cores = f"{node.cores} core{'s' * (node.cores > 1)}"
        threads = machine.core.threads
        lines.append(f"{cores} x {threads} threads" if threads > 1 else cores)
    else:
        lines.append("no cores")
    if node.memory is None:
        lines.append("no memory")
    else:
        lines.append(f"{node.memory.gb_per_s:g} GB/s, {node.memory.read_latency_ns:g} ns")
    return lines


def link_text(link: Link) -> str:
    """Return the rate and the latency of a link."""
    return f"{link.gb_per_s:g} GB/s, {link.latency_ns:g} ns"


def alike(links: Sequence[Link]) -> bool:
    """Whether all links have the same rate, latency and duplex."""
    return len({(link.gb_per_s, link.latency_ns, link.duplex) for link in links}) <= 1


def square_order(nodes: int, links: Sequence[Link]) -> tuple[int, ...]:
    """Return up to four nodes clockwise, so that as many links as possible are sides."""
    return graph.square_order(nodes, [link.ends for link in links])
