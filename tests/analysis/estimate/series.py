"""Counter series for tests of estimators, and readings of them in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.estimate.model import Layout, Readings

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array


def program(rows: int, events: int, seed: int = 0) -> tuple[Array, Array]:
    """Counts and fixed counters of a program that changes between two phases."""
    random = np.random.default_rng(seed)
    phase = (np.arange(rows) // 13) % 2
    noise = np.exp(0.05 * random.standard_normal((rows, events + 2)))
    cycles = np.where(phase, 8e6, 2e6) * noise[:, 0]
    instructions = np.where(phase, 3e6, 2.5e6) * noise[:, 1]
    levels = 10.0 ** random.uniform(1, 6, (2, events))
    return np.round(levels[phase] * noise[:, 2:]), np.column_stack([instructions, cycles])


def in_turn(counts: Array, fixed: Array) -> Readings:
    """One event is read in each row."""
    rows, events = counts.shape
    row = np.arange(rows)
    read = np.full(counts.shape, np.nan)
    read[row, row % events] = counts[row, row % events]
    layout = Layout(
        tuple(f"event{e}" for e in range(events)), ("instructions", "cycles")[: fixed.shape[1]]
    )
    return Readings(layout, np.ones(rows), fixed, read, (row + 1) % events == 0)
