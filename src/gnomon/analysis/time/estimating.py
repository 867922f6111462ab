"""How sure the account of one run is: waits that nobody looked at, and samples of what ran.

A wait is looked at with a chance that its length decides, as it was in this run. Waits that were
not are told by those of about their length, with the correction of survey sampling; its residuals
give the variance. docs/explanation/time-account.md has the reasons and what was covered.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.time.division import LONG, Division
from gnomon.analysis.time.result import Cause
from gnomon.analysis.time.timeline import State, Thread, Timeline
from gnomon.analysis.time.waits import Kinds, octave

Floats = NDArray[np.float64]
_WIDTHS = (0.25, 0.5, 1.0, 2.0, 50.0)  # octaves of the kernel; the best by leave-one-out
_LATE = 8_000  # ns at the end of a wait in which a look comes too late
_T95 = (0.0, 6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812)


class Spread(NamedTuple):
    """How far a sum may be below and above its estimate, in ns."""

    below: float
    above: float


@dataclass(slots=True)
class Estimates:
    """By thread and cause: what changes of guessed time, and how sure the sum is."""

    scale: dict[tuple[int, Cause], float] = field(default_factory=dict)
    change: dict[tuple[int, Cause], float] = field(default_factory=dict)
    spread: dict[tuple[int, Cause], Spread] = field(default_factory=dict)


def t_quantile(freedom: float) -> float:
    """Return the 95 % quantile of Student's distribution; its degrees may be a fraction."""
    if freedom >= 10:
        return 1.645 + 1.524 / freedom + 1.4 / freedom**2
    freedom = max(1.0, freedom)
    low = int(freedom)
    return _T95[low] + (_T95[low + 1] - _T95[low]) * (freedom - low)


def score_interval(share: float, variance: float, z: float, draws: int) -> tuple[float, float]:
    """Return the interval of a share; its variance says how many draws it is worth."""
    share = min(1.0, max(0.0, share))
    edge = 0.5 / (draws + 1)
    inner = min(1 - edge, max(edge, share))
    worth = max(1.0, inner * (1 - inner) / max(variance, 1e-12))
    centre = (share + z * z / 2 / worth) / (1 + z * z / worth)
    half = z * math.sqrt(share * (1 - share) / worth + z * z / 4 / worth**2) / (1 + z * z / worth)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def chance_of_look(length: Floats, tick: float) -> Floats:
    """Return the chance that a wait is looked at, with looks `tick` apart, give or take half."""
    late = 1 - np.maximum(0.0, 1.5 * tick - length) ** 2 / (2 * tick * tick)
    return np.where(length <= tick / 2, np.minimum(1.0, length / tick), late)


def estimate(timeline: Timeline, kinds: Kinds, division: Division) -> Estimates:
    """Estimate what the waits of each thread that nobody looked at were for."""
    found = Estimates()
    edges = timeline.bounds()
    length = (timeline.end - timeline.begin).astype(float)
    for each in timeline.threads:
        first, last = edges[each.number], edges[each.number + 1]
        waits = first + np.flatnonzero(
            (timeline.state[first:last] == State.WAITING) & (timeline.key[first:last] != -1)
        )
        blank = waits[(timeline.key[waits] <= -2) & (division.owned[waits] > 0)]
        seen = waits[(timeline.look[waits] >= 0) & (length[waits] < 1.5 * kinds.tick)]
        if len(blank) and len(seen):
            of = _Waits(kinds, division, length, waits, blank, seen, timeline.key, each.number)
            of.into(found, each.number)
    return found


