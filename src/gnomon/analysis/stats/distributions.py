"""The few distribution functions that tests and intervals need, element by element."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]

Array = NDArray[np.float64]


def t_two_sided(statistic: ArrayLike, df: ArrayLike) -> Array:
    """Return the chance of a Student t at least so far from zero, on either side."""
    t, nu = np.asarray(statistic, float), np.asarray(df, float)
    # The incomplete beta function keeps its digits where 1 - cdf would round to zero.
    return cast(Array, special.betainc(nu / 2, 0.5, nu / (nu + t * t)))


def t_quantile(probability: ArrayLike, df: ArrayLike) -> Array:
    """Return the Student t that is exceeded with chance 1 - `probability`."""
    return cast(Array, special.stdtrit(np.asarray(df, float), probability))


def f_upper(statistic: ArrayLike, df_model: ArrayLike, df_error: ArrayLike) -> Array:
    """Return the chance of an F ratio at least so large."""
    return cast(Array, special.fdtrc(df_model, df_error, statistic))


def normal_two_sided(z: ArrayLike) -> Array:
    """Return the chance of a standard normal at least so far from zero, on either side."""
    return cast(Array, 2 * special.ndtr(-np.abs(np.asarray(z, float))))


def log_choose(n: ArrayLike, k: ArrayLike) -> Array:
    """Return the logarithm of the number of ways to choose k of n."""
    upper, lower = np.asarray(n, float), np.asarray(k, float)
    log_gamma = special.gammaln
    return cast(Array, log_gamma(upper + 1) - log_gamma(lower + 1) - log_gamma(upper - lower + 1))
