"""The named methods that models are compared with."""

from __future__ import annotations

from gnomon.analysis.estimate.baselines.methods import (
    ForgettingMean,
    Hold,
    Interpolation,
    LinearRegression,
    LinearScaling,
    NearestReading,
    PositionalMeanError,
    RatePerFixed,
    Trapezoid,
)
from gnomon.analysis.estimate.model import Model

__all__ = ["MODELS", "ForgettingMean", "Hold", "LinearScaling"]

MODELS: tuple[Model, ...] = (
    Hold(),
    LinearScaling(),
    Interpolation(),
    Trapezoid(),
    NearestReading(),
    PositionalMeanError(),
    LinearRegression(),
    RatePerFixed("rate-per-instruction", 0),
    RatePerFixed("rate-per-cycle", 1),
    ForgettingMean(),
)
