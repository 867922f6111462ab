"""E1: how evenly counters are sampled, and what an uneven interval does to the filter."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from gnomon.analysis.study import Row
from gnomon_studies.manzke.processes import INTERVAL, SIX_EVENTS, block_filter, noise, published
from gnomon_studies.verdicts import holds, shape, within

_MEAN_MS, _DEVIATION_MS = 39.532, 0.111
_SAMPLES = 5000
_REAL_TICKS, _REAL_SECONDS = 50, 0.01


def run(seed: int) -> Iterator[Row]:
    """Draw intervals as published, sleep for real ones, and filter with both."""
    drawn = np.random.default_rng(seed).normal(_MEAN_MS, _DEVIATION_MS, _SAMPLES)
    yield within(
        "E1",
        "mean interval of the simulated sampler [ms]",
        _MEAN_MS,
        float(drawn.mean()),
        relative=0.001,
        note="a parameter of the simulation, not a finding",
    )
    yield within(
        "E1",
        "its standard deviation [ms]",
        _DEVIATION_MS,
        float(drawn.std()),
        relative=0.05,
        note="likewise",
    )
    real = _slept()
    yield shape(
        "E1",
        "deviation of a real interval on this host, of its mean",
        f"{_DEVIATION_MS / _MEAN_MS:.2%}",
        f"{real.std() / real.mean():.2%}",
        true=bool(real.std() / real.mean() < 0.5),
        tolerance="below 50 %",
        note=f"{_REAL_TICKS} sleeps of {_REAL_SECONDS * 1e3:.0f} ms; differs from run to run",
    )
    yield _measured_or_not(drawn / 1e3)


def _slept() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    ends = [time.perf_counter()]
    for _ in range(_REAL_TICKS):
        time.sleep(_REAL_SECONDS)
        ends.append(time.perf_counter())
    return np.diff(np.array(ends))


def _measured_or_not(intervals: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Row:
    """How far states are apart when the filter is told the interval, and when it is not."""
    processes = [published()[event, 0] for event in SIX_EVENTS]
    sigma = np.array([each.sigma for each in processes])
    variances = [noise(each) for each in processes]
    told = block_filter("integrated", processes, variances)
    untold = block_filter("integrated", processes, variances)
    random = np.random.default_rng(1)
    one, other, ignored = np.empty((3, len(processes)))
    worst = 0.0
    for tick, interval in enumerate(intervals[:2000].tolist()):
        which = np.arange(2) + 2 * (tick % 3)
        z = np.array([processes[i].mean + processes[i].sigma * random.normal() for i in which])
        told.step(interval, which, z)
        untold.step(INTERVAL, which, z)
        told.show(one, ignored)
        untold.show(other, ignored)
        worst = max(worst, float(np.abs((one - other) / sigma).max()))
    return holds(
        "E1",
        "largest difference between filters with fixed and measured intervals [sigma]",
        None,
        f"{worst:.3f}",
        "below 0.1",
        true=worst < 0.1,
        note="the thesis uses a fixed 40 ms; our models take the measured interval",
    )
