"""The division where no record tells who had a CPU when: by what the scheduler said at each tick.

Between two ticks the CPU time and the delay of every thread are known, and in which wait it was
seen; what ran side by side, and who woke whom, is not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.time.causes import Causes, Wait
from gnomon.analysis.time.division import Division, Row, Steps, allowed, is_idle
from gnomon.analysis.time.result import Cause, Culprit, Meanwhile
from gnomon.analysis.time.timeline import State, Thread, Timeline
from gnomon.analysis.time.waits import Kinds, ticks_of

Floats = NDArray[np.float64]
_BEAT = 200_000  # ns a slice: a heartbeat
_TOGETHER, _OFTENER = 0.6, 1.6  # how often a sleeper runs when a reader does, and beside its usual
_READERS = (Cause.NETWORK, Cause.PIPE, Cause.POLL)
_WAKERS = (Cause.SLEEP, Cause.DISK)
_NEAR = 25  # ticks either side in which causes of a gap are looked for
_ORDER = (
    (Cause.GIL, Meanwhile.GIL),
    (Cause.LOCK, Meanwhile.LOCK),
    (Cause.BARRIER, Meanwhile.BARRIER),
)
CANNOT_TELL = (
    "Without records of switches, time lost to other programs is told too short, and what a "
    "holder of a lock waits for may be told as computing or another wait."
)


@dataclass(slots=True)
class _Course:
    """What one thread did in each interval between ticks."""

    thread: Thread
    ran: Floats  # share of the interval
    delay: Floats
    spun: Floats
    slices: NDArray[np.int64]
    key: NDArray[np.int64]  # of the wait at the beginning of each interval; -1: not seen
    first: int
    last: int
    usual: Wait | None

    def lives(self, k: int) -> bool:
        """Whether it was there."""
        return self.first <= k <= self.last


class Ticks:
    """The intervals of a run, and what each thread did in them."""

    def __init__(
        self,
        timeline: Timeline,
        kinds: Kinds,
        causes: Causes,
        spins: dict[int, NDArray[np.bool_]],
        servers: set[int],
    ) -> None:
        self.servers = servers
        ticks = ticks_of(timeline)
        inner = ticks[(ticks > timeline.start) & (ticks < timeline.stop)]
        self.edges = np.unique(np.concatenate([[timeline.start], inner, [timeline.stop]]))
        self.count = max(0, len(self.edges) - 1)
        self.width = np.diff(self.edges).astype(float)
        self.timeline, self.kinds, self.causes = timeline, kinds, causes
        self.courses = (
            [self._course(each, spins) for each in timeline.threads] if self.count else []
        )

    def at(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the intervals in which moments lie."""
        return np.clip(np.searchsorted(self.edges, times, "right") - 1, 0, self.count - 1)

    def _end(self, thread: Thread) -> int:
        """Return when a thread was last known to be there."""
        if thread.end < self.timeline.stop - 1000 or not len(thread.sched):
            return thread.end
        read = int(thread.sched["time"][-1])
        return read if self.timeline.stop - read > 2 * self.kinds.tick else thread.end

    def _course(self, thread: Thread, spins: dict[int, NDArray[np.bool_]]) -> _Course:
        n = self.count
        ran, delay = np.zeros(n), np.zeros(n)
        slices = np.zeros(n, np.int64)
        sched = thread.sched
        first = int(self.at(np.array([thread.born]))[0])
        last = int(self.at(np.array([self._end(thread)]))[0])
        if len(sched):
            place = self.at(sched["time"] - 1)  # a reading tells of the interval that it ends
            length = np.maximum(self.width[place], 1_000_000)
            np.add.at(ran, place, np.diff(sched["a"], prepend=0) / length)
            np.add.at(delay, place, np.diff(sched["b"], prepend=0) / length)
            np.add.at(slices, place, np.diff(sched["what"].astype(np.int64), prepend=0))
        slices[last] += 1  # it ran to its end
        _push(ran, np.ones(n), first)
        _push(delay, np.maximum(0.0, 1 - ran), first)
        spun = np.zeros(n)
        spinning = spins.get(thread.number)
        if spinning is not None and len(spinning):
            place = self.at(thread.samples["time"])
            number = np.bincount(place, minlength=n)
            hit = np.flatnonzero(number)
            share = np.bincount(place, spinning, n)[hit] / number[hit]
            spun = ran * np.interp(np.arange(n), hit, share)
            ran = ran - spun
        key, usual = self._waits(thread, slices)
        return _Course(thread, ran, delay, spun, slices, key, first, last, usual)

    def _waits(
        self, thread: Thread, slices: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Wait | None]:
        """Return the wait that a thread was in at each interval, and the most frequent."""
        value = np.full(self.count, -1, np.int64)
        known = np.zeros(self.count, bool)
        known[1:] = slices[:-1] > 0  # it ran: the wait before is over
        known[0] = True
        seen: Counter[Wait] = Counter()
        faults = np.bincount(self.at(thread.faults), minlength=self.count)
        paged = (faults > 0) & (2 * faults >= slices)  # mostly page-ins
        value[paged], known[paged] = self.kinds.number(Wait(Cause.PAGE_IN)), True
        seen[Wait(Cause.PAGE_IN)] += int(paged.sum())
        for look in thread.looks:
            wait = self.causes.of(int(look["what"]), thread.pid)
            k = int(self.at(np.array([look["time"]]))[0])
            value[k], known[k] = self.kinds.number(wait), True
            seen[wait] += 1
        place = np.maximum.accumulate(np.where(known, np.arange(self.count), 0))
        return value[place], seen.most_common(1)[0][0] if seen.total() else None

    def wait(self, course: _Course, k: int) -> Wait | None:
        """Return what a thread waits for in an interval."""
        key = int(course.key[k])
        return self.kinds.waits[key] if key >= 0 else None


