"""Results of every kind, made from known numbers, to look at in reports."""

from __future__ import annotations

import numpy as np

from gnomon.analysis.phases import PhaseSeries, PhasesResult, phases


def phases_result() -> PhasesResult:
    """Memory that rises for four tenths of the time and then stays."""
    times = np.arange(200.0)
    noise = np.random.default_rng(1).normal(0, 1e5, 200)
    values = np.minimum(times, 80.0) * 1e6 + noise
    return phases(PhaseSeries("memory", times, values, "B"))
