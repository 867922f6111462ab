"""How long a step of a filter takes, and how many counters fit into a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gnomon import _native
from gnomon.machines.signals import Process
from gnomon_studies.manzke.processes import block_filter, noise, published

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


def sparse_filter(count: int) -> _native.BlockFilter:
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