def _push(values: Floats, most: Floats, first: int) -> None:
    """Move what exceeds an interval into those before: the scheduler tells it late."""
    for k in range(len(values) - 1, first, -1):
        if values[k] > most[k]:
            values[k - 1] += values[k] - most[k]
            values[k] = most[k]
    np.clip(values, 0.0, 1.0, out=values)


def divide_ticks(ticks: Ticks) -> Division:
    """Divide elapsed time by what is known between ticks."""
    return _Dividing(ticks).run()


class _Dividing:
    def __init__(self, ticks: Ticks) -> None:
        self.ticks, self.timeline = ticks, ticks.timeline
        n = ticks.count
        self.found = Division(
            {},
            {},
            np.zeros(len(self.timeline.thread)),
            {},
            np.zeros(len(self.timeline.threads)),
            Steps(
                ticks.edges[:n],
                np.zeros(n, np.int32),
                np.zeros(n, np.int32),
                np.zeros(n, np.int32),
                np.zeros(n),
                np.zeros(n),
            ),
            0,
            None,
        )
        self.owner: tuple[_Course, Wait | None] | None = None
        self.gaps: list[tuple[int, float, tuple[_Course, Wait | None] | None]] = []

    def run(self) -> Division:
        for k in range(self.ticks.count - 1, -1, -1):
            self._interval(k)
        total = sum(gap for _, gap, _ in self.gaps)
        facts = self.timeline.record.facts
        seen = sum(
            float(c.thread.sched["a"][-1]) for c in self.ticks.courses if len(c.thread.sched)
        )
        unseen = max(0.0, facts.user_ns + facts.system_ns - seen)
        if unseen <= 0.02 * (self.timeline.stop - self.timeline.start):
            unseen = 0.0
        cut = min(1.0, unseen / total) if total else 0.0
        for k, gap, owner in self.gaps:
            self.found.add(Row(Cause.COMPUTING, "threads too short to be seen"), gap * cut)
            self._gap(k, gap * (1 - cut), owner)
        lost = sum(t for row, t in self.found.rows.items() if row.cause is Cause.NO_CPU)
        if lost:
            self.found.culprits[Culprit.OTHERS] = lost
        return self.found

    def _interval(self, k: int) -> None:
        ticks, cpus = self.ticks, allowed(self.timeline)
        width = float(ticks.width[k])
        live = [course for course in ticks.courses if course.lives(k)]
        ran = sum(float(c.ran[k]) for c in live)
        delay = sum(float(c.delay[k]) for c in live if c.delay[k] > 0.02)
        others = self._others(live, k)
        busy = min(1.0, ran)
        waits_for_lock = others in (Meanwhile.GIL, Meanwhile.LOCK)
        able = min(cpus, ran + (0.0 if waits_for_lock else delay)) or 1.0
        lost = 0.0
        if delay and ran < 0.9 * cpus:
            lost = min(1.0, ran + delay) - busy if ran < 1 else 0.0
        if ran >= 1 and able > ran:
            lost, busy = 1 - ran / able, ran / able
        elif busy + lost > 1:
            lost = 1 - busy
        meanwhile = others if ran < 1.7 else Meanwhile.NOTHING
        for course in live:
            if course.ran[k] > 0:
                time = width * busy * float(course.ran[k]) / ran
                self.found.add(Row(Cause.COMPUTING, course.thread.name, meanwhile), time)
                self.found.computed[course.thread.number] += time
        self.found.add(Row(Cause.NO_CPU, "", object=Culprit.OTHERS.value), width * lost)
        steps = self.found.steps
        steps.running[k], steps.ready[k] = round(ran), round(delay)
        steps.spinning[k] = round(sum(float(c.spun[k]) for c in live))
        steps.rate[k], steps.lost[k] = (busy / ran if ran else 0.0), lost
        self._own(live, k, width)
        self.gaps.append((k, width * max(0.0, 1 - busy - lost), self.owner))

    def _others(self, live: list[_Course], k: int) -> Meanwhile:
        """Return what others wait for while something computes."""
        causes = {wait.cause for course in live if (wait := self.ticks.wait(course, k))}
        for cause, meanwhile in _ORDER:
            if cause in causes:
                return meanwhile
        if any(course.spun[k] > 0.2 for course in live):
            return Meanwhile.SPIN
        return Meanwhile.JOIN if Cause.JOIN in causes else Meanwhile.NOTHING

    def _own(self, live: list[_Course], k: int, width: float) -> None:
        """Find the thread whose wait ended in this interval."""
        found: list[tuple[_Course, Wait | None]] = []
        beats: list[tuple[_Course, Wait | None]] = []
        for course in live:
            if not course.slices[k]:
                continue
            wait = self.ticks.wait(course, k) or course.usual
            if wait is not None and wait.cause.internal:
                continue
            if wait is None and course.ran[k] < 0.02:
                continue
            short = course.ran[k] * width / course.slices[k] < _BEAT
            beat = wait is not None and wait.cause is Cause.SLEEP and short
            (beats if beat else found).append((course, wait))
        if found:
            self.owner = max(found, key=lambda each: float(each[0].ran[k]))
            if self.owner[1] is not None and self.owner[1].cause in _READERS:
                wakers = [
                    each
                    for each in beats + found
                    if each[0] is not self.owner[0]
                    and each[1] is not None
                    and each[1].cause in _WAKERS
                    and _together(each[0], self.owner[0])
                ]
                self.owner = wakers[0] if wakers else self.owner
        elif beats and (
            self.owner is None
            or self.owner[0].slices[k]
            or any(self.owner[0] is each[0] for each in beats)
        ):
            self.owner = beats[0]

    def _gap(self, k: int, gap: float, owner: tuple[_Course, Wait | None] | None) -> None:
        if gap <= 0:
            return
        if owner is None:
            self.found.add(Row(Cause.UNKNOWN, ""), gap)
            return
        course, usual = owner
        near: Counter[Wait] = Counter()
        now = self.ticks.wait(course, k)
        if (
            usual is not None
            and now is not None
            and not course.slices[k]
            and not now.cause.internal
        ):
            near[now] = 1
        else:
            for q in range(max(0, k - _NEAR), min(self.ticks.count, k + _NEAR + 1)):
                wait = self.ticks.wait(course, q)
                if wait and (course.slices[q] or q == k) and not wait.cause.internal:
                    near[wait] += 1
        if not near:
            near[usual or Wait(Cause.UNKNOWN)] = 1
        for wait, number in near.items():
            idle = is_idle(wait, course.thread.pid, self.ticks.servers)
            row = Row(wait.cause, course.thread.name, idle=idle)
            self.found.add(row, gap * number / near.total(), wait)


