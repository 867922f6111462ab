"""Links between nodes: the graph behind matrices of latency and bandwidth, and loads on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.links.experiments import crosstalk, idle_busy, saturate
    from gnomon.analysis.links.results import CrossTalk, Saturation
    from gnomon.analysis.links.simulated import SimulatedLoader

__all__ = [
    "CrossTalk",
    "Saturation",
    "SimulatedLoader",
    "crosstalk",
    "idle_busy",
    "saturate",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "CrossTalk": "results",
        "Saturation": "results",
        "SimulatedLoader": "simulated",
        "crosstalk": "experiments",
        "idle_busy": "experiments",
        "saturate": "experiments",
    },
)
