"""Medians with their spread, and ratios of measurements that were taken in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_RESAMPLES = 4000
_SEED = 1  # the same samples give the same interval


@dataclass(frozen=True, slots=True)
class Summary:
    """A median between two bounds: quartiles of a time, a 95 % interval of a ratio."""

    median: float
    low: float
    high: float
    count: int


def quartiles(samples: ArrayLike) -> Summary:
    """Return the median of samples and the range of their middle half."""
    values = np.asarray(samples, dtype=np.float64)
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    return Summary(float(median), float(low), float(high), values.size)


def median_interval(samples: ArrayLike) -> Summary:
    """Return the median of samples and its 95 % interval by the percentile bootstrap."""
    values = np.asarray(samples, dtype=np.float64)
    generator = np.random.default_rng(_SEED)
    drawn = generator.integers(values.size, size=(_RESAMPLES, values.size))
    low, high = np.quantile(np.median(values[drawn], axis=1), (0.025, 0.975))
    return Summary(float(np.median(values)), float(low), float(high), values.size)


def paired_ratio(
    ours: Sequence[float] | NDArray[np.float64], peer: Sequence[float] | NDArray[np.float64]
) -> Summary:
    """Return the median of ours / peer over rounds, in each of which both were measured."""
    return median_interval(np.asarray(ours, dtype=np.float64) / np.asarray(peer, dtype=np.float64))


def share(found: int, count: int) -> Summary:
    """Return a share of cases and its 95 % interval, after Wilson."""
    z = 1.96
    part, size = found / count, z * z / count
    middle = (part + size / 2) / (1 + size)
    reach = z * np.sqrt(part * (1 - part) / count + size / (4 * count)) / (1 + size)
    low, high = max(0.0, float(middle - reach)), min(1.0, float(middle + reach))
    return Summary(part, low, high, count)
