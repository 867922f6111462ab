"""Principal components: which events vary together over the points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.result import Components


def principal_components(values: NDArray[np.float64], events: Sequence[str]) -> Components:
    """Return the components of points x events; events that do not vary or lack values are out."""
    complete = ~np.isnan(values).any(0)
    spread = np.where(complete, np.nan_to_num(values).std(0), 0.0)
    size = np.where(complete, np.abs(np.nan_to_num(values)).max(0, initial=0.0), 0.0)
    kept = np.flatnonzero(spread > 1e-12 * size)
    names = tuple(events[i] for i in kept.tolist())
    if not names:
        return Components((), np.empty(0), np.empty((0, 0)), np.empty((len(values), 0)))
    standard = (values[:, kept] - values[:, kept].mean(0)) / spread[kept]
    left, strength, right = np.linalg.svd(standard, full_matrices=False)
    variance = strength**2
    return Components(names, variance / variance.sum(), right, left * strength)
