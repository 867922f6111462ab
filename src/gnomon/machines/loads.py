"""A process of loads in place of a program: how long each load takes is known exactly.

A program goes from phase to phase, each with loads of its own latencies and at its own rate. Loads
of a phase come independently of each other. Such a process needs no machine, and tells how many
loads of every latency there were, which is what histograms of latency are scored against.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

LOADS = "loads"
"""The name of the process among signals."""

PIECE_NS = 1_000_000
_BLOCK = 1000  # pieces that are drawn at once
_POINTS = np.linspace(-2.0, 2.0, 9)  # where a peak has loads, in spreads from its middle


class Peak(NamedTuple):
    """Loads around a latency, all in cycles; `share` is of the loads of a phase."""

    cycles: float
    spread: float
    share: float


class LoadPhase(NamedTuple):
    """What a program does for a while: its rate as a share of the usual one, and its peaks."""

    rate: float
    peaks: tuple[Peak, ...]


PHASES = (
    LoadPhase(
        1.3,
        (
            Peak(5, 1, 0.35),
            Peak(14, 2, 0.25),
            Peak(45, 4, 0.15),
            Peak(230, 12, 0.20),
            Peak(390, 20, 0.05),
        ),
    ),
    LoadPhase(
        0.6,
        (
            Peak(5, 1, 0.15),
            Peak(14, 2, 0.15),
            Peak(45, 4, 0.20),
            Peak(230, 12, 0.10),
            Peak(390, 20, 0.40),
        ),
    ),
)
"""A phase that stays in caches and local memory, and one that goes to a remote node."""

SLOW, FAST = 5.0, 0.02
"""Seconds that a phase takes on average: much more than a sweep of thresholds, and much less."""


@dataclass(slots=True)
class LoadRun:
    """Loads on their way through simulated time; `rate` is in loads a second.

    Within a piece of 1 ms loads come evenly. Phases last between half and one and a half times
    `phase_seconds`, and follow each other in turn.
    """

    rate: float
    phase_seconds: float
    duration_ns: int
    seed: int = 1
    phases: tuple[LoadPhase, ...] = PHASES
    now_ns: int = 0
    latencies: NDArray[np.int64] = field(init=False)
    _expected: NDArray[np.float64] = field(init=False)
    _random: np.random.Generator = field(init=False)
    _totals: NDArray[np.int64] = field(init=False)
    _left: int = 0
    _phase: int = -1

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1e9 or self.phase_seconds < PIECE_NS / 1e9:
            raise UsageError(
                "loads come at 1 to 1,000 million a second, in phases of 1 ms or more."
            )
        shares = [_shares(phase) for phase in self.phases]
        self.latencies = np.array(sorted({latency for phase in shares for latency in phase}))
        self._expected = np.array(
            [
                [phase.rate * share.get(int(latency), 0.0) for latency in self.latencies]
                for phase, share in zip(self.phases, shares, strict=True)
            ]
        ) * (self.rate * PIECE_NS / 1e9)
        self._random = np.random.default_rng([self.seed, 77])
        self._totals = np.zeros((1, len(self.latencies)), dtype=np.int64)

    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Let time pass up to a moment, or for so many real seconds; tell whether it has ended."""
        deadline = None if seconds is None else time.monotonic() + seconds
        goal = self.duration_ns if until_ns is None else min(until_ns, self.duration_ns)
        while self.now_ns < goal:
            drawn = (len(self._totals) - 1) * PIECE_NS
            if drawn <= goal:
                self._draw()
            self.now_ns = min(goal, (len(self._totals) - 1) * PIECE_NS)
            if deadline is not None and time.monotonic() >= deadline:
                break
        return self.now_ns >= self.duration_ns

    def _draw(self) -> None:
        phase = np.empty(_BLOCK, dtype=np.int64)
        at = 0
        while at < _BLOCK:
            if self._left == 0:
                self._phase = (self._phase + 1) % len(self.phases)
                pieces = self.phase_seconds * self._random.uniform(0.5, 1.5) * 1e9 / PIECE_NS
                self._left = max(round(pieces), 1)
            here = min(self._left, _BLOCK - at)
            phase[at : at + here] = self._phase
            self._left -= here
            at += here
        loads = self._random.poisson(self._expected[phase])
        self._totals = np.concatenate((self._totals, self._totals[-1] + np.cumsum(loads, axis=0)))

    def totals(self) -> NDArray[np.int64]:
        """Return how many loads of each of `latencies` there were so far."""
        piece, rest = divmod(self.now_ns, PIECE_NS)
        before: NDArray[np.int64] = self._totals[piece]
        if rest:
            before = before + (self._totals[piece + 1] - before) * rest // PIECE_NS
        return before

    def course(self, step_ns: int) -> NDArray[np.int64]:
        """Return the loads of each of `latencies` in each step so far, (step, latency)."""
        if step_ns % PIECE_NS:
            raise ValueError("a step is made of whole pieces")
        whole = self.now_ns // step_ns
        totals = self._totals[: whole * (step_ns // PIECE_NS) + 1 : step_ns // PIECE_NS]
        return np.diff(totals, axis=0)

    def at_least(self, cycles: float) -> int:
        """Return how many loads took at least so many cycles so far."""
        return int(self.totals()[self.latencies >= cycles].sum())


def _shares(phase: LoadPhase) -> Mapping[int, float]:
    """Return the share of loads at each whole latency."""
    found: dict[int, float] = {}
    weights = np.exp(-(_POINTS**2) / 2)
    for peak in phase.peaks:
        for point, weight in zip(_POINTS, weights / weights.sum(), strict=True):
            latency = max(round(peak.cycles + point * peak.spread), 1)
            found[latency] = found.get(latency, 0.0) + float(weight) * peak.share
    return found
