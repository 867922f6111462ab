"""Slow and obvious twins of the filters that learn: one event, or one event and fixed counters."""

from __future__ import annotations

import math

import numpy as np
from tests.analysis.estimate.kalman.dense import Dense, Floats

MEMORY = 60.0


def _weight(seen: int) -> float:
    return max(1 / seen, 1 / MEMORY)


class Steps:
    """Moments of increments, and what they say of a walk in noise."""

    def __init__(self, first: float) -> None:
        self.seen = 0
        self.square = max((0.3 * first) ** 2, 1e-12)
        self.product = self.last = self.gap = 0.0

    def add(self, step: float, gap: float) -> None:
        self.seen += 1
        self.square += _weight(self.seen + 1) * (step**2 - self.square)
        if self.seen > 1:
            self.product += _weight(self.seen - 1) * (step * self.last - self.product)
        self.last = step
        self.gap += _weight(self.seen) * (gap - self.gap)

    @property
    def noise(self) -> float:
        square = max(self.square, 1e-12)
        guess = (self.product * self.seen - square) / (self.seen + 4)
        return min(max(-guess, 1e-6 * square), 0.49 * square)

    def walk(self, otherwise: float) -> float:
        """The variance that a second adds."""
        return (max(self.square, 1e-12) - 2 * self.noise) / (self.gap or otherwise)


class Walk:
    """A random walk of one event, on the scale of square roots."""

    def __init__(self) -> None:
        self.x = self.p = self.q = self.noise = self.since = self.value = 0.0
        self.steps: Steps | None = None

    def push(self, dt: float, count: float) -> None:
        self.p += self.q * dt
        self.since += dt
        if math.isnan(count):
            return
        value = math.sqrt(count / dt)
        if self.steps is None:
            self.steps = Steps(value)
            self.x, self.p = value, self.steps.square
        else:
            self.steps.add(value - self.value, self.since)
        self.value, self.since = value, 0.0
        self.noise, self.q = self.steps.noise, self.steps.walk(dt)
        gain = self.p / (self.p + self.noise)
        self.x += gain * (value - self.x)
        self.p *= 1 - gain


class Led:
    """One event that moves with fixed counters: a dense filter of all of them."""

    def __init__(self, fixed: int) -> None:
        self.fixed = fixed
        self.dense = Dense(
            np.zeros(fixed + 1), np.zeros((fixed + 1, fixed + 1)), [], np.zeros(fixed + 1)
        )
        self.dense.pick = list(range(fixed + 1))
        self.q = np.zeros((fixed + 1, fixed + 1))
        self.spread = np.eye(fixed)
        self.before: Floats | None = None
        self.at = np.zeros(fixed)
        self.inner, self.outer = np.zeros((fixed, fixed)), np.zeros(fixed)
        self.b = np.zeros(fixed)
        self.steps: Steps | None = None
        self.since = self.value = 0.0
        self.ticks = self.regressed = 0

    def push(self, dt: float, fixed: Floats, count: float) -> None:
        now = np.sqrt(fixed / dt)
        self.since += dt
        if self.before is None:
            self.dense.x[: self.fixed] = now
        else:
            step = now - self.before
            self.ticks += 1
            self.spread += _weight(self.ticks) * (np.outer(step, step) / dt - self.spread)
        self.before = now
        self.dense.predict(np.eye(self.fixed + 1), self.q * dt)
        if self.dense.noise[0] > 0:
            self.dense.correct(list(range(self.fixed)), now)
        else:
            self.dense.x[: self.fixed] = now
        if math.isnan(count):
            return
        value = math.sqrt(count / dt)
        if self.steps is None:
            self.steps = Steps(value)
            self.dense.x[-1] = value
            self.dense.p[-1, :] = self.dense.p[:, -1] = 0.0
            self.dense.p[-1, -1] = self.steps.square
        else:
            self._regress(value - self.value, now - self.at)
        self.value, self.since, self.at = value, 0.0, now
        own = np.zeros((self.fixed + 1, self.fixed))
        own[: self.fixed] = np.eye(self.fixed)
        own[-1] = self.b
        self.q = own @ self.spread @ own.T
        self.q[-1, -1] += self.steps.walk(dt)
        self.dense.noise = np.append(1e-9 * np.diag(self.spread) + 1e-300, self.steps.noise)
        self.dense.correct([self.fixed], np.array([value]))

    def _regress(self, step: float, moved: Floats) -> None:
        assert self.steps is not None
        self.regressed += 1
        weight = _weight(self.regressed)
        self.outer += weight * (step * moved - self.outer)
        self.inner += weight * (np.outer(moved, moved) - self.inner)
        pull = (0.01 + 1 / self.regressed) * np.diag(np.diag(self.inner))
        floor = 1e-12 * np.trace(self.inner) * np.eye(self.fixed)
        self.b = np.linalg.solve(self.inner + pull + floor, self.outer)
        self.steps.add(step - float(self.b @ moved), self.since)
