"""The account of a recorded run: elapsed time by cause, and the tables beside it."""

from __future__ import annotations

import math
import platform
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.time import findings, tables
from gnomon.analysis.time.causes import Causes
from gnomon.analysis.time.division import Division, Row, allowed, divide, servers_of
from gnomon.analysis.time.estimating import (
    Estimates,
    Spread,
    estimate,
    score_interval,
    spinning_share,
    t_quantile,
)
from gnomon.analysis.time.functions import Functions, functions_of
from gnomon.analysis.time.ready import with_delays
from gnomon.analysis.time.result import (
    AccountRow,
    Cause,
    CausePart,
    PlaceTime,
    ThreadRow,
    TimeResult,
    Trust,
)
from gnomon.analysis.time.spinning import Spins, with_spinning
from gnomon.analysis.time.stacks import Stacks
from gnomon.analysis.time.ticks import CANNOT_TELL, Ticks, divide_ticks, slices_of
from gnomon.analysis.time.timeline import State, Timeline, switched, timeline_of
from gnomon.analysis.time.waits import Kinds, attribute
from gnomon.recording.wall import Moment, WallRecord
from gnomon.result import Interval

if TYPE_CHECKING:
    from gnomon.recording.contents import Provenance

_UP, _DOWN = 11_000, 1_500  # ns by which a program's clock and the records differ at an end
_CLOCK = 0.0005  # of elapsed time, for the ends of the run
_FREE = 0.02  # of what is told lost to other programs
_PLACES = 4


def account_of(
    record: WallRecord, *, provenance: Provenance | None = None, machine: str = ""
) -> TimeResult:
    """Return where the elapsed time of a run went."""
    timeline = timeline_of(record)
    stacks = Stacks(record)
    causes = Causes(timeline, stacks, machine or platform.machine())
    kinds = attribute(timeline, causes)
    spins = _spins(timeline, stacks)
    servers = servers_of(timeline, causes)
    if switched(record):
        timeline = with_spinning(with_delays(timeline), spins)
        division = divide(timeline, kinds, servers)
        estimates = estimate(timeline, kinds, division)
        _correct(timeline, division, estimates)
    else:
        ticks = Ticks(timeline, kinds, causes, spins, servers)
        division, timeline = divide_ticks(ticks), slices_of(ticks)
        estimates = Estimates()
    functions = functions_of(timeline, stacks, division.steps, spins)
    elapsed = float(timeline.stop - timeline.start)
    account = _rows(timeline, kinds, division, estimates, functions, stacks, spins, elapsed)
    threads = tables.thread_rows(timeline, kinds, stacks)
    processes = tables.process_rows(timeline, division, threads)
    locks = tables.lock_rows(timeline, kinds, causes, stacks)
    efficiency = tables.efficiency_of(threads, elapsed)
    trust = _trust(timeline, division, functions)
    facts, cpus = record.facts, allowed(timeline)
    user, system = _cpu(timeline, threads)
    return TimeResult(
        elapsed,
        user,
        system,
        cpus,
        account,
        _parts(account, elapsed, _in_kernel(timeline, division, threads)),
        findings.findings_of(
            account, threads, locks, efficiency, trust, elapsed, cpus, facts.command
        ),
        threads,
        processes,
        tables.ready_rows(timeline, division),
        locks,
        functions.rows,
        tables.parallelism_rows(timeline, division.steps, functions.at_once),
        tables.course_of(timeline, division.steps),
        efficiency,
        trust,
        max((p.peak_memory for p in processes if p.peak_memory is not None), default=None),
        _sum(p.read for p in processes),
        _sum(p.written for p in processes),
        facts.exit_status,
        findings.healthy_of(account, elapsed),
        provenance=provenance,
    )


def _sum(values: object) -> int | None:
    known = [value for value in values if value is not None]  # type: ignore[attr-defined]
    return sum(known) if known else None


def _spins(timeline: Timeline, stacks: Stacks) -> dict[int, NDArray[np.bool_]]:
    reader = Spins(timeline, stacks)
    return {each.number: reader.of(each) for each in timeline.threads if len(each.samples)}


def _cpu(timeline: Timeline, threads: tuple[ThreadRow, ...]) -> tuple[float, float | None]:
    """Return CPU time in user code and in the kernel, by the kernel's own count if it is there."""
    facts = timeline.record.facts
    if facts.user_ns or facts.system_ns:
        return float(facts.user_ns), float(facts.system_ns)
    system = [row.system for row in threads if row.system is not None]
    user = sum(row.user + row.spinning for row in threads)
    return user, sum(system) if system else None


