"""Threads and their slices: what each thread did, from when to when.

A slice lasts from one record of the scheduler to the next. All arrays of a `Timeline` have one
entry per slice, by thread and, in each thread, by time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.recording.wall import Moment, WallRecord

Times = NDArray[np.int64]
FAULT_AFTER = 200_000
"""A page-in is recorded at most so many ns after its wait."""
_CLOCK_LEAST = 200  # switches of a thread from which the difference of its clocks is known
_CLOCK_MOST = 50_000.0  # ns per switch


class State(IntEnum):
    """What a thread does in a slice; the numbers are those of native/account/sweep.hh."""

    RUNNING = 0
    READY = 1
    WAITING = 2
    SPINNING = 3
    HELD = 4  # started by us, before its exec


@dataclass(slots=True)
class Thread:
    """A thread and when it lived; a number of the kernel that was used again is another one."""

    number: int
    tid: int
    pid: int
    born: int
    end: int
    name: str = "?"
    parent: int = 0  # process that made it
    maker: int = 0  # thread that made it
    forked: bool = False
    samples: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int64))
    sched: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int64))
    looks: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int64))
    faults: Times = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(slots=True)
class Timeline:
    """The slices of all threads of a run."""

    record: WallRecord
    threads: list[Thread]
    thread: NDArray[np.int32]
    begin: Times
    end: Times
    state: NDArray[np.uint8]
    look: NDArray[np.int32]  # row of `waits` that saw the slice; -1: none
    fault: NDArray[np.bool_]  # it is a page-in
    delay: NDArray[np.bool_]  # ready after waking: estimated
    key: NDArray[np.int32]  # what a wait is for: see waits.py
    exec: int
    processes: dict[int, str] = field(default_factory=dict)  # file that runs in each

    @property
    def start(self) -> int:
        """When the program was let go."""
        return self.record.facts.start

    @property
    def stop(self) -> int:
        """When the run ended."""
        return self.record.facts.end

    def bounds(self) -> NDArray[np.int64]:
        """Return where the slices of each thread begin, and one more."""
        return np.searchsorted(self.thread, np.arange(len(self.threads) + 1))

    def living(self, tid: int, pid: int) -> Thread | None:
        """Return the last thread of that number in a process."""
        for each in reversed(self.threads):
            if each.tid == tid and each.pid == pid:
                return each
        return None

    def replaced(self, **columns: NDArray[Any]) -> Timeline:
        """Return other slices of the same threads, ordered, without those that are empty."""
        full: dict[str, Any] = {
            "thread": self.thread,
            "begin": self.begin,
            "end": self.end,
            "state": self.state,
            "look": self.look,
            "fault": self.fault,
            "delay": self.delay,
            "key": self.key,
            **columns,
        }
        kept = np.flatnonzero(full["end"] > full["begin"])
        order = kept[np.lexsort((full["begin"][kept], full["thread"][kept]))]
        for name, values in full.items():
            full[name] = values[order]
        return replace(self, **full)


def switched(record: WallRecord) -> bool:
    """Whether every change of a CPU's thread was recorded, to the end."""
    kinds = record.moments["kind"]
    return record.facts.rung == "switches" and not (kinds == Moment.UNSWITCHED).any()


def timeline_of(record: WallRecord) -> Timeline:
    """Return the slices that the records of the scheduler tell."""
    moments = record.moments
    chosen = np.flatnonzero(moments["tid"] > 0)
    chosen = chosen[moments["kind"][chosen] != Moment.PEER]
    order = chosen[np.argsort(moments["tid"][chosen], kind="stable")]
    rows = moments[order]
    fork = rows["kind"] == Moment.FORK
    changed = np.ones(len(rows), bool)
    changed[1:] = rows["tid"][1:] != rows["tid"][:-1]
    again = fork & ~changed & (rows["tid"] != record.facts.root)
    number = np.cumsum(changed | again) - 1
    threads = _threads(record, rows, number)
    exec_time = _exec(record)
    slices = _slices(record, rows, number, threads, exec_time)
    timeline = Timeline(record, threads, exec=exec_time, **slices)
    for row in moments[moments["kind"] == Moment.EXE]:
        timeline.processes[int(row["pid"])] = record.texts[row["what"]]
    _see(timeline)
    return _with_clock(timeline)


