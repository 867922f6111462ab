"""How long a step of a filter takes, dense or sparse, and how many counters fit into a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from gnomon.analysis.estimate import BlockFilter
from gnomon.analysis.study import Row
from gnomon.machines import Process
from gnomon_studies.manzke.processes import block_filter, noise, published
from gnomon_studies.verdicts import holds, shape

PERIOD = 0.02
BUDGET = 0.01 * PERIOD
"""A hundredth of 20 ms: what the document allows."""


def some(count: int) -> list[Process]:
    """Return so many published processes, the same ones over and over."""
    table = list(published().values())
    return [table[i % len(table)] for i in range(count)]


Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def product(a: Matrix, b: Matrix) -> Matrix:
    """Multiply matrices in plain loops on one thread, as a program of the time did.

    A BLAS would use all cores, and how long that takes depends on who else does.
    """
    result: Matrix = np.einsum("ij,jk->ik", a, b)
    return result


def inverse(a: Matrix) -> Matrix:
    """Invert a positive matrix by Gauss and Jordan."""
    both = np.hstack([a, np.eye(len(a))])
    for k in range(len(a)):
        both[k] /= both[k, k]
        factors = both[:, k].copy()
        factors[k] = 0.0
        both -= factors[:, None] * both[k]
    return both[:, len(a) :]


class DenseStep:
    """The filter as it is written down: full matrices of two states a counter, all read."""

    def __init__(self, processes: Sequence[Process]) -> None:
        count = len(processes)
        self.x = np.zeros(2 * count)
        self.p = np.eye(2 * count)
        self.phi, self.q = np.eye(2 * count), np.zeros((2 * count, 2 * count))
        self.h, self.r = np.zeros((count, 2 * count)), np.zeros((count, count))
        for i, each in enumerate(processes):
            at = slice(2 * i, 2 * i + 2)
            e = math.exp(-each.beta * PERIOD)
            a = -math.expm1(-each.beta * PERIOD) / each.beta
            self.phi[at, at] = [[1, a], [0, e]]
            q11 = 2 / each.beta * (PERIOD - 2 * a + (1 - e**2) / (2 * each.beta))
            q12 = 2 * (a - (1 - e**2) / (2 * each.beta))
            self.q[at, at] = [[q11, q12], [q12, 1 - e**2]]
            self.h[i, 2 * i] = 1.0
            self.r[i, i] = noise(each) / each.sigma**2

    def __call__(self, z: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        columns = product(self.p, self.h.T)
        gain = product(columns, inverse(product(self.h, columns) + self.r))
        self.x = self.x + gain @ (z - self.h @ self.x)
        self.p = product(np.eye(self.x.size) - product(gain, self.h), self.p)
        self.x = self.phi @ self.x
        self.p = product(product(self.phi, self.p), self.phi.T) + self.q


def dense_seconds(count: int) -> float:
    """Return the time of a step of the dense filter."""
    step = DenseStep(some(count))
    z = np.zeros(count)
    return _seconds(lambda: step(z))


def sparse_filter(count: int) -> BlockFilter:
    """Return the same filter as blocks, in units of sigma."""
    processes = [Process(0.0, 1.0, each.beta) for each in some(count)]
    variances = [noise(each) / each.sigma**2 for each in some(count)]
    return block_filter("integrated", processes, variances)


def sparse_seconds(count: int) -> float:
    """Return the time of a step of the block filter, all counters read."""
    block = sparse_filter(count)
    which, z = np.arange(count), np.zeros(count)
    return _seconds(lambda: block.step(PERIOD, which, z))


def _seconds(work: Callable[[], object]) -> float:
    """CPU time of a call: the least of several rounds, which others disturb least."""
    work()
    start = time.thread_time()
    work()
    once = max(time.thread_time() - start, 1e-6)
    calls = max(1, min(100, int(0.02 / once)))
    rounds = []
    for _ in range(5 if once < 0.05 else 1):
        start = time.thread_time()
        for _ in range(calls):
            work()
        rounds.append((time.thread_time() - start) / calls)
    return min(rounds)


def crossing(times: Mapping[int, float], limit: float) -> int:
    """Return how many counters fit into a time, between those that were tried."""
    below = [count for count, seconds in times.items() if seconds <= limit]
    if not below:
        return 0
    last = max(below)
    above = [count for count in times if count > last]
    if not above:
        return last
    after = min(above)
    share = math.log(limit / times[last]) / math.log(times[after] / times[last])
    return int(last * (after / last) ** share)


def growth(times: Mapping[int, float], first: int, last: int) -> float:
    """Return the power of n by which the time grows."""
    return math.log(times[last] / times[first]) / math.log(last / first)


# E4: the dense filter, n = 1, 2, 3 ... counters with two states each.

_DENSE_COUNTS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128)


def run_dense(seed: int) -> Iterator[Row]:
    """Sweep; timings are of this host and differ from run to run."""
    del seed
    times = {count: dense_seconds(count) for count in _DENSE_COUNTS}
    yield shape(
        "E4",
        "counters within 1 % of 20 ms, dense",
        "6 to 8",
        crossing(times, BUDGET),
        true=crossing(times, BUDGET) < 120,
        tolerance="fewer than 120",
        note="processors of 2005 there; plain loops on one thread both times",
    )
    yield shape(
        "E4",
        "counters within all of 20 ms, dense",
        None,
        crossing(times, PERIOD),
        true=crossing(times, PERIOD) >= crossing(times, BUDGET),
    )
    power = growth(times, 32, 128)
    yield shape(
        "E4",
        "growth of the time with n, 32 to 128 counters",
        "n^3",
        f"n^{power:.1f}",
        true=2.2 < power < 3.8,
        tolerance="n^2.2 to n^3.8",
    )


# E5: the same filter without the zeros.

_SPARSE_COUNTS = (120, 1_000, 10_000, 100_000)
_EVENTS = 120


def run_sparse(seed: int) -> Iterator[Row]:
    """Sweep, compare with the dense filter, and check that both are the same filter."""
    times = {count: sparse_seconds(count) for count in _SPARSE_COUNTS}
    fits = crossing(times, BUDGET)
    yield shape(
        "E5",
        "counters within 1 % of 20 ms, sparse",
        "100 to well over 120",
        f"{fits:,}",
        true=fits >= _EVENTS,
        tolerance="at least 120",
    )
    share = PERIOD / times[_EVENTS]
    yield shape(
        "E5",
        "20 ms over the time of 120 counters",
        "100 (cPCI) to 250 (P4)",
        f"{share:,.0f}",
        true=share >= 100,
        tolerance="at least 100",
    )
    power = growth(times, 1_000, 100_000)
    yield shape(
        "E5",
        "growth of the time with n, 1,000 to 100,000 counters",
        "n",
        f"n^{power:.2f}",
        true=0.7 < power < 1.3,
        tolerance="n^0.7 to n^1.3",
    )
    faster = dense_seconds(_EVENTS) / times[_EVENTS]
    yield shape(
        "E5",
        "dense over sparse at 120 counters",
        None,
        f"{faster:,.0f}",
        true=faster > 10,
        tolerance="above 10",
        note="45,000 times fewer multiplications, but the dense ones are faster each",
    )
    apart = _difference(seed)
    yield holds(
        "E5",
        "largest difference between both, in sigma, after 50 steps",
        "the same filter",
        f"{apart:.0e}",
        "below 1e-9",
        true=apart < 1e-9,
    )


def _difference(seed: int) -> float:
    count = 20
    dense, sparse = DenseStep(some(count)), sparse_filter(count)
    which, random = np.arange(count), np.random.default_rng(seed)
    dense.p = np.eye(2 * count)
    values, variances = np.empty((2, count))
    for _ in range(50):
        z = random.standard_normal(count)
        dense(z)
        sparse.correct(which, z)
        sparse.predict(PERIOD)
    sparse.show(values, variances)
    apart = np.abs(values - dense.x[::2]).max()
    return float(max(apart, np.abs(variances - np.diag(dense.p)[::2]).max()))
