"""Load and probes of this host's memory: placement, streams, pointer chases, bouncing lines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
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
}


def __getattr__(name: str) -> Any:
    # Names are fetched on first use: nodes are known without the compiled kernels.
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
