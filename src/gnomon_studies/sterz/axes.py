"""E2: principal components of instructions and cycles, second by second.

The document watched a browser for 300 seconds, which is a program that works in bursts. Here it
is one that sleeps between allocations and computes at the end. A program that is busy all the
time is looked at as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling import principal_components
from gnomon.analysis.study import Row
from gnomon_studies.sterz.simulation import execution, sampled
from gnomon_studies.verdicts import holds

SLICES = 300
_COUNTS = ("instructions", "cycles")
_BURSTS = {"size": "4MiB", "steps": "64", "pause": "50us", "iterations": "200000"}
_STEADY = {"size": "512KiB"}
_MOST = 0.9


def run(seed: int) -> Iterator[Row]:
    """Find the first axis of a program that works in bursts, and of one that does not."""
    share, idle = first_axis("ramp-compute", _BURSTS, seed)
    steady, _ = first_axis("parallel-sort", _STEADY, seed)
    yield holds(
        "E2",
        "variance on the first axis of a program that works in bursts",
        "over 90 %",
        f"{share:.1%}",
        "above 90 %",
        true=share > _MOST,
        note=f"{SLICES} slices, {idle} idle, standardised; {steady:.1%} for one always busy",
    )


def first_axis(workload: str, parameters: Mapping[str, str], seed: int) -> tuple[float, int]:
    """Return the share of the first component, and how many slices were idle."""
    with execution(workload, parameters, seed) as whole:
        whole.advance()
        end = whole.now_ns
    times = np.linspace(0, end, SLICES + 1)
    totals, _ = sampled(workload, parameters, seed, times, _COUNTS)
    slices: NDArray[np.float64] = np.diff(totals, axis=0)
    components = principal_components(slices, _COUNTS)
    return float(components.shares[0]), int((slices[:, 1] == 0).sum())
