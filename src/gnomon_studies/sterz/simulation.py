"""Workloads on the simulated machine with four cores of two threads each, looked at as they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gnomon.machines import Execution, RunOptions, build, load_machine

MACHINE = "smt-4"
CORES = 4
_QUANTUM_NS = 1000.0  # how far threads may run ahead of each other


def execution(workload: str, parameters: Mapping[str, str], seed: int) -> Execution:
    """Return a workload that is ready to run; the caller closes it."""
    program = build(workload, dict(parameters), seed=seed)
    options = RunOptions(quantum_ns=_QUANTUM_NS)
    return Execution(load_machine(MACHINE), program, seed=seed, options=options)


def sampled(
    workload: str,
    parameters: Mapping[str, str],
    seed: int,
    times: NDArray[np.float64],
    counts: Sequence[str],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return totals of counts (time, count) and the footprint (time,) at ascending times in ns."""
    totals = np.empty((len(times), len(counts)))
    footprint = np.empty(len(times))
    with execution(workload, parameters, seed) as running:
        for row, time in enumerate(times):
            running.advance(float(time))
            ledger = running.ledger()
            totals[row] = [ledger.total(name) for name in counts]
            footprint[row] = running.footprint
    return totals, footprint