def _correct(timeline: Timeline, division: Division, estimates: Estimates) -> None:
    """Move time between causes of a thread as the estimate of its unseen waits says."""
    for (number, cause), change in estimates.change.items():
        name = timeline.threads[number].name
        mine = [row for row in division.rows if row.cause is cause and row.who == name]
        if not mine:
            row = Row(cause, name)
            division.rows[row] = max(0.0, change)
            division.stacks[row] = Counter()
            continue
        total = sum(division.rows[row] for row in mine)
        for row in mine:
            part = division.rows[row] / total if total else 1 / len(mine)
            division.rows[row] = max(0.0, division.rows[row] + change * part)
    whole, elapsed = sum(division.rows.values()), float(timeline.stop - timeline.start)
    if estimates.change and whole > 0:
        for row in division.rows:
            division.rows[row] *= elapsed / whole


def _rows(
    timeline: Timeline,
    kinds: Kinds,
    division: Division,
    estimates: Estimates,
    functions: Functions,
    stacks: Stacks,
    spins: dict[int, NDArray[np.bool_]],
    elapsed: float,
) -> tuple[AccountRow, ...]:
    spread = _spreads(timeline, kinds, division, estimates, spins)
    lengths = _covered(timeline, kinds, division)
    groups: Counter[tuple[Cause, str]] = Counter()
    for row, time in division.rows.items():
        groups[row.cause, row.who] += time  # type: ignore[assignment]
    found = []
    for row, time in division.rows.items():
        if time <= 0:
            continue
        group = row.cause, row.who
        part = time / groups[group]
        below, above = spread.get(group, Spread(0.0, 0.0))
        error = _CLOCK * elapsed + (_FREE * time if row.cause is Cause.NO_CPU else 0.0)
        interval = Interval(
            max(0.0, time - part * below - error), min(elapsed, time + part * above + error)
        )
        if row.cause is Cause.COMPUTING:
            places = functions.places.get(row.who, ())
        else:
            places = _places(division.stacks.get(row, Counter()), stacks)
        most = lengths.get((row.cause, row.who))
        found.append(
            AccountRow(
                row.cause,
                row.who,
                time,
                time / elapsed if elapsed else 0.0,
                interval,
                row.meanwhile,
                division.object(row),
                row.idle,
                places,
                at_most=None if most is None else max(time, min(elapsed, most)),
            )
        )
    found.sort(key=lambda each: (-each.time, each.cause.value, each.who, each.object))
    return _tied(tuple(found))


