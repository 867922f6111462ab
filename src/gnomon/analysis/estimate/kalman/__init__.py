"""Models that follow counters with Kalman filters, each on its own or all together."""

from __future__ import annotations

from gnomon._native import BlockFilter
from gnomon.analysis.estimate.kalman.blocks import BlockKalman
from gnomon.analysis.estimate.kalman.joint import JointKalman
from gnomon.analysis.estimate.model import Model

__all__ = ["MODELS", "BlockFilter", "BlockKalman", "JointKalman"]

MODELS: tuple[Model, ...] = (
    BlockKalman("random-walk", "random-walk"),
    BlockKalman("gauss-markov", "gauss-markov"),
    BlockKalman("integrated-gauss-markov", "integrated"),
    BlockKalman("integrated-as-published", "integrated", as_published=True),
    JointKalman(),
)
