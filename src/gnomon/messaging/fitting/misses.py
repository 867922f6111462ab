"""How often an application asks for remote data: linear in nodes, logarithmic in threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.messaging.fitting.bootstrap import RESAMPLES, Parameter, residual_intervals
from gnomon.messaging.fitting.measurements import MeasurementError, check_points


@dataclass(frozen=True, slots=True)
class MissFit:
    """`constant + per_node * nodes + per_log_thread * ln(threads)`, with intervals."""

    constant: Parameter
    per_node: Parameter
    per_log_thread: Parameter
    r_squared: float

    def predict(self, nodes: float, threads: float) -> float:
        """Return how many misses are expected of all nodes together."""
        return (
            self.constant.value
            + self.per_node.value * nodes
            + self.per_log_thread.value * math.log(threads)
        )


def fit_misses(
    nodes: Sequence[float],
    threads: Sequence[float],
    misses: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> MissFit:
    """Fit the number of misses in runs with so many nodes and compute threads a node."""
    check_points(4, nodes=nodes, threads=threads, misses=misses)
    n, t, m = (np.asarray(each, float) for each in (nodes, threads, misses))
    if (n < 1).any() or (t < 1).any() or (m < 0).any():
        raise MeasurementError("nodes and threads must be 1 or more, and misses not negative.")
    design = np.stack([np.ones_like(n), n, np.log(t)], axis=1)
    if np.linalg.matrix_rank(design) < 3:
        raise MeasurementError("both the nodes and the threads must vary from run to run.")
    solver = np.linalg.pinv(design)
    constant, per_node, per_log_thread = residual_intervals(
        lambda values: np.asarray(solver @ values),
        lambda found: np.asarray(design @ found),
        m,
        seed=seed,
        resamples=resamples,
    )
    rest = m - design @ [constant.value, per_node.value, per_log_thread.value]
    spread = float(((m - m.mean()) ** 2).sum())
    explained = 1 - float((rest**2).sum()) / spread if spread else 1.0
    return MissFit(constant, per_node, per_log_thread, explained)
