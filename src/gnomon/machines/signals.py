"""Counter processes: counts that follow published statistics instead of a simulated program.

An event on a CPU is a Gauss-Markov process: a mean, a standard deviation, and a rate at which
it forgets, all of counts in a slice of time. Such signals need no workload, and their true
values are known in every slice, which is what estimators are tried on. Processes of different
events are independent, because nothing is published about how they go together.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
