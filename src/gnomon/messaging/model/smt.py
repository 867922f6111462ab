"""How fast each of several threads runs that share a core."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


class SpeedLaw(Protocol):
    """How fast each of n threads runs, and what a thread that polls beside them costs."""

    def speed(self, threads: int) -> float:
        """Return the speed of each of n threads, 1 for one that has its core to itself."""
        ...

    def polling_penalty(self, threads: int) -> float:
        """Return how much longer n threads take when one more polls beside them, as a share."""
        ...


@dataclass(frozen=True, slots=True)
class Saturation:
    """Throughput of n threads that share a core: `height * (1 - exp(-n / knee))`.

    The defaults are the law that Parker fitted to his SMT processor (section 4.4), with
    which one thread alone runs at speed 1.
    """

    height: float = 3.20
    knee: float = 2.67

    def throughput(self, threads: int) -> float:
        """Return what all threads together do, in units of one thread alone."""
        return self.height * -math.expm1(-threads / self.knee)

    def speed(self, threads: int) -> float:
        """Return the speed of each of n threads; of none it is taken to be 1."""
        return 1.0 if threads == 0 else self.throughput(threads) / threads

    def polling_penalty(self, threads: int) -> float:
        """Return how much longer n threads take when one more polls beside them, as a share."""
        return self.speed(threads) / self.speed(threads + 1) - 1


@dataclass(frozen=True, slots=True)
class Unshared:
    """Threads that have a core each, and take nothing from each other."""

    def speed(self, threads: int) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0

    def polling_penalty(self, threads: int) -> float:  # noqa: ARG002
        """Return 0: who polls has a core of its own, too."""
        return 0.0
