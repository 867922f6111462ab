"""Functions that ran: CPU time by samples, and their part of elapsed time."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.time.division import Steps
from gnomon.analysis.time.estimating import score_interval
from gnomon.analysis.time.result import FunctionRow, PlaceTime, Unnamed
from gnomon.analysis.time.stacks import Frame, Stacks
from gnomon.analysis.time.timeline import Timeline
from gnomon.recording.wall import SampleFlag
from gnomon.result import Interval

_MOST = 100
_PLACES = 4
_Z = 1.645


@dataclass(slots=True)
class Functions:
    """What samples tell of a run."""

    rows: tuple[FunctionRow, ...] = ()
    at_once: dict[int, Counter[str]] = field(default_factory=dict)  # by threads that ran
    places: dict[str, tuple[PlaceTime, ...]] = field(default_factory=dict)  # by name of thread
    unnamed: tuple[Unnamed, ...] = ()
    samples: int = 0


def functions_of(
    timeline: Timeline, stacks: Stacks, steps: Steps, spins: dict[int, NDArray[np.bool_]]
) -> Functions:
    """Return the functions of all samples."""
    cpu: Counter[tuple[str, str]] = Counter()
    walls: Counter[tuple[str, str]] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    spinning: Counter[tuple[str, str]] = Counter()
    guesses: set[tuple[str, str]] = set()
    at_once: dict[int, Counter[str]] = defaultdict(Counter)
    by_name: dict[str, Counter[int]] = defaultdict(Counter)
    nameless: Counter[str] = Counter()
    total = 0
    for each in timeline.threads:
        rows = each.samples
        if not len(rows) or not len(steps.time):
            continue
        clocks = 2 if (rows["flags"] & SampleFlag.SECOND_CLOCK).any() else 1
        step = np.clip(
            np.searchsorted(steps.time, rows["time"], "right") - 1, 0, len(steps.time) - 1
        )
        weight = rows["b"] / clocks
        wall = weight * steps.rate[step]
        spin = spins.get(each.number, np.zeros(len(rows), bool))
        for stack, time, part, running, waits in zip(
            rows["what"], weight, wall, steps.running[step], spin, strict=True
        ):
            total += 1
            frame = _function(stacks, int(stack))
            key = (frame.name, frame.object) if frame else ("unknown", "")
            if frame is None or not frame.named:
                nameless[frame.object if frame else ""] += 1
            elif frame.guess:
                guesses.add(key)
            cpu[key] += time
            walls[key] += 0 if waits else part
            counts[key] += 1
            spinning[key] += int(waits)
            at_once[int(running)][key[0]] += part
            by_name[each.name][int(stack)] += part
    whole = float(sum(cpu.values()))
    found = [
        FunctionRow(
            name,
            thing,
            float(time),
            float(walls[name, thing]),
            float(walls[name, thing]),
            _interval(float(time), whole, total),
            counts[name, thing],
            2 * spinning[name, thing] > counts[name, thing],
            (name, thing) in guesses,
        )
        for (name, thing), time in cpu.most_common(_MOST)
    ]
    return Functions(
        tuple(sorted(found, key=lambda row: (-row.wall, -row.cpu, row.name))),
        at_once,
        {name: _places(times, stacks) for name, times in by_name.items()},
        tuple(Unnamed(thing, number, _remedy(thing)) for thing, number in nameless.most_common(10)),
        total,
    )


def _function(stacks: Stacks, stack: int) -> Frame | None:
    """Return what ran: of an interpreter, the function that it interprets."""
    frames = stacks.frames(stack)
    if not frames:
        return None
    leaf = frames[0]
    if "python" in leaf.object.rpartition("/")[2]:
        return next((frame for frame in frames if frame.python), leaf)
    return leaf


def _places(times: Counter[int], stacks: Stacks) -> tuple[PlaceTime, ...]:
    merged: dict[str, PlaceTime] = {}
    for stack, time in times.most_common():
        place = stacks.place(stack)
        if place is None:
            continue
        before = merged.get(place.label)
        if before is None:
            merged[place.label] = PlaceTime(place, float(time), stacks.path(stack))
        else:
            merged[place.label] = PlaceTime(before.place, before.time + time, before.path)
    return tuple(sorted(merged.values(), key=lambda each: -each.time)[:_PLACES])


def _interval(time: float, whole: float, samples: int) -> Interval | None:
    if not whole:
        return None
    share = time / whole
    variance = max(share * (1 - share) / samples, 0.5 / (samples + 1) ** 2)
    low, high = score_interval(share, variance, _Z, samples)
    return Interval(low * whole, high * whole)


def _remedy(thing: str) -> str:
    if not thing.startswith("/"):
        return ""
    return f"debug symbols of {thing.rpartition('/')[2]} would name them"
