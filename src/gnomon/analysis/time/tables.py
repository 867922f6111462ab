"""Tables of an account: threads, processes, locks, and how many threads ran at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.time.causes import Causes
from gnomon.analysis.time.division import Division, Steps, allowed
from gnomon.analysis.time.result import (
    Cause,
    Culprit,
    Efficiency,
    Holder,
    LockRow,
    Moment,
    Parallelism,
    PlaceTime,
    ProcessRow,
    Ready,
    ThreadRow,
    Waiting,
)
from gnomon.analysis.time.stacks import Stacks
from gnomon.analysis.time.timeline import State, Thread, Timeline
from gnomon.analysis.time.waits import Kinds
from gnomon.recording import wall
from gnomon.recording.wall import SampleFlag

_COUNTS = 0.05  # of the largest useful time, below which a thread does not count
_TOGETHER = 0.5  # of the longest life, for threads that are compared
_MOMENTS = 200
_HOLDERS = 4
_PLACES = 4
_POOL = 2  # threads that wait at one place


def thread_rows(timeline: Timeline, kinds: Kinds, stacks: Stacks) -> tuple[ThreadRow, ...]:
    """Return the life of each thread, divided by what it did."""
    edges = timeline.bounds()
    length = (timeline.end - timeline.begin).astype(float)
    rows = []
    for each in timeline.threads:
        mine = slice(edges[each.number], edges[each.number + 1])
        state = timeline.state[mine]
        sums = np.bincount(state, length[mine], len(State))
        spinning = float(sums[State.SPINNING])
        user, system = _user(each, float(sums[State.RUNNING]), spinning)
        waits = _waits(timeline, kinds, stacks, mine, length)
        rows.append(
            ThreadRow(
                each.pid,
                each.tid,
                each.name,
                each.born - timeline.start,
                float(length[mine].sum()),
                user,
                system,
                spinning,
                float(sums[State.READY] + sums[State.HELD]),
                float(length[mine][timeline.delay[mine]].sum()),
                waits,
                int(np.count_nonzero(state == State.RUNNING)),
                each.parent,
            )
        )
    return _counting(_pooled(rows))


def _user(thread: Thread, computed: float, spun: float) -> tuple[float, float | None]:
    """Return time that computed in user code and in the kernel, by samples of user code."""
    samples = thread.samples
    if len(samples) == 0:
        return computed, None
    user = float(samples["b"][samples["flags"] & SampleFlag.KERNEL == 0].sum())
    clocks = 2 if (samples["flags"] & SampleFlag.SECOND_CLOCK).any() else 1
    user = min(computed, max(0.0, user / clocks - spun))
    return user, computed - user


def _waits(
    timeline: Timeline, kinds: Kinds, stacks: Stacks, mine: slice, length: NDArray[np.float64]
) -> tuple[Waiting, ...]:
    waiting = timeline.state[mine] == State.WAITING
    keys, place = np.unique(timeline.key[mine][waiting], return_inverse=True)
    sums: Counter[tuple[Cause, str]] = Counter()
    where: dict[tuple[Cause, str], Counter[int]] = defaultdict(Counter)
    for key, time in zip(keys, np.bincount(place, length[mine][waiting], len(keys)), strict=True):
        parts = kinds.parts(int(key))
        for number, chance in zip(parts.keys, parts.chances, strict=True):
            wait = kinds.waits[int(number)]
            each = wait.cause, wait.object
            sums[each] += float(time) * float(chance)  # type: ignore[assignment]
            where[each][wait.stack] += float(time) * float(chance)  # type: ignore[assignment]
    return tuple(
        Waiting(cause, time, thing, place=stacks.place(where[cause, thing].most_common(1)[0][0]))
        for (cause, thing), time in sums.most_common()
    )


def _pooled(rows: list[ThreadRow]) -> list[ThreadRow]:
    """Mark waits for work as idle where several threads of a process wait at one place."""
    seen: Counter[tuple[int, Cause, str]] = Counter()
    for row in rows:
        seen.update({(row.pid, w.cause, w.place.label if w.place else w.object) for w in row.waits})
    return [
        _replaced(
            row,
            waits=tuple(
                Waiting(w.cause, w.time, w.object, True, w.place)
                if w.cause in (Cause.CONDITION, Cause.SEMAPHORE)
                and seen[row.pid, w.cause, w.place.label if w.place else w.object] >= _POOL
                else w
                for w in row.waits
            ),
        )
        for row in rows
    ]


def _replaced(row: ThreadRow, **fields: object) -> ThreadRow:
    from dataclasses import replace

    return replace(row, **fields)  # type: ignore[arg-type]


def _counting(rows: list[ThreadRow]) -> tuple[ThreadRow, ...]:
    """Mark threads that compute; the largest come first."""
    most = max((useful(row) for row in rows), default=0.0)
    marked = [_replaced(row, counts=most > 0 and useful(row) >= _COUNTS * most) for row in rows]
    return tuple(sorted(marked, key=lambda row: (-row.running, row.start, row.tid)))


def useful(row: ThreadRow) -> float:
    """Return the time in which a thread computed."""
    return row.user + (row.system or 0.0)


def efficiency_of(rows: tuple[ThreadRow, ...], elapsed: float) -> Efficiency | None:
    """Return POP's efficiencies of the threads that compute side by side."""
    longest = max((row.life for row in rows if row.counts), default=0.0)
    chosen = [row for row in rows if row.counts and row.life >= _TOGETHER * longest]
    if len(chosen) < 2 or max(map(useful, chosen)) < _COUNTS * elapsed:
        return None
    times = [useful(row) for row in chosen]
    slowest = max(chosen, key=useful)
    balance = sum(times) / len(times) / max(times)
    serial = min(1.0, max(times) / elapsed)
    return Efficiency(len(chosen), balance, serial, balance * serial, slowest.name, max(times))