def _together(sleeper: _Course, reader: _Course) -> bool:
    """Whether a thread runs whenever another does, and seldom else: then it woke it."""
    first, last = max(sleeper.first, reader.first), min(sleeper.last, reader.last)
    if last <= first:
        return False
    ours, theirs = sleeper.slices[first:last] > 0, reader.slices[first:last] > 0
    both, reads = int((ours & theirs).sum()), int(theirs.sum())
    if not reads or not ours.any():
        return False
    often = both / reads
    return often > _TOGETHER and often > _OFTENER * float(ours.mean())


def slices_of(ticks: Ticks) -> Timeline:
    """Return slices for the tables: in each interval a thread ran first, and then was ready."""
    thread: list[int] = []
    begin: list[int] = []
    end: list[int] = []
    state: list[int] = []
    key: list[int] = []
    for course in ticks.courses:
        for k in range(course.first, course.last + 1):
            a, b = int(ticks.edges[k]), int(ticks.edges[k + 1])
            a, b = max(a, course.thread.born), min(b, course.thread.end)
            at = a
            for kind, share in (
                (State.RUNNING, course.ran[k]),
                (State.SPINNING, course.spun[k]),
                (State.READY, min(course.delay[k], 1 - course.ran[k] - course.spun[k])),
                (State.WAITING, 1.0),
            ):
                until = b if kind is State.WAITING else min(b, at + int(share * (b - a)))
                if until <= at:
                    continue
                wait = int(course.key[k]) if kind is State.WAITING else -1
                same = thread and thread[-1] == course.thread.number and end[-1] == at
                if same and state[-1] == kind and key[-1] == wait:
                    end[-1] = until
                else:
                    thread.append(course.thread.number)
                    begin.append(at)
                    end.append(until)
                    state.append(kind)
                    key.append(wait)
                at = until
    count = len(thread)
    return ticks.timeline.replaced(
        thread=np.array(thread, np.int32),
        begin=np.array(begin, np.int64),
        end=np.array(end, np.int64),
        state=np.array(state, np.uint8),
        key=np.array(key, np.int32),
        look=np.full(count, -1, np.int32),
        fault=np.zeros(count, bool),
        delay=np.zeros(count, bool),
    )
