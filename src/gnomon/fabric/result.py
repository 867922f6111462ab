"""Simulated fabrics to look at: all that come with gnomon, or one in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from gnomon.recording.contents import Provenance
from gnomon.result import Result

if TYPE_CHECKING:
    from gnomon.fabric.description import Fabric


@dataclass(frozen=True, slots=True)
class FabricRow:
    """A fabric; buffers are those of each class of packets at a controller, 0 is any number."""

    name: str
    title: str
    topology: str
    nodes: int
    rings: int
    links: int
    link_gb_per_s: float
    link_ns: float
    go_bits: bool
    blink_ns: float
    output_queue: int
    active_buffers: int
    input_buffers: int
    reads: int
    writes: int
    messages: int


@dataclass(frozen=True, slots=True)
class FabricsResult(Result):
    """Simulated interconnects; `loads` are what they can be given, `explained` is one in full."""

    kind: ClassVar[str] = "fabrics"

    rows: tuple[FabricRow, ...]
    layout: str = ""
    loads: tuple[tuple[str, str], ...] = ()
    explained: bool = False


def list_fabrics() -> FabricsResult:
    """Return the fabrics that come with gnomon."""
    from gnomon.fabric.description import fabric_names, load_fabric
    from gnomon.fabric.layout import load_layout

    rows = tuple(_row(load_fabric(name)) for name in fabric_names())
    return FabricsResult(rows, load_layout().name, provenance=_ORIGIN)


def show_fabric(name: str) -> FabricsResult:
    """Return all that describes a fabric, by its name or its .toml file."""
    from gnomon.fabric.description import load_fabric
    from gnomon.fabric.layout import load_layout
    from gnomon.fabric.words import LOADS, PREFIX

    loads = tuple((PREFIX + name, text) for name, text in LOADS.items())
    row = _row(load_fabric(name))
    return FabricsResult((row,), load_layout().name, loads, explained=True, provenance=_ORIGIN)


_ORIGIN = Provenance("fabric", simulated=True)


def _row(fabric: Fabric) -> FabricRow:
    limits, ns = fabric.adapter, fabric.symbol_ns
    return FabricRow(
        fabric.name,
        fabric.title,
        fabric.kind,
        fabric.topology.hosts,
        len(fabric.topology.rings),
        len(fabric.topology.controllers),
        fabric.gb_per_s,
        fabric.delay * ns,
        fabric.go_bits,
        fabric.blink * ns,
        fabric.queue,
        fabric.active,
        limits.incoming,
        limits.reads,
        limits.writes,
        limits.messages,
    )