def _exec(record: WallRecord) -> int:
    moments, root = record.moments, record.facts.root
    named = (moments["kind"] == Moment.COMM) & (moments["flags"] & 1 == 1)
    times = moments["time"][named & (moments["tid"] == root)]
    return int(times[0]) if root and len(times) else record.facts.start


def _threads(record: WallRecord, rows: NDArray[Any], number: NDArray[Any]) -> list[Thread]:
    threads = []
    edges = np.searchsorted(number, np.arange(number[-1] + 2 if len(number) else 1))
    start, stop = record.facts.start, record.facts.end
    for index in range(len(edges) - 1):
        mine = rows[edges[index] : edges[index + 1]]
        kind = mine["kind"]
        pids = mine["pid"][mine["pid"] > 0]
        forks = mine[kind == Moment.FORK]
        exits = mine["time"][kind == Moment.EXIT]
        names = mine["what"][kind == Moment.COMM]
        each = Thread(
            index,
            int(mine["tid"][0]),
            int(pids[0]) if len(pids) else int(mine["tid"][0]),
            max(start, int(forks["time"][0])) if len(forks) else start,
            min(stop, int(exits[0])) if len(exits) else stop,
            record.texts[names[-1]] if len(names) else "?",
            forked=bool(len(forks)) and int(mine["tid"][0]) != record.facts.root,
        )
        if len(forks):
            each.parent, each.maker = int(forks["a"][0]), int(forks["b"][0])
        each.samples = mine[kind == Moment.SAMPLE]
        each.sched = mine[kind == Moment.SCHED]
        each.looks = mine[(kind == Moment.WAIT) & (mine["what"] >= 0) & (mine["flags"] & 1 == 0)]
        each.faults = np.asarray(mine["time"][kind == Moment.FAULT])
        threads.append(each)
    by_tid = {each.tid: each for each in threads}
    for each in sorted(threads, key=lambda thread: thread.born):
        if each.name == "?" and each.maker in by_tid:
            each.name = by_tid[each.maker].name
    return threads


def _slices(
    record: WallRecord,
    rows: NDArray[Any],
    number: NDArray[Any],
    threads: list[Thread],
    exec_time: int,
) -> dict[str, Any]:
    """Return the columns of a timeline."""
    states = {
        Moment.IN: State.RUNNING,
        Moment.OUT: State.WAITING,
        Moment.PREEMPTED: State.READY,
        Moment.FORK: State.READY,
    }
    table = np.full(256, 255, np.uint8)
    for kind, following in states.items():
        table[kind] = following
    after = table[rows["kind"]]
    ends = np.array([each.end for each in threads], np.int64)
    kept = np.flatnonzero((after != 255) & (rows["time"] <= ends[number] if len(ends) else False))
    thread = number[kept].astype(np.int32)
    begin = rows["time"][kept].astype(np.int64)
    state = after[kept]
    there = (rows["kind"][kept] == Moment.FORK) & (rows["flags"][kept] & 1 == 1)
    for place in np.flatnonzero(there):  # before recording began: what comes next tells
        state[place] = _found(rows["kind"][kept], thread, int(place), threads)
    extra = []  # thread, begin, state of what no record begins
    root = record.facts.root
    edges = np.searchsorted(thread, np.arange(len(threads) + 1))
    drop = np.zeros(len(thread), bool)
    switches = switched(record)
    for each in threads:
        first, last = edges[each.number], edges[each.number + 1]
        if each.tid == root and root and record.facts.command:
            drop[first:last] = begin[first:last] <= exec_time
            extra.append((each.number, record.facts.start, State.HELD))
            extra.append((each.number, exec_time, State.RUNNING))
        elif not each.forked:
            began = first < last and rows["kind"][kept[first]] != Moment.IN
            running = began and rows["kind"][kept[first]] != Moment.FORK
            extra.append((each.number, each.born, State.RUNNING if running else State.WAITING))
    if not switches:
        drop[:], extra = True, []
    thread = np.concatenate([thread[~drop], np.array([e[0] for e in extra], np.int32)])
    begin = np.concatenate([begin[~drop], np.array([e[1] for e in extra], np.int64)])
    state = np.concatenate([state[~drop], np.array([e[2] for e in extra], np.uint8)])
    order = np.lexsort((np.arange(len(begin)), begin, thread))
    thread, begin, state = thread[order], begin[order], state[order]
    end = ends[thread] if len(thread) else begin
    if len(thread) > 1:
        same = thread[1:] == thread[:-1]
        end[:-1] = np.where(same, np.minimum(begin[1:], end[:-1]), end[:-1])
    begin = np.clip(begin, record.facts.start, record.facts.end)
    end = np.clip(end, record.facts.start, record.facts.end)
    good = end > begin
    count = int(good.sum())
    return {
        "thread": thread[good],
        "begin": begin[good],
        "end": end[good],
        "state": state[good],
        "look": np.full(count, -1, np.int32),
        "fault": np.zeros(count, bool),
        "delay": np.zeros(count, bool),
        "key": np.full(count, -1, np.int32),
    }