def _spreads(
    timeline: Timeline,
    kinds: Kinds,
    division: Division,
    estimates: Estimates,
    spins: dict[int, NDArray[np.bool_]],
) -> dict[tuple[Cause, str], Spread]:
    """Return how far the sum of each cause and thread name may be from the truth."""
    squares: dict[tuple[Cause, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (number, cause), (below, above) in estimates.spread.items():
        sums = squares[cause, timeline.threads[number].name]
        sums[0] += below**2
        sums[1] += above**2
    edges = timeline.bounds()
    length = (timeline.end - timeline.begin).astype(float)
    ends: Counter[tuple[Cause, str]] = Counter()
    for each in timeline.threads:
        mine = slice(edges[each.number], edges[each.number + 1])
        state = timeline.state[mine]
        ends[Cause.COMPUTING, each.name] += int(np.count_nonzero(state == State.RUNNING))
        spinning = spins.get(each.number)
        if spinning is None or not spinning.any():
            continue
        ran = float(length[mine][(state == State.RUNNING) | (state == State.SPINNING)].sum())
        share, variance, changes = spinning_share(timeline, each, spinning)
        low, high = score_interval(share, variance, t_quantile(changes), len(spinning))
        for cause, down, up in (
            (Cause.SPINNING, share - low, high - share),
            (Cause.COMPUTING, high - share, share - low),
        ):
            sums = squares[cause, each.name]
            sums[0] += (down * ran) ** 2
            sums[1] += (up * ran) ** 2
    for group, (number, _) in _owners(timeline, kinds, division).items():
        ends[group] += number
    return {
        group: Spread(
            math.sqrt(squares[group][0]) + _DOWN * ends[group],
            math.sqrt(squares[group][1]) + _UP * ends[group],
        )
        for group in {*squares, *ends}
    }


def _covered(
    timeline: Timeline, kinds: Kinds, division: Division
) -> dict[tuple[Cause, str], float]:
    """Return how long the waits last that own gaps, with what ran meanwhile."""
    return {group: time for group, (_, time) in _owners(timeline, kinds, division).items()}


def _owners(
    timeline: Timeline, kinds: Kinds, division: Division
) -> dict[tuple[Cause, str], tuple[int, float]]:
    """Return how many waits own gaps, and how long they last."""
    mine = np.flatnonzero(division.owned)
    length = (timeline.end - timeline.begin)[mine].astype(float)
    both = np.stack([timeline.thread[mine], timeline.key[mine]], axis=1)
    rows, place = np.unique(both, axis=0, return_inverse=True)
    sums: dict[tuple[Cause, str], tuple[int, float]] = {}
    numbers = np.bincount(place.reshape(-1), minlength=len(rows))
    times = np.bincount(place.reshape(-1), length, len(rows))
    for (thread, key), number, time in zip(rows, numbers, times, strict=True):
        top = kinds.top(int(key))
        group = top.cause if top else Cause.UNKNOWN, timeline.threads[thread].name
        before = sums.get(group, (0, 0.0))
        sums[group] = before[0] + int(number), before[1] + float(time)
    return sums


def _places(times: Counter[int], stacks: Stacks) -> tuple[PlaceTime, ...]:
    return tuple(
        PlaceTime(place, float(time), stacks.path(stack))
        for stack, time in times.most_common(_PLACES)
        if (place := stacks.place(stack)) is not None
    )


def _tied(rows: tuple[AccountRow, ...]) -> tuple[AccountRow, ...]:
    """Number rows that this run cannot tell apart.

    Two are tied where two threads wait for different things at once, so that which of the two
    ends a gap first is all that decides; and where guessed waits could be of either.
    """
    groups: list[int | None] = [None] * len(rows)
    outside = [
        n
        for n, row in enumerate(rows)
        if row.at_most is not None and row.cause is not Cause.SLEEP and not row.cause.internal
    ]
    for place, a in enumerate(outside):
        for b in outside[place + 1 :]:
            first, second = rows[a], rows[b]
            both = first.time + second.time
            if first.who == second.who or first.share < 0.01:
                continue
            if min(first.at_most or 0.0, second.at_most or 0.0) >= 0.9 * both:
                number = groups[a] if groups[a] is not None else a
                groups[a] = groups[b] = number
    return tuple(
        replace(row, tied=group) if group is not None else row
        for row, group in zip(rows, groups, strict=True)
    )


def _in_kernel(timeline: Timeline, division: Division, threads: tuple[ThreadRow, ...]) -> float:
    """Return which share of computing passed in the kernel."""
    shares = {
        (row.pid, row.tid): (row.system or 0.0) / (row.user + (row.system or 0.0))
        for row in threads
        if row.user + (row.system or 0.0) > 0
    }
    whole = float(division.computed.sum())
    system = sum(
        float(division.computed[each.number]) * shares.get((each.pid, each.tid), 0.0)
        for each in timeline.threads
    )
    return system / whole if whole else 0.0


def _parts(
    account: tuple[AccountRow, ...], elapsed: float, in_kernel: float
) -> tuple[CausePart, ...]:
    """Return all rows of a cause together, the largest first; computing in two parts."""
    times: Counter[Cause] = Counter()
    idle: Counter[Cause] = Counter()
    squares: dict[Cause, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in account:
        times[row.cause] += row.time  # type: ignore[assignment]
        idle[row.cause] += row.time if row.idle else 0.0  # type: ignore[assignment]
        if row.interval is not None:
            squares[row.cause][0] += (row.time - row.interval.low) ** 2
            squares[row.cause][1] += (row.interval.high - row.time) ** 2
    if in_kernel > 0 and times[Cause.COMPUTING]:
        whole = float(times[Cause.COMPUTING])
        below, above = squares[Cause.COMPUTING]
        for cause, part in ((Cause.COMPUTING, 1 - in_kernel), (Cause.SYSTEM, in_kernel)):
            times[cause] = whole * part  # type: ignore[assignment]
            squares[cause] = [below * part**2, above * part**2]
    parts = [
        CausePart(
            cause,
            float(time),
            time / elapsed if elapsed else 0.0,
            Interval(
                max(0.0, time - math.sqrt(squares[cause][0])),
                min(elapsed, time + math.sqrt(squares[cause][1])),
            ),
            float(idle[cause]),
        )
        for cause, time in times.most_common()
    ]
    for number in range(len(parts) - 1):
        one, two = parts[number].interval, parts[number + 1].interval
        if one and two and one.low < two.high and parts[number + 1].share >= 0.01:
            parts[number] = replace(parts[number], tied=True)
    return tuple(parts)


def _trust(timeline: Timeline, division: Division, functions: Functions) -> Trust:
    record = timeline.record
    moments, facts = record.moments, record.facts
    idle = moments[moments["kind"] == Moment.IDLE]
    quota = moments[moments["kind"] == Moment.QUOTA]
    waiting = timeline.state == State.WAITING
    length = (timeline.end - timeline.begin).astype(float)
    total = float(length[waiting].sum())
    known = float(length[waiting & (timeline.key >= 0)].sum())
    switches = np.isin(moments["kind"], (Moment.IN, Moment.OUT, Moment.PREEMPTED))
    return Trust(
        functions.samples,
        functions.unnamed,
        int(sum(len(each.looks) for each in timeline.threads)),
        known / total if total else None,
        facts.lost + int(moments["a"][moments["kind"] == Moment.LOST].sum()),
        facts.rung,
        1,
        division.others,
        float(idle["b"][-1] - idle["b"][0]) if len(idle) > 1 else None,
        float(quota["a"][-1] - quota["a"][0]) if len(quota) > 1 else None,
        int(np.count_nonzero(switches)),
        unseen=(*facts.limits, *(() if switched(record) else (CANNOT_TELL,))),
    )
