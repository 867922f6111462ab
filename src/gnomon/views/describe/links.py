"""How nodes and the links between them look, as they are reported and as they were measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gnomon import units
from gnomon.analysis.links.result import Basis, LinkFacts, LinksResult, NodeFacts, SlitLoss
from gnomon.result import Simulated
from gnomon.views import blocks as b
from gnomon.views.shared import counted

_MOST_NODES = 16  # whose matrices stand unfolded
_MOST_APART = 6  # sentences that stand unfolded
_FACTOR = 1.5  # from here on an error is told as a factor
_CAPTIONS = {
    Basis.DESCRIBED: "Links of the simulated machine.",
    Basis.DISTANCES: "Links inferred from the reported distances; --measure measures them.",
    Basis.MEASURED: "Links as measured.",
}


def describe(result: LinksResult) -> Iterator[b.Block]:
    """Yield what there is to see of nodes and links, from the result alone."""
    count = len(result.nodes)
    name = f", {result.topology}" if result.topology and count > 2 else ""
    yield b.Headline(f"{result.machine}: {counted(count, 'node')}{name}")
    if count > 1:
        yield from _apart(result)
    if result.nodes:
        yield graph(result)
    if count == 1:
        yield _alone(result)
    yield from _matrices(result)
    if count > 1 and result.alike:
        groups = " | ".join(" ".join(map(str, group)) for group in result.alike)
        yield b.Facts((("equivalent nodes", groups),))


def _apart(result: LinksResult) -> Iterator[b.Block]:
    """Yield where reported and measured are apart, and what distances alone would tell."""
    if result.measured is None:
        return
    if not result.disagreements:
        yield b.Finding("Reported and measured values agree.", b.Tone.GOOD)
    for text in result.disagreements[:_MOST_APART]:
        yield b.Finding(text, b.Tone.DOUBT)
    rest = result.disagreements[_MOST_APART:]
    if rest:
        brief = f"{len(rest)} more disagreements of reported and measured values"
        yield b.Fold(brief, tuple(map(b.Text, rest)))
    if result.slit is not None:
        yield b.Text(slit_text(result.slit))


def slit_text(slit: SlitLoss) -> str:
    """Return what a table of distances alone keeps of what was measured."""
    values = " ".join(map(str, slit.values[:_MOST_NODES]))
    source = "reported" if slit.reported else "as firmware would report"
    kept = f"{slit.links - len(slit.links_lost)} of {slit.links} links"
    for word, pairs in (("without", slit.links_lost), ("with", slit.links_invented)):
        if pairs:
            there = " that do not exist" * (word == "with")
            kept += f", {word} {', '.join(f'{a}-{b}' for a, b in pairs)}{there}"
    text = f"Distances alone ({source}: {values}) preserve {kept}"
    if slit.bandwidth_off is None or slit.bandwidth_worst is None:
        return f"{text}."
    off = (
        f"{units.number(slit.bandwidth_off, digits=3)} times"
        if slit.bandwidth_off >= _FACTOR
        else units.number(slit.bandwidth_off - 1, "%")
    )
    way = "->".join(map(str, slit.bandwidth_worst))
    return f"{text}; bandwidth derived as the inverse of distance is off by up to {off} ({way})."


def _alone(result: LinksResult) -> b.Text:
    only = result.nodes[0].number
    where = f"--on {result.machine} " if result.simulated is Simulated.YES else ""
    return b.Text(
        f"One node has no links. Its memory is channel {only}->{only}, which can be loaded: "
        f"`gnomon links {where}saturate {only}-{only}`. Simulated machines have links, as in "
        "`gnomon links --on ring-4`."
    )


def graph(result: LinksResult) -> b.Graph:
    """Return the nodes and the links as far as they are known."""
    place = {node.number: index for index, node in enumerate(result.nodes)}
    told = any(node.latency_ns or node.gb_per_s for node in result.nodes)
    edges = tuple(
        b.Edge(place[link.ends[0]], place[link.ends[1]], _link(link)) for link in result.links
    )
    caption = _CAPTIONS[result.basis] if result.basis is not None and edges else ""
    names = ("distance",) if result.basis is Basis.DISTANCES else ()
    return b.Graph(tuple(_node(node, told=told) for node in result.nodes), edges, caption, names)


def _link(link: LinkFacts) -> tuple[b.Cell, ...]:
    if link.distance is not None:
        return (b.Cell(link.distance),)
    found = []
    if link.gb_per_s is not None:
        found.append(b.Cell(link.gb_per_s * 1e9, "B/s"))
    if link.latency_ns is not None:
        found.append(b.Cell(link.latency_ns, "ns"))
    if link.duplex:
        found.append(b.Cell(f"{link.duplex} duplex"))
    return tuple(found)


def _node(node: NodeFacts, *, told: bool) -> b.Node:
    """Return the box of a node; where HMAT tells of some nodes, all boxes have room for it."""
    facts: list[str | tuple[str, b.Cell]] = [
        f"{node.cpus} CPU{'s' * (node.cpus != 1)}" if node.cpus else "no CPUs"
    ]
    if node.memory:
        facts.append(("", b.Cell(node.memory, "B")))
    else:
        facts.append("memory" if node.memory is None else "no memory")
    if node.gb_per_s is not None:
        facts.append(("HMAT", b.Cell(node.gb_per_s * 1e9, "B/s")))
    if node.latency_ns is not None:
        facts.append(("HMAT", b.Cell(node.latency_ns, "ns")))
    if told and node.initiators and node.number not in node.initiators:
        facts.append(f"from {'/'.join(map(str, node.initiators))}")
    return b.Node(f"node {node.number}", tuple(facts))


def _matrices(result: LinksResult) -> Iterator[b.Block]:
    tables = []
    if result.distances is not None and len(result.nodes) > 1:
        tables.append(_matrix(result, result.distances, "", "Reported distances; 10 is local."))
    if result.measured is not None:
        latency, rate = result.measured.latency_ns, result.measured.gb_per_s * 1e9
        way = "row: node that reads; column: node with the memory"
        tables += [
            _matrix(result, latency, "ns", f"Measured latency of reads ({way})."),
            _matrix(
                result,
                rate,
                "B/s",
                f"Measured bandwidth of reads, with as many generators as add bandwidth ({way}).",
            ),
        ]
    if len(result.nodes) <= _MOST_NODES:
        yield from tables
    else:
        for table in tables:
            yield b.Fold(table.caption, (table,))


def _matrix(result: LinksResult, values: NDArray[np.float64], unit: str, caption: str) -> b.Table:
    names = [str(node.number) for node in result.nodes]
    name = {"": "distances", "ns": "latency", "B/s": "bandwidth"}[unit]
    return b.Table.matrix("node", names, values.tolist(), unit, caption=caption, name=name)