class _Waits:
    """The waits of one thread."""

    def __init__(
        self,
        kinds: Kinds,
        division: Division,
        length: Floats,
        waits: NDArray[np.int64],
        blank: NDArray[np.int64],
        seen: NDArray[np.int64],
        key: NDArray[np.int32],
        number: int,
    ) -> None:
        self.tick = kinds.tick
        self.gap, self.blank_gap = division.owned[seen], division.owned[blank]
        self.size, self.blank_size = length[seen], length[blank]
        self.causes = [kinds.waits[int(k)].cause for k in key[seen]]
        self.names = sorted(set(self.causes), key=lambda cause: cause.value)
        self.cause = np.array([self.names.index(cause) for cause in self.causes])
        self.outside = np.array([not cause.internal for cause in self.names])
        self.old = division.guessed.get(number, Counter[Cause]())
        short = length[waits][length[waits] < 1.5 * self.tick]
        self._chances(short)

    def _chances(self, short: Floats) -> None:
        """Learn how often waits of each length were looked at in this run."""
        self.classes = np.arange(0, 4 * 45)
        middle = 2.0 ** (self.classes / 4)
        all_of = np.bincount(octave(short.astype(np.int64), 4), minlength=len(self.classes))
        seen_of = np.bincount(octave(self.size.astype(np.int64), 4), minlength=len(self.classes))
        near = np.exp(-(((self.classes[:, None] - self.classes) / 2) ** 2) / 2)
        near[near <= 0.01] = 0
        due = near @ (all_of * chance_of_look(np.maximum(0, middle - _LATE), self.tick))
        came = near @ seen_of
        ratio = (came + 1) / (due + 1)
        self.came = np.where(due >= 3, ratio, 1.0)
        plain = chance_of_look(np.maximum(1.0, middle - _LATE), self.tick)
        chance = np.minimum(1.0, plain * np.clip(ratio, 0.02, 1.2))
        self.weight = 1 / np.maximum(chance[octave(self.size.astype(np.int64), 4)], 1e-3)

    def _shares(self, width: float) -> tuple[Floats, Floats, Floats]:
        """Return causes by class of length and of each seen wait without itself; residuals."""
        count = len(self.names)
        classes = octave(self.size.astype(np.int64), 4)
        bins = np.zeros((len(self.classes), count))
        np.add.at(bins, (classes, self.cause), self.weight)
        near = np.exp(-(((self.classes[:, None] - self.classes) / 4 / width) ** 2) / 2)
        near[near <= 1e-6] = 0
        sums = near @ bins + 1e-9
        total = bins.sum(0) / bins.sum()
        mass = sums.sum(1, keepdims=True)
        shares = np.where(mass < 1e-6, 1 / count, sums / mass)
        alone = sums[classes].copy()
        rows = np.arange(len(classes))
        alone[rows, self.cause] = np.maximum(1e-9, alone[rows, self.cause] - self.weight)
        mass = alone.sum(1, keepdims=True)
        alone = np.where(mass < 1e-6, total, alone / mass)
        alone = self._from_outside(alone, (self.gap > LONG) & self.outside[self.cause])
        residual = -alone
        residual[rows, self.cause] += 1
        return shares, alone, residual

    def _from_outside(self, shares: Floats, long: NDArray[np.bool_]) -> Floats:
        """Leave out causes that end sooner than a long gap."""
        kept = shares * self.outside
        mass = kept.sum(1, keepdims=True)
        return np.where(long[:, None] & (mass > 0.02), kept / np.maximum(mass, 1e-12), shares)

    def into(self, found: Estimates, number: int) -> None:
        """Add what was found of a thread."""
        best: tuple[float, Floats, Floats] | None = None
        for width in _WIDTHS:
            shares, _, residual = self._shares(width)
            loss = float(((residual**2).sum(1) * ((self.weight - 1) * self.size) ** 2).sum())
            if best is None or loss < best[0] * 0.98:
                best = loss, shares, residual
        assert best is not None
        _, shares, residual = best
        total = float(self.blank_gap.sum())
        classes = octave(self.blank_size.astype(np.int64), 4)
        mine = self._from_outside(shares[classes], self.blank_gap > LONG)
        sums = (self.blank_gap[:, None] * mine).sum(0)
        void = float((self.blank_gap * np.maximum(0, 1 - 2 * self.came[classes])).sum())
        looks = len(self.size)
        terms = ((self.weight - 1) * self.gap)[:, None] * residual
        sums = sums + terms.sum(0)
        variance = (terms**2).sum(0) * looks / max(1, looks - 1)
        least = 0.5 * (total / (looks + 1)) ** 2
        fourth = (terms**4).sum(0)
        negative = float(np.minimum(0, sums).sum())
        if negative < 0:
            positive = float(np.maximum(0, sums).sum())
            sums = np.maximum(0, sums) * max(0.0, positive + negative) / max(positive, 1e-12)
        if sums.sum() > 0:
            sums = sums * total / sums.sum()
        before = self.old
        for k, cause in enumerate(self.names):
            freedom = variance[k] ** 2 / fourth[k] if fourth[k] and variance[k] > least else 10.0
            spread = max(float(variance[k]), least) / total**2
            share = float(sums[k]) / total
            z = min(2.0, t_quantile(float(freedom)))
            low, high = score_interval(share, spread, z, looks)
            low = max(0.0, low - void / total * min(1.0, 2 * share))
            high = min(1.0, high + void / total)
            found.spread[number, cause] = Spread((share - low) * total, (high - share) * total)
            found.change[number, cause] = float(sums[k]) - before.get(cause, 0.0)
            if before.get(cause, 0.0) > 0:
                found.scale[number, cause] = float(sums[k]) / before[cause]


