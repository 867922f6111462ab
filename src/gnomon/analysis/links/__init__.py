"""The links between nodes: topologies, experiments on links, and programs beside load.

result = links(on="ring-4", measure=True)
for link in result.links:
    print(link.ends, link.gb_per_s)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.links.experiments import (
        crosstalk,
        emulate,
        idle_busy,
        load_to,
        measure_matrices,
        saturate,
    )
    from gnomon.analysis.links.measuring import links
    from gnomon.analysis.links.result import CrossTalk, LinksExperiment, LinksResult, Saturation
    from gnomon.analysis.links.simulated import SimulatedLoader

__all__ = [
    "CrossTalk",
    "LinksExperiment",
    "LinksResult",
    "Saturation",
    "SimulatedLoader",
    "crosstalk",
    "emulate",
    "idle_busy",
    "links",
    "load_to",
    "measure_matrices",
    "saturate",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("CrossTalk", "LinksExperiment", "LinksResult", "Saturation"), "result"),
        **dict.fromkeys(
            ("crosstalk", "emulate", "idle_busy", "load_to", "measure_matrices", "saturate"),
            "experiments",
        ),
        "SimulatedLoader": "simulated",
        "links": "measuring",
    },
)
