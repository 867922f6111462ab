"""A Gauss-Markov process from the autocorrelation of readings (Manzke 5.25 and after).

The document takes the logarithm of the mean autocorrelation and fits a line, without saying
over how many lags. In the tail there is nothing but noise, and the logarithm of what happens
to be negative does not exist. So lags are taken up to the first that does not stand out from
noise, and the exponential itself is fitted, which needs no logarithm and weighs each lag as
it deserves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.result import Closure, Identified

if TYPE_CHECKING:
    import numpy as np

    from gnomon.analysis.estimate.model import Array

STANDING_OUT = 3.0
"""Standard errors by which a lag must differ from zero to be used."""

MOST_LAGS = 40
FEWEST_SAMPLES = 50
_MANY = 6
_WHITE = 4.0  # beta times the interval above which neighbours have nothing in common


def covariances(sets: Sequence[Array], lags: int) -> Array:
    """Return the mean autocovariance of several series, lag by lag, about their common mean."""
    import numpy as np

    mean = sum(float(each.sum()) for each in sets) / sum(len(each) for each in sets)
    found = []
    for series in sets:
        rest = series - mean
        found.append(
            [float(rest[: len(rest) - lag] @ rest[lag:]) / (len(rest) - lag) for lag in range(lags)]
        )
    mean_of_all: Array = np.mean(np.array(found), axis=0)
    return mean_of_all


def fit(values: Array, interval: float, samples: int) -> tuple[float, float, int]:
    """Return sigma^2, beta and how many lags were used, from autocovariances."""
    import numpy as np

    floor = STANDING_OUT / math.sqrt(samples) * values[0]
    below = np.flatnonzero(values <= floor)
    lags = int(below[0]) if below.size else len(values)
    if lags < 2:
        return float(values[0]), math.inf, lags
    # Noise of single readings is at lag 0 alone, which is left out where there are many others.
    first = 1 if lags >= _MANY else 0
    times = interval * np.arange(first, lags)
    used = values[first:lags]
    # A line through the logarithms to begin with, then Gauss and Newton on the exponential.
    slope, offset = np.polyfit(times, np.log(used), 1, w=used)
    square, beta = math.exp(offset), max(-slope, 1e-9)
    for _ in range(50):
        decay = np.exp(-beta * times)
        gradient = np.column_stack([decay, -square * times * decay])
        step, *_ = np.linalg.lstsq(gradient, used - square * decay, rcond=None)
        square, beta = (
            max(square + step[0], 1e-3 * square),
            min(max(beta + step[1], beta / 4), 4 * beta),
        )
        if abs(step[0]) <= 1e-12 * square and abs(step[1]) <= 1e-12 * beta:
            break
    return square, beta, lags


def identify_series(sets: Sequence[Array], interval: float) -> Identified:
    """Return the process behind several series of rates, a place every `interval` seconds.

    Where nothing was read there is NaN: of an event that takes turns with others most places
    are, and the time between its readings is the usual distance of those that are not.
    """
    import numpy as np

    gaps = [np.diff(np.flatnonzero(np.isfinite(each))) for each in sets]
    interval *= float(np.median(np.concatenate(gaps) if any(map(len, gaps)) else [1]))
    finite = [np.asarray(each, dtype=float)[np.isfinite(each)] for each in sets]
    usable = [each for each in finite if len(each) >= 3]
    samples = sum(len(each) for each in usable)
    if samples < FEWEST_SAMPLES:
        return Identified(
            math.nan, math.nan, math.nan, math.nan, 0, samples,
            f"{samples} readings are too few: at least {FEWEST_SAMPLES} are needed",
        )  # fmt: skip
    mean = sum(float(each.sum()) for each in usable) / samples
    lags = min(MOST_LAGS, *(len(each) - 1 for each in usable))
    values = covariances(usable, lags)
    if values[0] <= 1e-18 * mean**2 or values[0] == 0:
        return Identified(mean, 0.0, 0.0, 0.0, 0, samples, "it never changes")
    square, beta, used = fit(values, interval, samples)
    total = math.sqrt(values[0])
    if used < 2 or beta * interval > _WHITE:
        doubt = "readings do not depend on those before: white noise, or read too seldom"
        return Identified(mean, total, _WHITE / interval, 0.0, used, samples, doubt)
    noise = math.sqrt(max(float(values[0]) - square, 0.0))
    return Identified(mean, math.sqrt(square), beta, noise, used, samples)


# ---- Monte Carlo closure: is a process found again in series that were made from it? ----------


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