def spinning_share(
    timeline: Timeline, thread: Thread, spins: NDArray[np.bool_]
) -> tuple[float, float, int]:
    """Return the share of samples that spin, its variance, and how often it changes.

    Two clocks give pairs of samples at all distances: how soon they disagree tells how long
    phases last, and so how much better than independent draws regular samples are.
    """
    rows = thread.samples
    weight = rows["b"].astype(float)
    count, total = len(rows), float(weight.sum())
    share = float(weight[spins].sum()) / total
    changes = int(np.count_nonzero(spins[1:] != spins[:-1]))
    floor = 0.5 / (count + 1) ** 2
    plain = max(float((weight**2).sum()) / total**2 * share * (1 - share), floor)
    if count < 20:
        return share, plain, max(2, changes)
    step = total / count * len(np.unique(weight))
    cpu = _cpu_times(timeline, thread)
    inner = min(1 - 1 / count, max(1 / count, float(spins.mean())))
    distances, differ = [], []
    for lag in (1, 2, 3):
        apart = cpu[lag:] - cpu[:-lag]
        near = (apart > 0) & (apart < step)
        distances.append(apart[near])
        differ.append((spins[lag:] != spins[:-lag])[near])
    apart, changed = np.concatenate(distances), np.concatenate(differ)
    taus = step * 2.0 ** (np.arange(-10, 21) / 3)
    chance = np.clip(
        2 * inner * (1 - inner) * (1 - np.exp(-apart[None, :] / taus[:, None])), 1e-6, 1 - 1e-6
    )
    likely = np.where(changed[None, :], np.log(chance), np.log1p(-chance)).sum(1)
    tau = float(taus[np.flatnonzero(likely > likely.max() - 1e-4)[0]])
    x = step / 2 / tau
    factor = 1 / math.tanh(x) - 1 / x if x < 30 else 1 - 1 / x
    return share, max(plain * factor, floor), max(4, changes)


def _cpu_times(timeline: Timeline, thread: Thread) -> Floats:
    """Return the CPU time of a thread at each of its samples."""
    edges = timeline.bounds()
    mine = slice(edges[thread.number], edges[thread.number + 1])
    state = timeline.state[mine]
    ran = (state == State.RUNNING) | (state == State.SPINNING)
    begin, end = timeline.begin[mine][ran], timeline.end[mine][ran]
    if not len(begin):
        return np.zeros(len(thread.samples))
    before = np.concatenate([[0], np.cumsum(end - begin)[:-1]])
    at = np.maximum(0, np.searchsorted(begin, thread.samples["time"], "right") - 1)
    cpu: Floats = before[at] + np.minimum(thread.samples["time"], end[at]).astype(float) - begin[at]
    return cpu
