"""The division of elapsed time in plain Python: between any two edges, look at everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

RUNNING, READY, WAITING, SPINNING, HELD = range(5)
UNKNOWN, TIMER, OUTSIDE, INSIDE = range(4)
NONE, LOCK, GIL, BARRIER, JOIN = range(5)
NOTHING, WITH_LOCK, WITH_GIL, WITH_BARRIER, WITH_SPIN, WITH_JOIN, NOBODY, SPINNERS = range(8)


@dataclass(frozen=True)
class Slice:
    """What a thread did from `begin` to `end`."""

    thread: int
    begin: int
    end: int
    state: int
    ender: int = UNKNOWN
    relation: int = NONE
    target: int = -1


Sums = dict[tuple[int, int], list[float]]  # by slice and meanwhile: amount, lost
Gaps = dict[int, int]  # ns by owning slice


def divide(
    slices: list[Slice], process: list[int], start: int, stop: int, begun: int, cpus: float
) -> tuple[Sums, Gaps, int]:
    """Return what each slice is given, gaps by owner (-2: woken without one), and time full."""
    most = max(1, math.ceil(cpus))
    sums: Sums = {}
    gaps: list[tuple[int, int, bool]] = []
    full = 0

    def give(number: int, meanwhile: int, amount: float, lost: float) -> None:
        cell = sums.setdefault((number, meanwhile), [0.0, 0.0])
        cell[0] += amount
        cell[1] += lost

    edges = sorted(
        {start, stop} | {t for s in slices for t in (s.begin, s.end) if start < t < stop}
    )
    for a, b in pairwise(edges):
        alive = [n for n, s in enumerate(slices) if s.begin <= a and b <= s.end]
        now = {state: [n for n in alive if slices[n].state == state] for state in range(5)}
        running, ready, spinning = now[RUNNING], now[READY], now[SPINNING]

        def waiters(relation: int, process_of: int, waits: list[int] = now[WAITING]) -> bool:
            return any(
                slices[n].relation == relation and process[slices[n].thread] == process_of
                for n in waits
            )

        if running:
            n = len(running)
            homes = [process[slices[i].thread] for i in running]
            serial = n + len(spinning) >= most or any(
                waiters(LOCK, home) or waiters(GIL, home) for home in homes
            )
            able = n if serial else min(max(most, n), n + len(ready))
            if n >= most and ready:
                full += b - a
            for i, home in zip(running, homes, strict=True):
                joined = any(
                    slices[w].relation == JOIN and slices[w].target == slices[i].thread
                    for w in now[WAITING]
                )
                spun = any(process[slices[s].thread] == home for s in spinning)
                others = (
                    NOTHING
                    if n >= most
                    else WITH_LOCK
                    if waiters(LOCK, home)
                    else WITH_GIL
                    if waiters(GIL, home)
                    else WITH_BARRIER
                    if waiters(BARRIER, home)
                    else WITH_SPIN
                    if spun
                    else WITH_JOIN
                    if joined
                    else NOTHING
                )
                give(i, others, (b - a) / able, (b - a) * (1 - n / able) / n)
        elif ready:
            for i in ready:
                why = SPINNERS if len(spinning) >= most else NOBODY
                give(i, why, 0, (b - a) / len(ready))
        else:
            early = bool(now[HELD]) or b <= begun
            if gaps and gaps[-1][1] == a and gaps[-1][2] == early:
                gaps[-1] = (gaps[-1][0], b, early)
            else:
                gaps.append((a, b, early))
    return sums, _owned(slices, gaps, start, stop), full


def _owned(slices: list[Slice], gaps: list[tuple[int, int, bool]], start: int, stop: int) -> Gaps:
    order = {n: (s.thread, s.begin) for n, s in enumerate(slices)}
    by_place = sorted(order, key=lambda n: order[n])
    before = {b: a for a, b in pairwise(by_place) if slices[a].thread == slices[b].thread}
    after = {a: b for b, a in before.items()}
    starts = sorted(
        (max(s.begin, start), n)
        for n, s in enumerate(slices)
        if s.state in (RUNNING, READY, SPINNING) and max(s.begin, start) < min(s.end, stop)
    )

    def inside(n: int | None) -> bool:
        return n is not None and (
            slices[n].state == SPINNING
            or (slices[n].state == WAITING and slices[n].ender == INSIDE)
        )

    endings: list[tuple[int, bool, bool] | None] = []  # slice that starts, beat, may be one
    for _, b, early in gaps:
        at = [n for t, n in starts if t == b and slices[n].state != SPINNING]
        if early or not at:
            endings.append(None)
            continue
        n = at[0]
        w = before.get(n)
        last, ran = n, 0
        waits = False
        while slices[last].state in (RUNNING, READY):
            ran += (slices[last].state == RUNNING) * (slices[last].end - slices[last].begin)
            following = after.get(last)
            if following is None or slices[following].begin != slices[last].end:
                break
            if slices[following].state == WAITING:
                waits = ran > 0
                break
            last = following
        timer = w is None or slices[w].state != WAITING or slices[w].ender in (UNKNOWN, TIMER)
        others = [
            m
            for t, m in starts
            if b < t <= slices[last].end + 100_000 and slices[m].thread != slices[n].thread
        ]
        lone = waits and timer and not others
        endings.append((n, lone and ran < 200_000, lone and ran < 2_000_000))
    found: Gaps = {}
    owners: dict[int, int] = {}

    def first_to_end(gap: tuple[int, int, bool], but: int) -> int | None:
        fit = [w for t, w in owners.items() if t != but and slices[w].begin <= gap[0]]
        return min(fit, key=lambda w: (slices[w].end, slices[w].begin)) if fit else None

    for gap, ending in reversed(list(zip(gaps, endings, strict=True))):
        owner: int | None = -1
        if ending is None:
            if not gap[2]:
                owner = first_to_end(gap, -1)
        else:
            n, beat, may = ending
            thread = slices[n].thread
            mine = [e for e in endings if e is not None and slices[e[0]].thread == thread]
            beat = beat or (may and len(mine) >= 5 and sum(e[1] for e in mine) > 0.8 * len(mine))
            owner = before.get(n, -1)
            inner = inside(before.get(n))
            if beat or inner:
                other = first_to_end(gap, thread)
                if other is None and inner:
                    later = [
                        before[m]
                        for t, m in starts
                        if t >= gap[1]
                        and slices[m].thread != thread
                        and m in before
                        and slices[before[m]].state == WAITING
                        and slices[before[m]].begin < gap[1]
                        and slices[before[m]].ender != INSIDE
                    ]
                    other = later[0] if later else None
                if other is not None:
                    owner = other
                elif inner:
                    owner = -2
            elif owner >= 0:
                owners[thread] = owner
        key = -1 if owner is None else owner
        found[key] = found.get(key, 0) + gap[1] - gap[0]
    return found
