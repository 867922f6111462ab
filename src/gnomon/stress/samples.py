"""Repeated measurements of one thing, and what else kept this machine busy meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Samples:
    """What was measured, each time; whether less or more is better is for the reader to know."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Samples:
        """Take numbers of any kind."""
        return cls(tuple(float(value) for value in values))

    @property
    def least(self) -> float:
        """The least: for times, the one that was disturbed least."""
        return min(self.values)

    @property
    def most(self) -> float:
        """The most: for rates, the one that was disturbed least."""
        return max(self.values)

    @property
    def median(self) -> float:
        """The middle one."""
        from statistics import median

        return median(self.values)


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Load over a stretch of time."""

    average: float  # of the last minute, as uptime shows it, our own threads included
    others: float  # CPUs that other programs used
    steal: float  # share of CPU time that the hypervisor gave to others

    def __str__(self) -> str:
        """Say it in a few words."""
        return (
            f"load {self.average:.2f}, other programs used {self.others:.2f} CPUs, "
            f"{self.steal:.1%} stolen"
        )


class LoadWatch:
    """Watches load from when it is made."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._begin = time.monotonic()
        self._own = _own_seconds()
        self._busy, self._steal, self._all = self._times()

    def load(self) -> HostLoad:
        """Return the load so far."""
        passed = max(time.monotonic() - self._begin, 1e-9)
        busy, steal, everything = self._times()
        tick = os.sysconf("SC_CLK_TCK")
        others = (busy - self._busy) / tick - (_own_seconds() - self._own)
        ticks = everything - self._all
        return HostLoad(
            self._average(),
            max(0.0, others / passed),
            (steal - self._steal) / ticks if ticks > 0 else 0.0,
        )

    def _average(self) -> float:
        try:
            return float((self._proc / "loadavg").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return 0.0

    def _times(self) -> tuple[int, int, int]:
        """Return ticks of all CPUs together: busy, stolen, all."""
        try:
            words = (self._proc / "stat").read_text().split("\n", 1)[0].split()[1:9]
        except OSError:
            return 0, 0, 0
        user, nice, system, idle, wait, irq, soft, steal = (*map(int, words), *[0] * 8)[:8]
        busy = user + nice + system + irq + soft
        return busy, steal, busy + idle + wait + steal


def _own_seconds() -> float:
    times = os.times()  # of children, those that have ended
    return times.user + times.system + times.children_user + times.children_system
