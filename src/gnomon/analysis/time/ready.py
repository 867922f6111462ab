"""Time ready to run: the delay after waking, which no record shows, and who had the CPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.time.timeline import State, Timeline

_LEAST = 500_000  # mean delay from which it is said that no CPU was free


def with_delays(timeline: Timeline) -> Timeline:
    """Cut the delay off the end of waits: the scheduler says how long a thread was ready.

    It says so between two readings; what was not spent after losing a CPU is shared by the
    wake-ups between them.
    """
    edges = timeline.bounds()
    length = timeline.end - timeline.begin
    delay = np.zeros(len(length), np.int64)
    for each in timeline.threads:
        if len(each.sched) < 2:
            continue
        mine = slice(edges[each.number], edges[each.number + 1])
        times = each.sched["time"]
        window = np.searchsorted(times, timeline.end[mine], "left")
        inside = (window > 0) & (window < len(times))
        state = timeline.state[mine]
        ready = inside & (state == State.READY)
        woken = inside & (state == State.WAITING)
        count = np.bincount(window[woken], minlength=len(times) + 1)
        lost = np.bincount(window[ready], length[mine][ready], len(times) + 1)
        total = np.zeros(len(times) + 1)
        total[1:-1] = np.diff(each.sched["b"])
        mean = np.where(count > 0, (total - lost) / np.maximum(count, 1), 0)
        mean[mean < _LEAST] = 0
        cut = np.minimum(mean[window], length[mine])
        delay[mine] = np.where(woken, cut, 0).astype(np.int64)
    late = np.flatnonzero(delay)
    if not len(late):
        return timeline
    start = timeline.end[late] - delay[late]
    start = np.minimum(_clipped(timeline, start, timeline.end[late]), timeline.end[late])
    end = timeline.end.copy()
    end[late] = start
    more = len(late)
    return timeline.replaced(
        thread=np.concatenate([timeline.thread, timeline.thread[late]]),
        begin=np.concatenate([timeline.begin, start]),
        end=np.concatenate([end, timeline.end[late]]),
        state=np.concatenate([timeline.state, np.full(more, State.READY, np.uint8)]),
        look=np.concatenate([timeline.look, np.full(more, -1, np.int32)]),
        fault=np.concatenate([timeline.fault, np.zeros(more, bool)]),
        delay=np.concatenate([timeline.delay, np.ones(more, bool)]),
        key=np.concatenate([timeline.key, np.full(more, -1, np.int32)]),
    )


def _clipped(
    timeline: Timeline, start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Move starts that would end a gap before a thread really runs to where one does."""
    begins, ends = busy(timeline)
    if not len(begins):
        return start
    at = np.searchsorted(begins, start, "right")
    idle = (at == 0) | (ends[np.maximum(at - 1, 0)] < start)
    following = begins[np.minimum(at, len(begins) - 1)]
    move = idle & (at < len(begins)) & (following < end)
    return np.where(move, following, start)


def busy(timeline: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the times in which any thread ran, merged."""
    ran = (timeline.state == State.RUNNING) | (timeline.state == State.SPINNING)
    order = np.argsort(timeline.begin[ran], kind="stable")
    begin, end = timeline.begin[ran][order], timeline.end[ran][order]
    if not len(begin):
        return begin, end
    reach = np.maximum.accumulate(end)
    fresh = np.ones(len(begin), bool)
    fresh[1:] = begin[1:] > reach[:-1]
    first = np.flatnonzero(fresh)
    return begin[first], np.maximum.reduceat(end, first)
