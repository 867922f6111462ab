"""E3: the covariance of a counter that is read every third tick, and the printed Q."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from gnomon.analysis.study import Row
from gnomon.machines.signals import Process
from gnomon_studies.manzke.processes import INTERVAL, block_filter, noise, published
from gnomon_studies.verdicts import holds, shape

_TICKS = 60


def run(seed: int) -> Iterator[Row]:
    """Follow the predicted variances of DATA_MEM_REFS; count Q that are none."""
    del seed
    first, second = sawtooth(published()["DATA_MEM_REFS", 0])
    for name, course in (("of the count (P11)", first), ("of its derivative (P22)", second)):
        yield shape(
            "E3",
            f"variance {name}: climbs between readings, drops at one",
            "in every period of 3",
            "in every period of 3" if _is_sawtooth(course) else "not always",
            true=_is_sawtooth(course),
            note=f"from {course[-3]:.3g} to {course[-1]:.3g} sigma^2",
        )
    for interval in (INTERVAL, INTERVAL / 2):
        table = published()
        bad = sum(_least_eigenvalue(each.beta, interval) < 0 for each in table.values())
        yield holds(
            "E3",
            f"Q as printed (5.21 to 5.23) that is no covariance, at {interval * 1e3:g} ms",
            None,
            f"{bad} of {len(table)}",
            "any",
            true=bad > 0,
            note="a sign in 5.22 and a factor in 5.23 are wrong; corrected everywhere else here",
        )


def sawtooth(process: Process) -> tuple[list[float], list[float]]:
    """Return both predicted variances, tick by tick, when every third is a reading."""
    block = block_filter("integrated", [process], [noise(process)])
    which, z = np.zeros(1, dtype=np.int64), np.array([process.mean])
    first, second = [], []
    for tick in range(_TICKS):
        block.predict(INTERVAL)
        _, _, p11, _, p22 = block.block(0)
        first.append(p11)
        second.append(p22)
        if tick % 3 == 2:
            block.correct(which, z)
    return first[30:], second[30:]


def _is_sawtooth(course: list[float]) -> bool:
    periods = [course[at : at + 3] for at in range(0, len(course) - 2, 3)]
    return all(a < b < c for a, b, c in periods) and all(
        after[0] < before[2] for before, after in pairwise(periods)
    )


def _least_eigenvalue(beta: float, interval: float) -> float:
    """Return the smaller eigenvalue of Q as it is printed, sigma being 1."""
    e = np.exp(-beta * interval)
    a = (1 - e) / beta
    q11 = 2 / beta * (interval - 2 * a + (1 - e**2) / (2 * beta))
    q12 = 2 * (a + (1 - e**2) / (2 * beta))
    q22 = 2 * (1 - e**2)
    return float(np.linalg.eigvalsh(np.array([[q11, q12], [q12, q22]])).min())
