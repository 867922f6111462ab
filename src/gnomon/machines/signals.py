"""Processes in place of a program, of which everything is known: counts, or loads.

An event on a CPU is a Gauss-Markov process: a mean, a standard deviation, and a rate at which
it forgets, all of counts in a slice of time. Such signals follow published statistics and need no
workload; their true values are known in every slice, which is what estimators are tried on.
Processes of different events are independent, because nothing is published about how they go
together.

A program of loads goes from phase to phase, each with loads of its own latencies and at its own
rate, independent of each other. How many loads of every latency there were is known, which is
what histograms of latency are scored against.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gnomon.errors import UsageError
from gnomon.events.tomlfile import Collection, is_file
from gnomon.machines.fields import number, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gnomon.events.tomlfile import Section


class Process(NamedTuple):
    """A Gauss-Markov process of counts in a slice; `beta` is in 1/s."""

    mean: float
    sigma: float
    beta: float


@dataclass(frozen=True, slots=True)
class Signal:
    """Processes of many events on several CPUs, some of which may have none."""

    name: str
    title: str
    pmu: str
    slice_ns: int
    cpus: int
    processes: Mapping[str, Mapping[int, Process]]


_SIGNALS = Collection("signal", "gnomon.machines", "processes")


def signal_names() -> tuple[str, ...]:
    """Return the names of the signals that come with gnomon."""
    return _SIGNALS.names()


def load_signal(name: str | Path) -> Signal:
    """Return a signal by the name of one that comes with gnomon, or by its file."""
    return _signal(*_SIGNALS.read(name)) if is_file(name) else _built_in(str(name))


@cache
def _built_in(name: str) -> Signal:
    return _signal(*_SIGNALS.read(name))


def _signal(top: Section, name: str) -> Signal:
    title, pmu = top.text("title", ""), top.text("pmu")
    slice_ms, cpus = number(top, "slice_ms"), whole(top, "cpus", 1)
    if slice_ms <= 0:
        raise top.error(f"must be above zero, not {slice_ms:g}", "slice_ms")
    if not 1 <= cpus <= 1024:
        raise top.error(f"must be 1 to 1024, not {cpus}", "cpus")
    processes: dict[str, dict[int, Process]] = {}
    for event, (section, *_) in top.section("events").sections():
        processes[event] = {
            cpu: _process(section.section(f"cpu{cpu}"))
            for cpu in range(cpus)
            if f"cpu{cpu}" in section
        }
        section.finish()
        if not processes[event]:
            raise section.error("has no process on any CPU, as in cpu0 = { mean = 1.0, ... }")
    top.finish()
    return Signal(name, title, pmu, round(slice_ms * 1e6), cpus, processes)


def _process(section: Section) -> Process:
    process = Process(*(number(section, key) for key in Process._fields))
    section.finish()
    for key in Process._fields:
        if getattr(process, key) < 0:
            raise section.error("must not be negative", key)
    return process


@dataclass(slots=True)
class SignalRun:
    """A signal on its way through simulated time.

    Within a slice counts come evenly. `values` are the processes as they are, which may be
    below zero; what is counted is clipped there and rounded.
    """

    signal: Signal
    duration_ns: int
    seed: int = 1
    now_ns: int = 0
    series: tuple[tuple[str, int], ...] = ()
    _random: np.random.Generator = field(init=False)
    _values: list[NDArray[np.float64]] = field(init=False)
    _before: NDArray[np.int64] = field(init=False)
    _phi: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.series = tuple(
            (event, cpu) for event, on in self.signal.processes.items() for cpu in on
        )
        self._random = np.random.default_rng(self.seed)
        slice_s = self.signal.slice_ns / 1e9
        self._phi = np.array([math.exp(-self._of(key).beta * slice_s) for key in self.series])
        self._before = np.zeros(len(self.series), dtype=np.int64)
        self._values = [self._means + self._sigmas * self._draw()]

    def _of(self, key: tuple[str, int]) -> Process:
        event, cpu = key
        return self.signal.processes[event][cpu]

    def _draw(self) -> NDArray[np.float64]:
        return self._random.standard_normal(len(self.series))

    @property
    def _means(self) -> NDArray[np.float64]:
        return np.array([self._of(key).mean for key in self.series])

    @property
    def _sigmas(self) -> NDArray[np.float64]:
        return np.array([self._of(key).sigma for key in self.series])

    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Let time pass up to a moment, or for so many real seconds; tell whether it has ended."""
        deadline = None if seconds is None else time.monotonic() + seconds
        goal = self.duration_ns if until_ns is None else min(until_ns, self.duration_ns)
        means, sigmas = self._means, self._sigmas
        # The exact solution over a slice, whatever its length: no step is ever too long.
        spread = sigmas * np.sqrt(1 - self._phi**2)
        while self.now_ns < goal:
            end = len(self._values) * self.signal.slice_ns
            if goal < end:
                self.now_ns = goal
                break
            self._before += _clipped(self._values[-1])
            self._values.append(
                means + self._phi * (self._values[-1] - means) + spread * self._draw()
            )
            self.now_ns = end
            if deadline is not None and time.monotonic() >= deadline:
                break
        return self.now_ns >= self.duration_ns

    def counts(self) -> NDArray[np.int64]:
        """Return what happened so far, a number for each of `series`."""
        start = (len(self._values) - 1) * self.signal.slice_ns
        share = (self.now_ns - start) / self.signal.slice_ns
        within: NDArray[np.int64] = np.floor(_clipped(self._values[-1]) * share).astype(np.int64)
        return self._before + within

    def values(self) -> NDArray[np.float64]:
        """Return the true processes, (slice, series), up to the slice that is under way."""
        return np.stack(self._values)


def _clipped(values: NDArray[np.float64]) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.rint(np.maximum(values, 0.0)).astype(np.int64)
    return counts


# ---- loads of known latencies ----------------------------------------------------------------


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
                "loads come at 1 to 1,000 million per second, in phases of 1 ms or more."
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
            raise ValueError("a step consists of whole pieces")
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
