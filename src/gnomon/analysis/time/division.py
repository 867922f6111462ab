"""Elapsed time divided among threads and causes: the kernel's pieces and gaps, summed in rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnomon._native import divide_time
from gnomon.analysis.time.causes import Wait
from gnomon.analysis.time.result import Cause, Culprit, Meanwhile
from gnomon.analysis.time.timeline import State, Timeline
from gnomon.analysis.time.waits import Guess, Kinds
from gnomon.recording.wall import Moment

LONG = 200_000
"""A gap longer than this was not ended by a thread of the program: it would have come sooner."""
_KNOWN = 200e6  # ns from which idle time says something
_SLACK = 20e6  # ns by which the idle time of the machine may be wrong
_MEANWHILE = tuple(Meanwhile)
_NOBODY, _SPINNERS = 6, 7
_UNKNOWN, _TIMER, _OUTSIDE, _INSIDE = range(4)
_RELATIONS = {Cause.LOCK: 1, Cause.GIL: 2, Cause.BARRIER: 3, Cause.FUTEX: 3, Cause.JOIN: 4}


class Row(NamedTuple):
    """What is summed."""

    cause: Cause
    who: str
    meanwhile: Meanwhile = Meanwhile.NOTHING
    object: str = ""
    idle: bool = False


@dataclass(slots=True)
class Steps:
    """How many threads ran, over time, and how much elapsed time each of them was given."""

    time: NDArray[np.int64]
    running: NDArray[np.int32]
    spinning: NDArray[np.int32]
    ready: NDArray[np.int32]
    rate: NDArray[np.float64]
    lost: NDArray[np.float64]


@dataclass(slots=True)
class Division:
    """Sums of rows, and what intervals and tables are made of."""

    rows: dict[Row, float]
    stacks: dict[Row, Counter[int]]  # time by stack of the wait
    owned: NDArray[np.float64]  # ns of gaps that each slice owns
    guessed: dict[int, Counter[Cause]]  # of gaps owned by waits without a look, by thread
    computed: NDArray[np.float64]  # elapsed ns that each thread computed for
    steps: Steps
    full: int
    others: float | None  # CPU time of other programs, as far as it is known
    culprits: dict[Culprit, float] = field(default_factory=dict)
    objects: dict[Row, Counter[str]] = field(default_factory=dict)  # time by what was waited for

    def add(self, row: Row, time: float, wait: Wait | None = None) -> None:
        """Add time to a row, and to the place and the object of its wait."""
        if time <= 0:
            return
        self.rows[row] = self.rows.get(row, 0.0) + time
        if wait is not None:
            self.stacks.setdefault(row, Counter())[wait.stack] += time  # type: ignore[assignment]
            objects = self.objects.setdefault(row, Counter())
            objects[wait.object] += time  # type: ignore[assignment]

    def object(self, row: Row) -> str:
        """Return what a row waited for, mostly."""
        named = [name for name, _ in self.objects.get(row, Counter()).most_common() if name]
        if row.object or not named:
            return row.object
        return named[0] if len(named) == 1 else f"{named[0]} and {len(named) - 1} more"


def allowed(timeline: Timeline) -> float:
    """Return how many CPUs the program may use."""
    facts = timeline.record.facts
    cpus = float(len(facts.cpus) or 1)
    return min(cpus, facts.quota) if facts.quota else cpus


def divide(timeline: Timeline, kinds: Kinds, servers: set[int]) -> Division:
    """Divide the elapsed time of a run."""
    pieces, gaps, steps, full = _kernel(timeline, kinds)
    return _Summing(timeline, kinds, servers, Steps(*steps), full).run(pieces, gaps)


def _kernel(timeline: Timeline, kinds: Kinds) -> tuple[Any, Any, Any, int]:
    pids = sorted({each.pid for each in timeline.threads})
    process = np.array([pids.index(each.pid) for each in timeline.threads], np.int32)
    waiting = timeline.state == State.WAITING
    place = kinds.row(timeline.key)
    ender = np.where(waiting, kinds.table(_ender)[place], _UNKNOWN)
    relation = np.where(waiting, kinds.table(lambda wait: _RELATIONS.get(wait.cause, 0))[place], 0)
    target = _joined(timeline, kinds, relation)
    pieces, gaps, steps, full = divide_time(
        timeline.thread,
        timeline.begin,
        timeline.end,
        timeline.state,
        np.maximum(ender, 0).astype(np.uint8),
        np.maximum(relation, 0).astype(np.uint8),
        target,
        process,
        len(pids),
        timeline.start,
        timeline.stop,
        timeline.exec,
        allowed(timeline),
    )
    return (
        _columns(pieces, "<i4", "u1", "<f8", "<f8"),
        _columns(gaps, "<i8", "<i8", "<i4", "u1"),
        _columns(steps, "<i8", "<i4", "<i4", "<i4", "<f8", "<f8"),
        full,
    )


def _ender(wait: Wait) -> int:
    if wait.cause is Cause.SLEEP:
        return _TIMER
    return _INSIDE if wait.cause.internal else _OUTSIDE


def _joined(timeline: Timeline, kinds: Kinds, relation: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the thread that each join waits for."""
    last = {(each.pid, each.tid): each.number for each in timeline.threads}
    target = np.full(len(relation), -1, np.int32)
    for i in np.flatnonzero(relation == _RELATIONS[Cause.JOIN]):
        top = kinds.top(int(timeline.key[i]))
        pid = timeline.threads[timeline.thread[i]].pid
        target[i] = last.get((pid, top.other), -1) if top is not None else -1
    return target


