"""A small isosurface ray tracer over software shared memory, in real processes.

Bricks of a volume live on home nodes, which are processes; other nodes ask for them and keep
some in a direct-mapped cache. Each process has a communicator and some renderers. It measures
itself with regions: what a miss costs, how misses grow with nodes, renderers and the size of
bricks, and what it costs when the wrong thread is woken.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
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
}


def __getattr__(name: str) -> Any:
    # Names are fetched on first use: the package itself imports nothing.
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
