"""The topology of a machine as a report of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gnomon.analysis.links.topology import Topology, disagreements
from gnomon.views.links import node_text, slit_lines
from gnomon.views.report.page import Cell, DataTable, Figure, Page, Section
from gnomon.views.topology_svg import graph_svg

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def links_page(topology: Topology) -> Page:
    """Return the report: a drawing, the matrices, and where they are apart."""
    apart = disagreements(topology)
    count = len(topology.nodes)
    name = f", {topology.family}" if topology.family and count > 2 else ""
    lead = [f"{count} node{'s' * (count > 1)}{name}."]
    if topology.measured is not None and count > 1:
        lead.append(
            "Reported and measured are apart: " + " ".join(apart)
            if apart
            else "Reported and measured agree."
        )
        head, *rest = slit_lines(topology) or [""]
        if head:
            lead.append(f"{head[0].upper()}{head[1:]} {'; '.join(map(str.strip, rest))}.")
    parts: list[DataTable | Figure] = []
    graph = topology.best
    # Distances have no unit that a drawing could show.
    if graph is not None and (topology.found is not None or topology.simulated):
        texts = [node_text(topology, index) for index in range(len(topology.nodes))]
        kind = "measured" if topology.found is not None else "as described"
        parts.append(
            Figure(f"Links, {kind}.", svg=graph_svg(topology.name, kind, texts, graph.links))
        )
    if topology.distances is not None:
        parts.append(_table("Reported distances; 10 is local.", topology, topology.distances))
    if topology.measured is not None:
        latency, rate = topology.measured.latency_ns, topology.measured.gb_per_s
        parts.append(_table("Measured latency of a read, ns.", topology, latency))
        parts.append(_table("Measured bandwidth of reads, GB/s.", topology, rate))
    return Page(
        title=f"Links of {topology.name}",
        subtitle="rows read, columns are read",
        sections=(Section("Nodes and links", tuple(lead), tuple(parts)),),
        simulated=topology.simulated,
    )


def _table(caption: str, topology: Topology, matrix: NDArray[np.float64]) -> DataTable:
    numbers = [str(node.number) for node in topology.nodes]
    rows = [
        (
            Cell(number, float(number)),
            *(
                Cell("–") if math.isnan(value) else Cell(f"{value:.4g}", float(value))
                for value in row
            ),
        )
        for number, row in zip(numbers, matrix, strict=True)
    ]
    right = frozenset(range(1, len(numbers) + 1))
    return DataTable(("node", *numbers), tuple(rows), caption, right)
