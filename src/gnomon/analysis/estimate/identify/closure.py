"""Monte Carlo closure: is a process found again in series that were made from it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.identify.autocorrelation import Identified, identify_series

if TYPE_CHECKING:
    import numpy as np

    from gnomon.analysis.estimate.model import Array


@dataclass(frozen=True, slots=True)
class Closure:
    """What identification made of series of a known process: means and standard deviations."""

    sigma: float
    sigma_error: float
    beta: float
    beta_error: float
    repeats: int


def simulate(
    process: Sequence[float],
    interval: float,
    samples: int,
    sets: int,
    random: np.random.Generator,
) -> list[Array]:
    """Return series of a Gauss-Markov process (mean, sigma, beta), exact at any interval."""
    import numpy as np
    from scipy.signal import lfilter  # type: ignore[import-untyped]

    mean, sigma, beta = process
    kept = math.exp(-beta * interval)
    noise = random.standard_normal((sets, samples)) * math.sqrt(-math.expm1(-2 * beta * interval))
    noise[:, 0] = random.standard_normal(sets)
    values = lfilter([1.0], [1.0, -kept], noise, axis=1)
    return [mean + sigma * np.asarray(row) for row in values]


def close(
    process: Identified | Sequence[float],
    interval: float,
    *,
    samples: int = 3000,
    sets: int = 10,
    repeats: int = 1,
    seed: int = 0,
) -> Closure:
    """Simulate a process and identify it, as often as asked."""
    import numpy as np

    if isinstance(process, Identified):
        process = (process.mean, process.sigma, process.beta)
    random = np.random.default_rng(seed)
    found = [
        identify_series(simulate(process, interval, samples, sets, random), interval)
        for _ in range(repeats)
    ]
    sigmas = np.array([each.sigma for each in found])
    betas = np.array([each.beta for each in found])
    return Closure(
        float(sigmas.mean()), float(sigmas.std()), float(betas.mean()), float(betas.std()), repeats
    )