def process_rows(
    timeline: Timeline, division: Division, threads: tuple[ThreadRow, ...]
) -> tuple[ProcessRow, ...]:
    """Return processes in the order in which they began."""
    moments = timeline.record.moments
    last: dict[tuple[int, int], np.void] = {}
    for kind in (wall.Moment.IO, wall.Moment.PEAK):
        for row in moments[moments["kind"] == kind]:
            last[int(row["pid"]), kind] = row
    by_pid: dict[int, list[ThreadRow]] = defaultdict(list)
    for each in threads:
        by_pid[each.pid].append(each)
    shares: Counter[int] = Counter()
    for thread in timeline.threads:
        shares[thread.pid] += division.computed[thread.number]
    rows = []
    for pid, mine in by_pid.items():
        main = next((row for row in mine if row.tid == pid), mine[0])
        io, peak = last.get((pid, wall.Moment.IO)), last.get((pid, wall.Moment.PEAK))
        start = min(row.start for row in mine)
        rows.append(
            ProcessRow(
                pid,
                main.parent,
                main.name,
                timeline.processes.get(pid, ""),
                len(mine),
                start,
                max(row.start + row.life for row in mine) - start,
                sum(row.running for row in mine),
                float(shares[pid]),
                None if peak is None else int(peak["a"]),
                None if io is None else int(io["a"]),
                None if io is None else int(io["b"]),
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.start, row.pid)))


def lock_rows(
    timeline: Timeline, kinds: Kinds, causes: Causes, stacks: Stacks
) -> tuple[LockRow, ...]:
    """Return locks by the time that threads waited for them, with who held them."""
    waiting = np.flatnonzero(timeline.state == State.WAITING)
    length = (timeline.end - timeline.begin).astype(float)
    totals: dict[tuple[int, str], list[float]] = {}
    meaning: dict[tuple[int, str], Cause] = {}
    where: dict[tuple[int, str], Counter[int]] = defaultdict(Counter)
    if not len(waiting):
        return ()
    order = waiting[np.argsort(timeline.key[waiting], kind="stable")]
    keys, edges = np.unique(timeline.key[order], return_index=True)
    for key, mine in zip(keys, np.split(order, edges[1:]), strict=True):
        parts = kinds.parts(int(key))
        for number, chance in zip(parts.keys, parts.chances, strict=True):
            wait = kinds.waits[int(number)]
            if wait.cause not in (Cause.LOCK, Cause.GIL):
                continue
            pids = np.array([timeline.threads[t].pid for t in timeline.thread[mine]])
            for pid in np.unique(pids):
                of = mine[pids == pid]
                lock = int(pid), wait.object
                sums = totals.setdefault(lock, [0.0, 0.0, 0.0])
                sums[0] += len(of) * float(chance)
                sums[1] += float(length[of].sum()) * float(chance)
                sums[2] = max(sums[2], float(length[of].max())) if chance > 0.5 else sums[2]
                meaning[lock] = wait.cause
                where[lock][wait.stack] += float(length[of].sum()) * float(chance)  # type: ignore[assignment]
    holders = _holders(timeline, causes, stacks)
    rows = [
        LockRow(
            thing or "unknown",
            _address(thing),
            pid,
            meaning[pid, thing],
            round(sums[0]),
            sums[1],
            sums[2],
            sum(each.looks for each in holders.get((pid, thing), ())),
            holders.get((pid, thing), ())[:_HOLDERS],
            tuple(_places(where[pid, thing], stacks)),
        )
        for (pid, thing), sums in totals.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.total))


def _places(times: Counter[int], stacks: Stacks) -> Iterator[PlaceTime]:
    for stack, time in times.most_common(_PLACES):
        if (place := stacks.place(stack)) is not None:
            yield PlaceTime(place, float(time), stacks.path(stack))


def _address(thing: str) -> int:
    try:
        return int(thing.rpartition("+")[2], 16) & (2**63 - 1)
    except ValueError:
        return 0


