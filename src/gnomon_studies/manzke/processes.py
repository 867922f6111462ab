"""Published processes, filters of them, and series that follow them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native
from gnomon.machines.signals import Process, load_signal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

INTERVAL = 0.04
"""Seconds between readings in tables 6.2, 6.3 and B.1."""

SIX_EVENTS = (
    "DATA_MEM_REFS",
    "DCU_LINES_IN",
    "IFU_IFETCH",
    "IFU_IFETCH_MISS",
    "L2_LINES_IN",
    "INST_RETIRED",
)
"""Table 6.2: two at a time make three sets."""

JITTER = 0.0028
"""Standard deviation of the measured interval, as a part of it."""


@cache
def published() -> dict[tuple[str, int], Process]:
    """Return table B.1: a process for each event and CPU that has one."""
    signal = load_signal("celestia")
    return {
        (event, cpu): process
        for event, on in signal.processes.items()
        for cpu, process in on.items()
        if process.sigma > 0
    }


def noise(process: Process) -> float:
    """Return the variance of a reading: jitter and quantisation, since no R was published."""
    return float((JITTER * process.mean) ** 2 + 1 / 12)


def block_filter(
    kind: str, processes: list[Process], variances: list[float]
) -> _native.BlockFilter:
    """Return a filter of processes, begun at their means."""
    count = len(processes)
    mean, sigma, beta = (np.array(column) for column in zip(*processes, strict=True))
    everyone = np.arange(count)
    block = _native.BlockFilter(kind, count)
    block.describe(everyone, mean, sigma, beta, np.array(variances))
    block.place(everyone, mean, sigma**2, np.zeros(count), sigma**2)
    return block


def series(processes: list[Process], ticks: int, random: np.random.Generator) -> Floats:
    """Return Gauss-Markov series, (tick, process), as they are: a tenth is below zero."""
    from gnomon.analysis.estimate.identify.closure import simulate

    return np.column_stack([simulate(each, INTERVAL, ticks, 1, random)[0] for each in processes])


def unread_errors(block: _native.BlockFilter, truth: Floats, read: Floats, sets: int) -> Floats:
    """Return the root mean square error of each counter in the ticks in which it was not read."""
    ticks, count = truth.shape
    each = count // sets
    values, variances = np.empty(count), np.empty(count)
    squares, seen = np.zeros(count), 0
    for tick in range(ticks):
        which = np.arange(each) + each * (tick % sets)
        block.step(INTERVAL, which, read[tick, which])
        if tick < 10 * sets:
            continue
        block.show(values, variances)
        error = (values - truth[tick]) ** 2
        error[which] = 0.0
        squares += error
        seen += 1
    found: Floats = np.sqrt(squares / (seen * (sets - 1) / sets))
    return found


def hold_errors(truth: Floats, read: Floats, sets: int) -> Floats:
    """Return the same of sample-and-hold."""
    ticks, count = truth.shape
    each = count // sets
    held = np.array(read[0])
    squares, seen = np.zeros(count), 0
    for tick in range(ticks):
        which = np.arange(each) + each * (tick % sets)
        held[which] = read[tick, which]
        if tick < 10 * sets:
            continue
        error = (held - truth[tick]) ** 2
        error[which] = 0.0
        squares += error
        seen += 1
    found: Floats = np.sqrt(squares / (seen * (sets - 1) / sets))
    return found
