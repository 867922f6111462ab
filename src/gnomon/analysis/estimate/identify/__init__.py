"""Identification: which process an event follows, from series of it, and where that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.estimate.identify.autocorrelation import close, fit, identify_series
    from gnomon.analysis.estimate.identify.recordings import identify
    from gnomon.analysis.estimate.identify.store import (
        find_parameters,
        load_parameters,
        store_parameters,
    )

_MODULES = {
    "autocorrelation": ("close", "fit", "identify_series"),
    "recordings": ("identify",),
    "store": ("find_parameters", "load_parameters", "store_parameters"),
}

__all__ = [
    "close",
    "find_parameters",
    "fit",
    "identify",
    "identify_series",
    "load_parameters",
    "store_parameters",
]

__getattr__, __dir__ = lazy_names(
    __name__, {name: module for module, names in _MODULES.items() for name in names}
)
