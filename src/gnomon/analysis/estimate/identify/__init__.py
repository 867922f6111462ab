"""Identification: which process an event follows, from series of it, and where that is kept."""

from __future__ import annotations

from gnomon.analysis.estimate.identify.autocorrelation import Identified, fit, identify_series
from gnomon.analysis.estimate.identify.closure import Closure, close
from gnomon.analysis.estimate.identify.recordings import Identification, identify
from gnomon.analysis.estimate.identify.store import (
    find_parameters,
    load_parameters,
    store_parameters,
)

__all__ = [
    "Closure",
    "Identification",
    "Identified",
    "close",
    "find_parameters",
    "fit",
    "identify",
    "identify_series",
    "load_parameters",
    "store_parameters",
]