def _columns(given: tuple[bytes, ...], *dtypes: str) -> tuple[NDArray[Any], ...]:
    return tuple(np.frombuffer(each, dtype) for each, dtype in zip(given, dtypes, strict=True))


class _Summing:
    def __init__(
        self, timeline: Timeline, kinds: Kinds, servers: set[int], steps: Steps, full: int
    ) -> None:
        self.timeline, self.kinds, self.servers = timeline, kinds, servers
        count, threads = len(timeline.thread), len(timeline.threads)
        self.found: Division = Division(
            {}, {}, np.zeros(count), {}, np.zeros(threads), steps, full, None, {}
        )

    def run(self, pieces: tuple[NDArray[Any], ...], gaps: tuple[NDArray[Any], ...]) -> Division:
        place, meanwhile, amount, lost = pieces
        begin, end, owner, woken = gaps
        length = (end - begin).astype(float)
        if not self.timeline.record.facts.command:
            owner = self._unended(begin, end, owner)
        late = (woken == 1) & (length > LONG)
        late |= self._inside(owner, length) & (length > LONG)
        others = (meanwhile != _SPINNERS).astype(float) * lost
        kept = self._kept(float(others.sum() + length[late].sum()))
        threads = len(self.timeline.threads)
        thread = self.timeline.thread[place] if len(place) else place
        cell = thread * 8 + meanwhile
        sums = np.bincount(cell, amount + (1 - kept) * others, 8 * threads).reshape(threads, 8)
        free = np.bincount(cell, kept * others, 8 * threads).reshape(threads, 8)
        spun = np.bincount(cell, lost, 8 * threads).reshape(threads, 8)[:, _SPINNERS]
        for each in self.timeline.threads:
            mine = sums[each.number]
            for number, time in enumerate(mine[:_NOBODY]):
                self.found.add(Row(Cause.COMPUTING, each.name, _MEANWHILE[number]), float(time))
            self.found.add(Row(Cause.WAKING, each.name), float(mine[_NOBODY]))
            self.found.computed[each.number] = float(mine[:_NOBODY].sum())
        self._gaps(owner, length, late, kept)
        self._culprits(float(free.sum() + kept * length[late].sum()), float(spun.sum()))
        return self.found

    def _unended(self, begin: NDArray[Any], end: NDArray[Any], owner: NDArray[Any]) -> NDArray[Any]:
        """Give gaps that nothing ended while a running process was watched to its longest wait."""
        timeline, found = self.timeline, owner.copy()
        for gap in np.flatnonzero((owner < 0) & (end - begin > LONG)):
            middle = (begin[gap] + end[gap]) // 2
            covers = (timeline.begin <= middle) & (timeline.end > middle)
            covers &= timeline.state == State.WAITING
            if covers.any():
                found[gap] = int(np.argmax(np.where(covers, timeline.end - timeline.begin, -1)))
        return found

    def _inside(self, owner: NDArray[Any], length: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether gaps belong to a wait that a thread of the program ends: it ran before."""
        if not len(self.timeline.key):
            return np.zeros(len(owner), bool)
        keys = range(-1 - len(self.kinds.guesses), len(self.kinds.waits))
        inside = np.array(
            [
                [self.kinds.waits[int(self._parts(k, long).keys[0])].cause.internal for k in keys]
                for long in (False, True)
            ],
            bool,
        )
        place = self.kinds.row(self.timeline.key[owner])
        waits = (owner >= 0) & (self.timeline.state[owner] == State.WAITING)
        found: NDArray[np.bool_] = waits & inside[(length > LONG).astype(int), place]
        return found

    def _parts(self, key: int, long: bool) -> Guess:
        """Return causes with chances; a thread of the program would have come sooner."""
        parts = self.kinds.parts(key)
        if key <= -2 and long:
            outside = np.array(
                [not self.kinds.waits[int(k)].cause.internal for k in parts.keys], bool
            )
            total = float(parts.chances[outside].sum())
            if total > 0.02:
                return Guess(parts.keys[outside], parts.chances[outside] / total)
        return parts

    def _kept(self, lost: float) -> float:
        """Return which part of what seems lost to other programs they can have used."""
        timeline, moments = self.timeline, self.timeline.record.moments
        idle = moments[moments["kind"] == Moment.IDLE]
        span = float(idle["time"][-1] - idle["time"][0]) if len(idle) else 0.0
        if span < _KNOWN:
            return 1.0
        cpus = len(timeline.record.facts.cpus) or 1
        ran = (timeline.state == State.RUNNING) | (timeline.state == State.SPINNING)
        own = float((timeline.end - timeline.begin)[ran].sum())
        others = max(0.0, cpus * span - float(idle["a"][-1] - idle["a"][0]) - own)
        self.found.others = others
        if lost <= 0:
            return 1.0
        return min(1.0, (others + self.throttled + _SLACK) / lost)

    @property
    def throttled(self) -> float:
        moments = self.timeline.record.moments
        rows = moments[moments["kind"] == Moment.QUOTA]
        return float(rows["a"][-1] - rows["a"][0]) if len(rows) > 1 else 0.0

    def _culprits(self, lost: float, spun: float) -> None:
        quota = min(lost, self.throttled)
        for culprit, time in (
            (Culprit.QUOTA, quota),
            (Culprit.OTHERS, lost - quota),
            (Culprit.OWN, spun),
        ):
            name = "own spinning" if culprit is Culprit.OWN else culprit.value
            self.found.add(Row(Cause.NO_CPU, "", object=name), time)
            if time > 0:
                self.found.culprits[culprit] = time

    def _gaps(
        self, owner: NDArray[Any], length: NDArray[Any], late: NDArray[np.bool_], kept: float
    ) -> None:
        timeline = self.timeline
        self.found.add(Row(Cause.EDGE, ""), float(length[(owner < 0) & ~late].sum()))
        mine = np.flatnonzero((owner >= 0) | late)
        if not len(mine) or not len(timeline.key):
            return
        i = owner[mine]
        groups = np.stack(
            [
                np.where(i >= 0, timeline.thread[i], -1),
                timeline.key[i],
                timeline.state[i],
                late[mine],
                length[mine] > LONG,
            ],
            axis=1,
        ).astype(np.int64)
        rows, place = np.unique(groups, axis=0, return_inverse=True)
        place = place.reshape(-1)
        times = np.bincount(place, length[mine], len(rows))
        owns = np.array(
            [
                self._group(tuple(map(int, row)), float(time), kept)
                for row, time in zip(rows, times, strict=True)
            ]
        )
        np.add.at(self.found.owned, i[owns[place]], length[mine][owns[place]])

    def _group(self, group: tuple[int, ...], time: float, kept: float) -> bool:
        """Add gaps of one thread and kind; return whether the waits own them."""
        thread, key, state, late, long = group
        name = self.timeline.threads[thread].name if thread >= 0 else ""
        if late:
            self.found.add(Row(Cause.WAKING, name), time * (1 - kept))
            return False
        if state == State.SPINNING:
            self.found.add(Row(Cause.SPINNING, name), time)
            return False
        parts = self._parts(int(key), bool(long))
        if state != State.WAITING or self.kinds.waits[int(parts.keys[0])].cause.internal:
            self.found.add(Row(Cause.WAKING, name), time)
            return False
        pid = self.timeline.threads[thread].pid
        for number, chance in zip(parts.keys, parts.chances, strict=True):
            wait = self.kinds.waits[int(number)]
            idle = is_idle(wait, pid, self.servers)
            self.found.add(Row(wait.cause, name, idle=idle), time * float(chance), wait)
            if key < 0:
                causes = self.found.guessed.setdefault(thread, Counter())
                causes[wait.cause] += time * float(chance)  # type: ignore[assignment]
        return True


def is_idle(wait: Wait, pid: int, servers: set[int]) -> bool:
    """Whether nobody in the program is held up: it waits for whoever comes."""
    if wait.cause in (Cause.TERMINAL, Cause.SIGNAL):
        return True
    if wait.cause in (Cause.NETWORK, Cause.POLL, Cause.PIPE):
        return wait.serves or (wait.cause is Cause.NETWORK and pid in servers)
    return False


def servers_of(timeline: Timeline, causes: Any) -> set[int]:
    """Return the processes that were seen accepting connections."""
    found = set()
    for each in timeline.threads:
        for look in each.looks:
            wait = causes.of(int(look["what"]), each.pid)
            if wait.serves and wait.cause is Cause.NETWORK:
                found.add(each.pid)
                break
    return found
