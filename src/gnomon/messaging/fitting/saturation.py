"""The law by which threads that share a core saturate it, from measured throughput."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.messaging.fitting.bootstrap import RESAMPLES, Parameter, residual_intervals
from gnomon.messaging.fitting.measurements import MeasurementError, check_points
from gnomon.messaging.model.smt import Saturation

Array = NDArray[np.float64]
_STEEPEST, _FLATTEST = 1e-2, 1e4
_SHARP, _STRAIGHT = 0.1, 0.5 * _FLATTEST  # knees that data cannot tell from a corner, from a line


@dataclass(frozen=True, slots=True)
class SaturationFit:
    """`height * (1 - exp(-n / knee))` with intervals; `error` is the root mean square residual."""

    height: Parameter
    knee: Parameter
    error: float
    constrained: bool

    @property
    def doubt(self) -> str:
        """What the data cannot tell, nothing where they can."""
        if self.knee.high >= _STRAIGHT:
            return (
                "the measurements fit a straight line as well: measure more threads to see where "
                "it bends, and trust the law only as far as they go"
            )
        if self.knee.value <= _SHARP:
            return "one thread has all of the core: any smaller knee says the same"
        return ""

    @property
    def law(self) -> Saturation:
        """The law, to be given to the model."""
        return Saturation(self.height.value, self.knee.value)


def fit_saturation(
    threads: Sequence[float],
    throughput: Sequence[float],
    *,
    constrained: bool = True,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> SaturationFit:
    """Fit the throughput of n threads, in units of the mean throughput of one thread.

    With `constrained` the law is exactly 1 for one thread, which the model needs; that is
    how the published law was found. Without it, height and knee are both free.
    """
    check_points(3, threads=threads, throughput=throughput)
    n, rate = np.asarray(threads, float), np.asarray(throughput, float)
    if (n < 1).any() or (rate <= 0).any():
        raise MeasurementError("threads must be 1 or more, and throughput above zero.")
    if not (n == 1).any():
        raise MeasurementError("the throughput of 1 thread is missing: it is what 1 means.")
    if len(set(n.tolist())) < 3:
        raise MeasurementError("a curve needs three numbers of threads, better more.")
    one = n == 1
    fit = _fit_knee if constrained else _fit_both
    # What 1 means is measured too, so that its chance belongs into the intervals.
    height, knee, _ = residual_intervals(
        lambda values: np.append(fit(n, values / values[one].mean()), values[one].mean()),
        lambda found: found[2] * found[0] * -np.expm1(-n / found[1]),
        rate,
        seed=seed,
        resamples=resamples,
    )
    residual = rate / rate[one].mean() - height.value * -np.expm1(-n / knee.value)
    return SaturationFit(height, knee, float(np.sqrt((residual**2).mean())), constrained)


def _best_knee(loss: object) -> float:
    from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]

    bounds = (np.log(_STEEPEST), np.log(_FLATTEST))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return float(np.exp(found.x))


def _fit_knee(n: Array, values: Array) -> Array:
    def loss(log_knee: float) -> float:
        knee = np.exp(log_knee)
        return float(((values - np.expm1(-n / knee) / np.expm1(-1 / knee)) ** 2).sum())

    knee = _best_knee(loss)
    return np.array([-1 / np.expm1(-1 / knee), knee])


def _fit_both(n: Array, values: Array) -> Array:
    def height(knee: float) -> float:
        shape = -np.expm1(-n / knee)  # the best height for a knee is linear least squares
        return float(shape @ values / (shape @ shape))

    def loss(log_knee: float) -> float:
        knee = float(np.exp(log_knee))
        return float(((values + height(knee) * np.expm1(-n / knee)) ** 2).sum())

    knee = _best_knee(loss)
    return np.array([height(knee), knee])