def _found(kind: NDArray[Any], thread: NDArray[Any], place: int, threads: list[Thread]) -> State:
    """Return the state in which recording found a thread that was there before."""
    if place + 1 < len(thread) and thread[place + 1] == thread[place]:
        return State.WAITING if kind[place + 1] == Moment.IN else State.RUNNING
    return State.RUNNING if len(threads[thread[place]].samples) else State.WAITING


def _with_clock(timeline: Timeline) -> Timeline:
    """End page-ins when the CPU clock of their thread began, which is before their record.

    Leaving an idle CPU and changing the address space are charged to a thread before the record
    that it has the CPU: up to 11 us a switch. A page-in is no longer than a few of those, and
    what readers compare it with is CPU time.
    """
    if not len(timeline.thread):
        return timeline
    begin, end = timeline.begin.copy(), timeline.end.copy()
    edges = timeline.bounds()
    length = end - begin
    for each in timeline.threads:
        if len(each.sched) < 2:
            continue
        mine = slice(edges[each.number], edges[each.number + 1])
        until = int(each.sched["time"][-1])
        since = int(each.sched["time"][0])
        state = timeline.state[mine]
        inside = (begin[mine] >= since) & (end[mine] <= until)
        ran = inside & (state == State.RUNNING)
        after_wait = ran.copy()
        after_wait[1:] &= state[:-1] == State.WAITING
        after_wait[:1] = False
        switches = int(after_wait.sum())
        if switches < _CLOCK_LEAST:
            continue
        own = float(each.sched["a"][-1] - each.sched["a"][0]) - float(length[mine][ran].sum())
        early = min(_CLOCK_MOST, own / switches)
        if early <= 0:
            continue
        places = np.flatnonzero(
            (state[1:] == State.RUNNING)
            & (state[:-1] == State.WAITING)
            & (begin[mine][1:] == end[mine][:-1])
            & timeline.fault[mine][:-1]
        )
        first = edges[each.number]
        cut = np.minimum(early, (length[mine][places] * 3) // 4).astype(np.int64)
        begin[first + places + 1] -= cut
        end[first + places] -= cut
    return timeline.replaced(begin=begin, end=end)


def _see(timeline: Timeline) -> None:
    """Note which waits were looked at, and which were page-ins."""
    edges = timeline.bounds()
    took = timeline.record.waits["took"]
    for each in timeline.threads:
        first = edges[each.number]
        mine = first + np.flatnonzero(
            timeline.state[first : edges[each.number + 1]] == State.WAITING
        )
        if not len(mine):
            continue
        begins, ends = timeline.begin[mine], timeline.end[mine]
        for look in each.looks:
            at = int(np.searchsorted(begins, look["time"], "right")) - 1
            done = look["time"] + took[look["what"]]
            if at >= 0 and ends[at] >= done and timeline.look[mine[at]] < 0:
                timeline.look[mine[at]] = look["what"]
        if len(each.faults):
            before = np.searchsorted(begins, each.faults, "right") - 1
            after = each.faults - ends[before]
            close = (before >= 0) & (after >= 0) & (after < FAULT_AFTER)
            timeline.fault[mine[before[close]]] = True
