"""The mixture in plain numpy: slow, nothing kept from before, and the same numbers.

In native/estimate/ events that are read together share what is searched, sums are carried on from
reading to reading, and experts without a weight are not asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from .twin_experts import (
    FORGETS,
    IN_TIME,
    TELLING,
    Allowed,
    Event,
    Row,
    Run,
    f32,
    guesses,
    is_count,
    neighbours,
    regressions,
)

Cell = tuple[float, float, float, float]  # mean, deviation, low, high
NAN = math.nan
UNKNOWN: Cell = (NAN, NAN, NAN, NAN)

CALIBRATED, FADED = 2500, 0.3
DISCOUNT, SHARPNESS, ENOUGH, NEGLIGIBLE, AGE = 0.98, 6.0, 10.0, 6.0, 0.4
SURPRISING, UNHEARD_OF, SIMILAR, BESIDE, COMPARED = 5.0, 15.0, 6.0, 2, 100
ERRORS, RIPE = 200, 20.0
HORIZONS = (1, 2, 4, 8, 16, 32)


def experts_of(width: int) -> tuple[list[bool], Row, Row]:
    """Which go by time, what each weighs before there is a test, and what it gains by tests."""
    by_time: list[bool] = []
    prior: Row = []
    favour: Row = []
    telling = min(width, TELLING)
    for way in range(telling + 2):
        by_time += [manner <= 3 for manner in range(17)]
        usual = 2.0 if 0 < way <= telling else 1.0
        prior += [4.0 if way == 0 else usual, *[usual] * 16]
        favour += [*[1.0] * 7, *[2.0] * 9, 3.0]
    return by_time + [False] * 13, prior + [1.0] * 13, [*favour, 1.0, *[3.0] * 12]


@dataclass
class Losses:
    sums: Row
    tests: float = 0.0

    def add(self, losses: Sequence[float]) -> None:
        self.tests = self.tests * DISCOUNT + 1
        self.sums = [s * DISCOUNT + loss for s, loss in zip(self.sums, losses, strict=True)]

    def weights(self, width: int, age: float = 1.0) -> Row:
        by_time, prior, favour = experts_of(width)
        if self.tests <= 0:
            return prior
        sums = [s * age if timed else s for s, timed in zip(self.sums, by_time, strict=True)]
        least = min(sums)
        slope = SHARPNESS * min(1.0, self.tests / ENOUGH)
        found = []
        ripe = min(1.0, self.tests / RIPE)
        for each, weight, gain in zip(sums, prior, favour, strict=True):
            fall = slope * (each / least - 1) if least > 0 else NEGLIGIBLE * (each > 0)
            found.append(weight * gain**ripe * math.exp(-fall) if fall < NEGLIGIBLE else 0.0)
        return found


def middle_half(values: Sequence[tuple[float, float]]) -> float:
    """The mean of what is in the middle half of the weight."""
    values = sorted(values)
    total = sum(weight for _, weight in values)
    below = above = inside = 0.0
    for value, weight in values:
        part = min(below + weight, 0.75 * total) - max(below, 0.25 * total)
        if part > 0:
            above += part * value
            inside += part
        below += weight
    return above / inside if inside > 0 else values[-1][0]


def estimate_of(said: Row, weights: Row, usual: float) -> tuple[float, float]:
    """A value, and how large its error may be."""
    pairs = [(guess, weight) for guess, weight in zip(said, weights, strict=True) if weight > 0]
    value = middle_half(pairs)
    apart = sum(weight * abs(guess - value) for guess, weight in pairs)
    return value, apart / sum(weight for _, weight in pairs) + usual


# ---- intervals -----------------------------------------------------------------------------------


def quantile(errors: Row, level: float) -> float:
    if not errors:
        return 1.0
    rank = math.ceil((1 - level / 2) * (len(errors) + 1))
    if rank > len(errors):
        return 2 * max([0.0, *errors])
    return max(sorted(errors)[rank - 1], 0.0)


@dataclass
class Interval:
    errors: Row = field(default_factory=list)
    level: float = 0.1

    def learn(self, error: float) -> None:
        missed = bool(self.errors) and not -self.down() <= error <= self.up()
        self.level = min(max(self.level + 0.01 * (0.1 - missed), 0.005), 0.5)
        self.errors = [*self.errors, error][-ERRORS:]

    def down(self) -> float:
        return quantile([-each for each in self.errors], self.level)

    def up(self) -> float:
        return quantile(self.errors, self.level)

    def deviation(self) -> float:
        if not self.errors:
            return 1.0
        return math.sqrt(sum(each**2 for each in self.errors) / len(self.errors))

    def cell(self, value: float, size: float, foreseen: float) -> Cell:
        low = max(0.0, min(value, foreseen) - self.down() * size)
        return value, self.deviation() * size, low, max(value, foreseen) + self.up() * size


def surprise(error: float, others: Row) -> float:
    largest = max(others, default=0.0)
    if largest <= 0:
        return 0.0
    return min(max((abs(error) / largest - SURPRISING) / (UNHEARD_OF - SURPRISING), 0.0), 1.0)


def with_surprise(
    run: Run, event: Event, allowed: Allowed, row: int, value: float, gap: int
) -> float:
    """Lean towards the reading of the rotation as far as it surprised and the rows are alike."""
    own = [i for i in allowed.usable() if run.rotations[event.rows[i]] == run.rotations[row]]
    if not own:
        return value
    nearest = min(own, key=lambda i: (abs(event.rows[i] - row), -i))
    if event.surprises[nearest] == 0:
        return value
    for other in {nearest - 1, nearest + 1} & set(allowed.usable()):
        beside = abs(event.rows[other] - event.rows[nearest]) < gap
        apart = abs(event.values[other] - event.values[nearest])
        if beside and apart > abs(event.missed[nearest]) / 2:
            return value  # what surprised did not last
    per = run.per()
    far = float(
        abs(run.logs[event.rows[nearest]] - run.logs[row]).astype(float) @ per.astype(float)
    )
    share = event.surprises[nearest] / (1 + (far / SIMILAR) ** 4)
    return value + share * (event.values[nearest] - value)


# ---- the filter ----------------------------------------------------------------------------------


@dataclass
class Track(Event):
    """One event at work."""

    losses: Losses = field(default_factory=lambda: Losses([]))
    interval: Interval = field(default_factory=Interval)
    ahead_losses: list[Losses] = field(
        default_factory=lambda: [Losses([0.0] * 13) for _ in HORIZONS]
    )
    ahead_intervals: list[Interval] = field(default_factory=lambda: [Interval() for _ in HORIZONS])
    errors: list[tuple[float, bool]] = field(default_factory=list)  # size, surprised
    untested: bool = False
    gap: float = 0.0

    def usual(self) -> float:
        if len(self.values) == 1:
            return max(self.values[0], 1.0)
        return sum(size for size, _ in self.errors) / len(self.errors) if self.errors else 0.0

    def remember(self, error: float, surprised: float = 0.0) -> None:
        self.errors = [*self.errors, (abs(error), surprised > 0)][-ERRORS:]

    def surprised(self, error: float) -> float:
        counted = self.errors[:-BESIDE] + [each for each in self.errors[-BESIDE:] if not each[1]]
        return surprise(error, [size for size, _ in counted])


class Twin:
    """The filter."""

    def __init__(self, events: int, fixed: int, memory: int) -> None:
        self.run = Run(fixed)
        self.counts: list[Row] = []
        self.memory = memory
        count = len(experts_of(fixed)[0])
        self.tracks = [Track(losses=Losses([0.0] * count)) for _ in range(events)]

    def _newest(self, event: Event, but: int = 0) -> Allowed:
        last = len(event.rows) - but
        return Allowed(max(0, last - self.memory), last)

    def _said(self, event: Event, allowed: Allowed, row: int, used: list[int], centre: int) -> Row:
        near = neighbours(self.run, event, allowed, row, self.run.per())
        return guesses(self.run, event, near, row, regressions(self.run, event, used, centre))

    def calibrate(self, fixed: Sequence[Row], counts: Sequence[Row], turns: int) -> None:
        self.memory += min(len(counts), CALIBRATED)
        self.run.calibrated = len(counts)
        for row, (some, read) in enumerate(zip(fixed, counts, strict=True)):
            self.run.add(some, row + 1 == len(counts) or (row + 1) % turns == 0)
            for track, count in zip(self.tracks, read, strict=True):
                track.rows.append(row)
                track.values.append(count)
                track.surprises.append(0.0)
                track.missed.append(0.0)
        for track in self.tracks:
            for i in range(2 * turns, len(track.rows), turns):
                hidden = range(i - turns + 1, i + turns)
                allowed = Allowed(0, len(track.rows), hidden, i - turns + 1, turns)
                said = self._said(
                    track, allowed, track.rows[i], list(range(i - turns + 1)), i - turns
                )
                self._learn(track, said, track.values[i], calibrating=True)
            track.gap = turns
            track.losses = Losses(
                [FADED * s for s in track.losses.sums], FADED * track.losses.tests
            )

    def _learn(self, track: Track, said: Row, truth: float, *, calibrating: bool = False) -> None:
        value, size = estimate_of(said, track.losses.weights(self.run.width), track.usual())
        surprised = 0.0 if calibrating else track.surprised(truth - value)
        track.remember(truth - value, surprised)
        if not calibrating:
            track.surprises[-1], track.missed[-1] = surprised, truth - value
        if size > 0:
            track.interval.learn((truth - value) / size)
        track.losses.add([abs(each - truth) for each in said])

    def push(self, fixed: Sequence[float], counts: Sequence[float], ends: bool) -> None:
        self.run.add(fixed, ends)
        row = len(self.run) - 1
        for track in self.tracks:
            if track.untested and len(track.rows) > 1:
                self._learn(track, self._hidden(track), track.values[-1])
            track.untested = False
        read = [count if is_count(count) else NAN for count in counts]
        for track, count in zip(self.tracks, read, strict=True):
            if math.isnan(count):
                continue
            if track.rows:
                gap = row - track.rows[-1]
                track.gap = gap if track.gap == 0 else track.gap + 0.05 * (gap - track.gap)
            track.rows.append(row)
            track.values.append(count)
            track.surprises.append(0.0)
            track.missed.append(0.0)
            track.untested = True
        self.counts.append(read)
        self._test_ahead(row, read)

    def _hidden(self, track: Track) -> Row:
        """What would be said of the newest reading without it."""
        last = len(track.rows) - 1
        return self._said(
            track, self._newest(track, 1), track.rows[-1], list(range(last)), last - 1
        )

    def recent(self, ticks: int) -> list[list[Cell]]:
        columns = [self._recent(e, track, ticks) for e, track in enumerate(self.tracks)]
        return [list(row) for row in zip(*columns, strict=True)]

    def _recent(self, number: int, track: Track, ticks: int) -> list[Cell]:
        run, width = self.run, self.run.width
        if track.untested and len(track.rows) > 1:
            value, _ = estimate_of(self._hidden(track), track.losses.weights(width), 0.0)
            track.missed[-1] = track.values[-1] - value
            track.surprises[-1] = track.surprised(track.missed[-1])
        cells: list[Cell] = []
        for at in range(len(self.counts) - ticks, len(self.counts)):
            read, row = self.counts[at][number], at + len(run) - len(self.counts)
            if not math.isnan(read) or not track.rows:
                cells.append(UNKNOWN if math.isnan(read) else (read, 0.0, read, read))
                continue
            allowed = self._newest(track)
            used = list(range(len(track.rows)))
            said = self._said(track, allowed, row, used, used[-1])
            gap = min(abs(row - other) for other in track.rows)
            usual = max(1, math.floor(track.gap + 0.5))
            age = run.apart(gap, usual) ** AGE
            value, size = estimate_of(said, track.losses.weights(width, age), track.usual())
            final = with_surprise(run, track, allowed, row, value, usual)
            cells.append(track.interval.cell(final, size, value))
        return cells

    def _foretell(
        self, track: Track, start: int, steps: int, losses: Losses
    ) -> tuple[float, float, Row] | None:
        """What was read as many rows after rows like this one."""
        run, per = self.run, self.run.per()
        last = sum(row <= start for row in track.rows)
        if not last:
            return None
        first = max(0, last - self.memory)
        values, used = track.values, range(last - 1, first - 1, -1)
        said = [values[last - 1]]
        for forget in FORGETS:
            weights = [forget**k for k in range(min(IN_TIME, last - first))]
            weights = [w for w in weights if w >= 1e-3]
            total = sum(w * values[last - 1 - k] for k, w in enumerate(weights))
            said.append(total / sum(weights))
        far = {i: f32(0.05) * f32(math.log1p(last - i)) for i in used}
        instead: dict[int, np.float32] = {}
        for past in range(3):
            for i in used:
                part = run.apart_in(track.rows[i] - steps - past, start - past, per)
                if part is None:
                    part = f32(math.inf) if past == 0 else instead[i]
                if past == 0:
                    instead[i] = part
                far[i] = far[i] + part
            order = sorted((float(far[i]), -i) for i in used if far[i] < math.inf)
            for most in (5, 12, 30):
                some = order[:most]
                pairs = [(values[-i], 1 / (some[-1][0] + 1e-9 + distance)) for distance, i in some]
                said.append(
                    sum(v * w for v, w in pairs) / sum(w for _, w in pairs) if pairs else said[0]
                )
        weights = [1.0, *[0.0] * 12]
        if losses.tests > 0:
            least = min(losses.sums)
            slope = 10 * min(1.0, losses.tests / ENOUGH)
            weights = [
                math.exp(-slope * (s / least - 1)) if least > 0 else float(s <= 0)
                for s in losses.sums
            ]
        value = sum(w * g for w, g in zip(weights, said, strict=True)) / sum(weights)
        apart = sum(w * abs(g - value) for w, g in zip(weights, said, strict=True)) / sum(weights)
        return value, apart, said

    def _test_ahead(self, row: int, read: Row) -> None:
        for track, truth in zip(self.tracks, read, strict=True):
            if not math.isnan(truth) and len(track.rows) > 1:
                for h in (0, 1 + len(track.rows) % 5):
                    self._test_one_ahead(track, row, truth, h)

    def _test_one_ahead(self, track: Track, row: int, truth: float, h: int) -> None:
        found = self._foretell(track, row - HORIZONS[h], HORIZONS[h], track.ahead_losses[h])
        if found is None:
            return
        value, size, said = found
        if size + track.usual() > 0:
            track.ahead_intervals[h].learn((truth - value) / (size + track.usual()))
        track.ahead_losses[h].add([(each - truth) ** 2 for each in said])

    def ahead(self, ticks: int) -> list[list[Cell]]:
        rows: list[list[Cell]] = [[] for _ in range(ticks)]
        for track in self.tracks:
            down = up = deviation = 0.0
            for step, row in enumerate(rows, 1):
                h = max(
                    [
                        0,
                        *(
                            n
                            for n in range(1, 6)
                            if HORIZONS[n] <= step and track.ahead_losses[n].tests >= 5
                        ),
                    ]
                )
                found = self._foretell(track, len(self.run) - 1, step, track.ahead_losses[h])
                if found is None:
                    row.append(UNKNOWN)
                    continue
                size = (found[1] + track.usual()) * (step / HORIZONS[h]) ** 0.25
                interval = track.ahead_intervals[h]
                down, up = max(down, interval.down() * size), max(up, interval.up() * size)
                deviation = max(deviation, interval.deviation() * size)
                most = max(found[0], 2 * max(*track.values[-self.memory :], track.usual()))
                low, high = max(0.0, found[0] - down), min(found[0] + up, most)
                row.append((found[0], deviation, low, high))
        return rows


# ---- the smoother --------------------------------------------------------------------------------


def smooth(
    fixed: Sequence[Row], counts: Sequence[Row], ends: Sequence[bool], memory: int
) -> list[list[Cell]]:
    """Every row of a run that is over."""
    run = Run(len(fixed[0]))
    for some, end in zip(fixed, ends, strict=True):
        run.add(some, end)
    columns = [
        _smooth_event(run, [row[e] for row in counts], memory) for e in range(len(counts[0]))
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _smooth_event(run: Run, counts: Row, memory: int) -> list[Cell]:
    event = Event()
    for row, count in enumerate(counts):
        if is_count(count):
            event.rows.append(row)
            event.values.append(count)
    if not event.rows:
        return [UNKNOWN] * len(counts)
    number, width, per = len(event.rows), run.width, run.per()

    def around(row: int, hidden: range = range(0)) -> Allowed:
        middle = sum(other < row for other in event.rows)
        return Allowed(max(0, middle - memory // 2), min(number, middle + memory // 2 + 1), hidden)

    def said(row: int, allowed: Allowed, used: list[int], centre: int) -> Row:
        near = neighbours(run, event, allowed, row, per)
        return guesses(run, event, near, row, regressions(run, event, used, centre))

    tests: list[Row] = []
    for i in range(number if number > 1 else 0):
        others = [k for k in range(number) if k != i]
        tests.append(said(event.rows[i], around(event.rows[i], range(i, i + 1)), others, i))
    losses = _two_sided(
        [[abs(g - y) for g in t] for t, y in zip(tests, event.values, strict=False)], width
    )
    found = [estimate_of(t, losses(i, False).weights(width), 0.0) for i, t in enumerate(tests)]
    errors = [y - value for y, (value, _) in zip(event.values, found, strict=False)]
    usual = sum(map(abs, errors)) / number if errors else max(event.values[0], 1.0)
    sizes = [size + usual for _, size in found]
    interval = Interval(
        [error / size for error, size in zip(errors, sizes, strict=True) if size > 0]
    )
    for i, error in enumerate(errors):
        near = range(max(0, i - COMPARED), min(number, i + COMPARED + 1))
        event.surprises.append(
            surprise(error, [abs(errors[k]) for k in near if abs(k - i) > BESIDE])
        )
    event.surprises, event.missed = event.surprises or [0.0], errors or [0.0]
    gap = float(event.rows[1] - event.rows[0]) if number > 1 else 0.0
    for a, b in list(pairwise(event.rows))[1:]:
        gap += 0.05 * (b - a - gap)
    cells: list[Cell] = []
    for row in range(len(run)):
        nearest = min(range(number), key=lambda i: (abs(event.rows[i] - row), -i))
        if event.rows[nearest] == row:
            value = event.values[nearest]
            cells.append((value, 0.0, value, value))
            continue
        there = losses(nearest, True) if tests else Losses([0.0] * len(experts_of(width)[0]))
        rows_apart = max(1, math.floor(gap + 0.5))
        age = run.apart(abs(event.rows[nearest] - row), rows_apart) ** AGE
        allowed = around(row)
        guessed = said(row, allowed, list(range(number)), nearest)
        value, size = estimate_of(guessed, there.weights(width, age), usual)
        final = with_surprise(run, event, allowed, row, value, rows_apart)
        cells.append(interval.cell(final, size, value))
    return cells


def _two_sided(tests: list[Row], width: int) -> Callable[[int, bool], Losses]:
    def losses(i: int, with_own: bool) -> Losses:
        count = len(experts_of(width)[0])
        before, after = Losses([0.0] * count), Losses([0.0] * count)
        for each in tests[:i]:
            before.add(each)
        for each in reversed(tests[i + 1 :]):
            after.add(each)
        own = tests[i] if with_own else [0.0] * count
        sums = [sum(each) for each in zip(before.sums, after.sums, own, strict=True)]
        return Losses(sums, before.tests + after.tests + with_own)

    return losses
