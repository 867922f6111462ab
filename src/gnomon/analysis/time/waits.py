"""What each waiting slice waited for: seen by a look, told by a fault, or guessed from others.

`Timeline.key` says it: a number of `Kinds.waits`, -1 where nobody knows, and -2 - d for the
distribution d of `Kinds.guesses`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.time.causes import Causes, Wait
from gnomon.analysis.time.result import Cause
from gnomon.analysis.time.timeline import State, Timeline
from gnomon.recording.wall import Moment

_MOST = 8  # causes in a guess
_TICK = 10_000_000
_APART = 2_000_000
_FEW = 20


class Guess(NamedTuple):
    """What waits of a thread of about one length were for, where they were looked at."""

    keys: NDArray[np.int32]
    chances: NDArray[np.float64]


@dataclass(slots=True)
class Kinds:
    """All that was waited for, each once."""

    tick: float
    waits: list[Wait] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)
    numbers: dict[Wait, int] = field(default_factory=dict)

    def number(self, wait: Wait) -> int:
        """Return the number of a wait."""
        if wait not in self.numbers:
            self.numbers[wait] = len(self.waits)
            self.waits.append(wait)
        return self.numbers[wait]

    def parts(self, key: int) -> Guess:
        """Return the causes of a key with their chances."""
        if key >= 0:
            return Guess(np.array([key], np.int32), np.ones(1))
        if key == -1:
            return Guess(np.array([self.number(Wait(Cause.UNKNOWN))], np.int32), np.ones(1))
        return self.guesses[-2 - key]

    def table(self, value: Callable[[Wait], int]) -> NDArray[np.int64]:
        """Return a number for the likeliest wait of each key; see `row`."""
        keys = range(-1 - len(self.guesses), len(self.waits))
        tops = (self.top(key) for key in keys)
        return np.array([-1 if top is None else value(top) for top in tops], np.int64)

    def row(self, keys: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return where keys stand in a table."""
        return keys.astype(np.int64) + 1 + len(self.guesses)

    def top(self, key: int) -> Wait | None:
        """Return the likeliest; None where nobody knows."""
        return None if key == -1 else self.waits[int(self.parts(key).keys[0])]


def ticks_of(timeline: Timeline) -> NDArray[np.int64]:
    """Return when each round of looks and readings ended; they lie at least 5 ms apart."""
    moments = timeline.record.moments
    kinds = (Moment.SCHED, Moment.WAIT, Moment.IDLE)
    times = np.sort(moments["time"][np.isin(moments["kind"], kinds)])
    ends = np.ones(len(times), bool)
    ends[:-1] = np.diff(times) > _APART
    rounds: NDArray[np.int64] = times[ends]
    return rounds


def tick_of(timeline: Timeline) -> float:
    """Return the usual time between looks, in ns."""
    rounds = ticks_of(timeline)
    return float(np.median(np.diff(rounds))) if len(rounds) > _FEW else float(_TICK)


def attribute(timeline: Timeline, causes: Causes) -> Kinds:
    """Fill in the keys of all waits."""
    kinds = Kinds(tick_of(timeline))
    edges = timeline.bounds()
    length = timeline.end - timeline.begin
    page_in = kinds.number(Wait(Cause.PAGE_IN))
    for each in timeline.threads:
        first, last = edges[each.number], edges[each.number + 1]
        mine = first + np.flatnonzero(timeline.state[first:last] == State.WAITING)
        for i in mine[timeline.look[mine] >= 0]:
            look = int(timeline.look[i])
            wait = causes.of(look, each.pid)
            late = causes.timed_out(look, int(timeline.begin[i]), int(timeline.end[i]))
            if late and wait.cause is not Cause.GIL:  # that one wakes up to ask for it
                wait = wait._replace(cause=Cause.SLEEP, object="", other=0)
            timeline.key[i] = kinds.number(wait)
        timeline.key[mine[timeline.fault[mine] & (timeline.look[mine] < 0)]] = page_in
        _guess(timeline, kinds, mine, length)
    return kinds


def octave(length: NDArray[np.int64], per: int) -> NDArray[np.int64]:
    """Return classes of lengths, so many to a doubling."""
    classes: NDArray[np.int64] = np.rint(per * np.log2(np.maximum(length, 1))).astype(np.int64)
    return classes


def _guess(
    timeline: Timeline, kinds: Kinds, mine: NDArray[np.int64], length: NDArray[np.int64]
) -> None:
    """Give waits without a look what seen waits of the thread of about their length were for.

    Waits of a length are seen with a chance that grows with it; each seen one stands for those
    that were not.
    """
    tick = kinds.tick
    key, lengths = timeline.key[mine], length[mine]
    blank = np.flatnonzero(key == -1)
    seen = np.flatnonzero((timeline.look[mine] >= 0) & (lengths < 1.5 * tick))
    if not len(blank) or not len(seen):
        return
    size = lengths[seen].astype(float)
    chance = 1 - (1.5 * tick - size) ** 2 / (2 * tick * tick)
    weight = np.where(size < tick / 2, tick - size, size * (1 - chance) / np.maximum(chance, 1e-9))
    classes = np.floor(2 * np.log2(np.maximum(size, 1)))
    names, place = np.unique(key[seen], return_inverse=True)
    wanted = np.floor(2 * np.log2(np.maximum(lengths[blank], 1)))
    for each in np.unique(wanted):
        near = weight * np.exp(-(((classes - each) / 2) ** 2) / 2) + 1e-9
        sums = np.bincount(place, near, len(names))
        order = np.argsort(-sums, kind="stable")[:_MOST]
        chances = sums[order] / sums[order].sum()
        kinds.guesses.append(Guess(names[order].astype(np.int32), chances))
        timeline.key[mine[blank[wanted == each]]] = -1 - len(kinds.guesses)
