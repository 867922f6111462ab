"""How uneven nodes are, from the times that each of them took for each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.messaging.fitting.bootstrap import RESAMPLES, Parameter, row_intervals
from gnomon.messaging.fitting.measurements import MeasurementError
from gnomon.messaging.model.imbalance import expected_maximum

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ImbalanceFit:
    """What steps of several nodes that wait for each other lose.

    `deviation` is the standard deviation within a step, as a share of its mean. `measured`
    is how much later than the mean the last node was, `expected` how much later it would be
    if times were normal, both as shares of the mean.
    """

    nodes: int
    deviation: Parameter
    measured: Parameter
    expected: Parameter

    def at(self, nodes: int) -> float:
        """Return how much later the last of so many nodes is expected, as a share of the mean."""
        return self.deviation.value * expected_maximum(nodes)


def fit_imbalance(
    times: Sequence[Sequence[float]], *, seed: int = 0, resamples: int = RESAMPLES
) -> ImbalanceFit:
    """Fit the times of nodes: a row for each step, a column for each node."""
    lengths = {len(row) for row in times}
    if len(lengths) != 1 or min(lengths) < 2:
        raise MeasurementError("each step needs the times of the same two nodes or more.")
    rows = np.asarray(times, float)
    if len(rows) < 2:
        raise MeasurementError("one step tells nothing of the others: give two or more.")
    if not np.isfinite(rows).all() or (rows < 0).any() or (rows.mean(1) <= 0).any():
        raise MeasurementError("times of nodes must be numbers, zero or more, not all zero.")
    nodes = rows.shape[1]

    def statistic(steps: Array) -> Array:
        means = steps.mean(1)
        deviation = float(np.sqrt((steps / means[:, None]).var(1, ddof=1).mean()))
        late = float((steps.max(1) / means - 1).mean())
        return np.array([deviation, late, deviation * expected_maximum(nodes)])

    return ImbalanceFit(nodes, *row_intervals(statistic, rows, seed=seed, resamples=resamples))
