"""The state of all events at every tick, estimated from the few that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.estimate.estimating import estimate
    from gnomon.analysis.estimate.identify.autocorrelation import close, simulate
    from gnomon.analysis.estimate.kalman import BlockFilter, BlockKalman
    from gnomon.analysis.estimate.model import Model, strict
    from gnomon.analysis.estimate.propagation import Bounds, formula_estimates
    from gnomon.analysis.estimate.recorded import has_estimates, stored_estimates
    from gnomon.analysis.estimate.result import Closure, Estimates, Layout, Readings, State

__all__ = [
    "BlockFilter",
    "BlockKalman",
    "Bounds",
    "Closure",
    "Estimates",
    "Layout",
    "Model",
    "Readings",
    "State",
    "close",
    "estimate",
    "formula_estimates",
    "has_estimates",
    "simulate",
    "stored_estimates",
    "strict",
]

_MODULES = {
    "estimating": ("estimate",),
    "identify.autocorrelation": ("close", "simulate"),
    "kalman": ("BlockFilter", "BlockKalman"),
    "model": ("Model", "strict"),
    "propagation": ("Bounds", "formula_estimates"),
    "recorded": ("has_estimates", "stored_estimates"),
    "result": ("Closure", "Estimates", "Layout", "Readings", "State"),
}

__getattr__, __dir__ = lazy_names(
    __name__, {name: module for module, names in _MODULES.items() for name in names}
)
