"""A small isosurface ray tracer over software shared memory, in real processes.

Bricks of a volume live on home nodes, which are processes; other nodes ask for them and keep
some in a direct-mapped cache. Each process has a communicator and some renderers. It measures
itself with regions: what a miss costs, how misses grow with nodes, renderers and the size of
bricks, and what it costs when the wrong thread is woken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.raytracer.result import (
        BrickSweep,
        DirtError,
        DirtRun,
        MissSweep,
        Settings,
        WakeComparison,
    )
    from gnomon.analysis.raytracer.supervisor import render, write_png
    from gnomon.analysis.raytracer.sweeps import compare_wakes, sweep_bricks, sweep_misses

__all__ = [
    "BrickSweep",
    "DirtError",
    "DirtRun",
    "MissSweep",
    "Settings",
    "WakeComparison",
    "compare_wakes",
    "render",
    "sweep_bricks",
    "sweep_misses",
    "write_png",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BrickSweep": "result",
        "DirtError": "result",
        "DirtRun": "result",
        "MissSweep": "result",
        "Settings": "result",
        "WakeComparison": "result",
        "compare_wakes": "sweeps",
        "render": "supervisor",
        "sweep_bricks": "sweeps",
        "sweep_misses": "sweeps",
        "write_png": "supervisor",
    },
)
