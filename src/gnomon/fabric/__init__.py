"""Simulated interconnects: SCI rings, tori and switches, packet by packet, exact in symbol time.

`Fabric` says what the rings are, `Load` what their nodes send, `FabricRun` runs it. Lengths and
bits of packets are declared by gnomon, in `layout.toml`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.fabric.description import Adapter, Fabric, fabric_names, load_fabric, parse_fabric
    from gnomon.fabric.layout import Layout, load_layout
    from gnomon.fabric.load import Category, Gaps, Listed, Load, Operation, operation
    from gnomon.fabric.run import COLUMNS, Columns, FabricRun, Points, idle_rows
    from gnomon.fabric.topology import FabricError, Topology, ring, switch, torus

__all__ = [
    "COLUMNS",
    "Adapter",
    "Category",
    "Columns",
    "Fabric",
    "FabricError",
    "FabricRun",
    "Gaps",
    "Layout",
    "Listed",
    "Load",
    "Operation",
    "Points",
    "Topology",
    "fabric_names",
    "idle_rows",
    "load_fabric",
    "load_layout",
    "operation",
    "parse_fabric",
    "ring",
    "switch",
    "torus",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(
            (
                "Adapter",
                "Fabric",
                "fabric_names",
                "load_fabric",
                "parse_fabric",
            ),
            "description",
        ),
        **dict.fromkeys(
            (
                "Layout",
                "load_layout",
            ),
            "layout",
        ),
        **dict.fromkeys(
            (
                "Category",
                "Gaps",
                "Listed",
                "Load",
                "Operation",
                "operation",
            ),
            "load",
        ),
        **dict.fromkeys(
            (
                "COLUMNS",
                "Columns",
                "FabricRun",
                "Points",
                "idle_rows",
            ),
            "run",
        ),
        **dict.fromkeys(
            (
                "FabricError",
                "Topology",
                "ring",
                "switch",
                "torus",
            ),
            "topology",
        ),
    },
)
