"""The Markov chains of a core: how many of its threads run, and whether the communicator does.

The solutions are lost in the document. They follow from detailed balance: the chains have no
loops but those that are walked both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

Speed = Callable[[int], float]
"""The speed of each of n threads that share a core."""


@dataclass(frozen=True, slots=True)
class States:
    """The share of time with i compute threads running, without the communicator and with it."""

    without: tuple[float, ...]
    beside: tuple[float, ...]

    def compute_speed(self, speed: Speed) -> float:
        """Return the mean speed of a running compute thread (L1868)."""
        running = done = 0.0
        for i, (alone, shared) in enumerate(zip(self.without, self.beside, strict=True)):
            running += i * (alone + shared)
            done += i * (speed(i) * alone + speed(i + 1) * shared)
        return done / running if running > 0 else speed(1)

    def handler_speed(self, speed: Speed) -> float:
        """Return the mean speed of the communicator while it runs (L1872)."""
        running = sum(self.beside)
        if running <= 0:
            return speed(1)
        return sum(speed(i + 1) * share for i, share in enumerate(self.beside)) / running


def isomorphic_chain(threads: int, run: float, stall: float, speed: Speed) -> tuple[float, ...]:
    """Return the share of time in which i of n like threads run.

    A thread needs `run` of time alone, then stalls for `stall`: section 7.4, L1836 to L1846.
    """
    weights = []
    product = 1.0
    for i in range(threads + 1):
        product *= speed(i) if i else 1.0
        weights.append(comb(threads, i) * (run / stall) ** i / product)
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def communicator_chain(
    threads: int, run: float, stall: float, handle: float, gap: float, speed: Speed
) -> States:
    """Return the states of a core on which a communicator works beside like threads.

    It handles for `handle` of time alone and rests for `gap`: L1854 to L1863.
    """
    without, beside = [], []
    product = 1.0
    for i in range(threads + 1):
        product *= speed(i) if i else 1.0
        weight = comb(threads, i) * (run / stall) ** i / product
        without.append(weight)
        beside.append(weight * (handle / gap) / speed(i + 1))
    total = sum(without) + sum(beside)
    return States(tuple(w / total for w in without), tuple(w / total for w in beside))