def _holders(
    timeline: Timeline, causes: Causes, stacks: Stacks
) -> dict[tuple[int, str], tuple[Holder, ...]]:
    """Return who held each lock when waiting threads were looked at, and what they did."""
    seen: dict[tuple[int, str], Counter[tuple[int, str, str, int]]] = defaultdict(Counter)
    edges = timeline.bounds()
    for each in timeline.threads:
        for look in each.looks:
            wait = causes.of(int(look["what"]), each.pid)
            if wait.cause is not Cause.LOCK or not wait.other:
                continue
            holder = timeline.living(wait.other, each.pid)
            if holder is None:
                continue
            stack = int(timeline.record.waits["holder_stack"][look["what"]])
            state = _state(timeline, causes, edges, holder, int(look["time"]))
            if stack < 0:
                stack = _near(holder, int(look["time"]))
            seen[each.pid, wait.object][holder.tid, holder.name, state, stack] += 1
    found = {}
    for lock, counts in seen.items():
        by_thread: dict[int, Counter[tuple[int, str, str, int]]] = defaultdict(Counter)
        for key, number in counts.items():
            by_thread[key[0]][key] += number
        found[lock] = tuple(
            Holder(
                tid,
                common.most_common(1)[0][0][1],
                sum(common.values()),
                common.most_common(1)[0][0][2],
                stacks.path(common.most_common(1)[0][0][3]),
            )
            for tid, common in sorted(by_thread.items(), key=lambda kv: -sum(kv[1].values()))
        )
    return found


def _state(
    timeline: Timeline, causes: Causes, edges: NDArray[np.int64], thread: Thread, time: int
) -> str:
    first, last = edges[thread.number], edges[thread.number + 1]
    i = int(first + np.searchsorted(timeline.begin[first:last], time, "right")) - 1
    if i < first or timeline.end[i] <= time:
        return ""
    if timeline.state[i] != State.WAITING:
        names = {State.RUNNING: Cause.COMPUTING, State.SPINNING: Cause.SPINNING}
        return names.get(State(int(timeline.state[i])), Cause.NO_CPU).value
    if timeline.look[i] >= 0:
        return causes.of(int(timeline.look[i]), thread.pid).cause.value
    return ""


def _near(thread: Thread, time: int) -> int:
    """Return the stack of the sample nearest to a moment, within a tick."""
    samples = thread.samples
    if not len(samples):
        return -1
    at = int(np.argmin(np.abs(samples["time"] - time)))
    return int(samples["what"][at]) if abs(int(samples["time"][at]) - time) < 10_000_000 else -1


def ready_rows(timeline: Timeline, division: Division) -> tuple[Ready, ...]:
    """Return the time that threads were ready to run, by who had the CPUs."""
    steps, cpus = division.steps, allowed(timeline)
    length = _durations(steps, timeline.stop)
    total = float((steps.ready * length).sum())
    own = float((steps.ready * length)[steps.running + steps.spinning >= cpus].sum())
    lost = {each: time for each, time in division.culprits.items() if each is not Culprit.OWN}
    rest, whole = total - own, sum(lost.values())
    rows = [Ready(Culprit.OWN, own, division.culprits.get(Culprit.OWN, 0.0))]
    for culprit, time in lost.items():
        rows.append(Ready(culprit, rest * time / whole if whole else 0.0, time))
    if not lost and rest > 0:
        rows.append(Ready(Culprit.UNKNOWN, rest, 0.0))
    return tuple(row for row in rows if row.time > 0)


def _durations(steps: Steps, stop: int) -> NDArray[np.float64]:
    return np.diff(np.append(steps.time, stop)).astype(float)


def parallelism_rows(
    timeline: Timeline, steps: Steps, functions: dict[int, Counter[str]]
) -> tuple[Parallelism, ...]:
    """Return how long so many threads computed at once, with what ran then."""
    length = _durations(steps, timeline.stop)
    rows = []
    for number in np.unique(steps.running):
        time = float(length[steps.running == number].sum())
        names = functions.get(int(number), Counter()).most_common(3)
        rows.append(
            Parallelism(int(number), time, tuple((name, float(part)) for name, part in names))
        )
    return tuple(rows)


def course_of(timeline: Timeline, steps: Steps) -> tuple[Moment, ...]:
    """Return the CPUs in use over equal parts of the run."""
    if timeline.stop <= timeline.start or not len(steps.time):
        return ()
    length = _durations(steps, timeline.stop)
    edges = np.linspace(timeline.start, timeline.stop, _MOMENTS + 1)
    times = np.append(steps.time, timeline.stop).astype(float)
    means = []
    for values in (steps.running, steps.spinning, steps.ready):
        passed = np.concatenate([[0.0], np.cumsum(values * length)])
        means.append(np.diff(np.interp(edges, times, passed)) / np.diff(edges))
    return tuple(
        Moment(float(edge - timeline.start), float(a), float(b), float(c))
        for edge, a, b, c in zip(edges, *means, strict=False)
    )
