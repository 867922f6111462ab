"""The state of all events at every tick, estimated from the few that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.estimate.identify.closure import Closure, close, simulate
    from gnomon.analysis.estimate.kalman import BlockFilter, BlockKalman
    from gnomon.analysis.estimate.model import Estimates, Layout, Model, Readings, strict
    from gnomon.analysis.estimate.propagation import Bounds, formula_estimates

__all__ = [
    "BlockFilter",
    "BlockKalman",
    "Bounds",
    "Closure",
    "Estimates",
    "Layout",
    "Model",
    "Readings",
    "close",
    "formula_estimates",
    "simulate",
    "strict",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BlockFilter": "kalman",
        "BlockKalman": "kalman",
        "Bounds": "propagation",
        "Closure": "identify.closure",
        "Estimates": "model",
        "Layout": "model",
        "Model": "model",
        "Readings": "model",
        "close": "identify.closure",
        "formula_estimates": "propagation",
        "simulate": "identify.closure",
        "strict": "model",
    },
)
