"""Load and probes of this host's memory: placement, streams, pointer chases, bouncing lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.stress.chase import Chase
    from gnomon.stress.host_loader import HostLoader
    from gnomon.stress.memory import Buffer
    from gnomon.stress.nodes import MOST_GENERATORS, Channel, Node, Nodes, read_nodes
    from gnomon.stress.samples import HostLoad, LoadWatch, Samples
    from gnomon.stress.streams import Stream

__all__ = [
    "MOST_GENERATORS",
    "Buffer",
    "Channel",
    "Chase",
    "HostLoad",
    "HostLoader",
    "LoadWatch",
    "Node",
    "Nodes",
    "Samples",
    "Stream",
    "read_nodes",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Buffer": "memory",
        "Channel": "nodes",
        "Chase": "chase",
        "HostLoad": "samples",
        "HostLoader": "host_loader",
        "LoadWatch": "samples",
        "MOST_GENERATORS": "nodes",
        "Node": "nodes",
        "Nodes": "nodes",
        "Samples": "samples",
        "Stream": "streams",
        "read_nodes": "nodes",
    },
)
