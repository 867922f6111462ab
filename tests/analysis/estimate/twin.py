"""The analogue mixture in plain Python: slow, and the same numbers as native/estimate/."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

NAN = math.nan
BEFORE_LAST, BEFORE, HERE, AFTER = range(4)

MEMORY, CALIBRATED = 400, 2500
DISCOUNT, SHARPNESS, ENOUGH, FADED = 0.98, 10.0, 10.0, 0.3
SURPRISING, UNHEARD_OF, CAP = 1.5, 2.5, 40
CREDIT, POWER, RIVALS_DISCOUNT = 5.0, 6.0, 0.95
NEAR, NEAR_AHEAD = (2, 5, 12), (5, 12, 30)
FORGET, MEDIANS = (0.5, 0.8, 0.95), (3, 7)
ERRORS, IN_TIME = 200, 60

Cell = tuple[float, float, float, float]  # mean, deviation, low, high
UNKNOWN: Cell = (NAN, NAN, NAN, NAN)


def is_count(value: float) -> bool:
    return math.isfinite(value) and value >= 0


@dataclass
class Place:
    row: int
    rotation: int
    rotation_rows: int
    fixed: list[float]
    logs: list[list[float]]  # context x fixed counter


@dataclass
class Reading:
    place: Place
    value: float
    surprise: float = 0.0
    share: float = 0.0  # of linear scaling in estimates of its rotation


@dataclass
class Rows:
    """Context of rows, and the usual spread of the logarithms of the fixed counters."""

    width: int
    places: list[Place] = field(default_factory=list)
    rotation: int = 0
    rotation_rows: int = 0
    begun: int = 0

    def __post_init__(self) -> None:
        self.mean = [0.0] * self.width
        self.deviation = [0.0] * self.width
        self.seen = [0] * self.width

    def next(self) -> Place:
        unknown = [NAN] * self.width
        last = self.places[-1].logs if self.places else [unknown] * 4
        logs = [list(last[BEFORE]), list(last[HERE]), list(unknown), list(unknown)]
        row = len(self.places)
        return Place(row, self.rotation, self.rotation_rows, [0.0] * self.width, logs)

    def add(self, fixed: Sequence[float], ends: bool) -> Place:
        place = self.next()
        for f, count in enumerate(fixed):
            if not is_count(count):
                continue
            level = math.log1p(count)
            place.fixed[f], place.logs[HERE][f] = count, level
            self.seen[f] += 1
            rate = max(1 / self.seen[f], 1e-3)
            self.mean[f] += rate * (level - self.mean[f])
            self.deviation[f] += rate * (abs(level - self.mean[f]) - self.deviation[f])
        if self.places:
            self.places[-1].logs[AFTER] = list(place.logs[HERE])
        self.places.append(place)
        if ends:
            self.rotation += 1
            self.rotation_rows = len(self.places) - self.begun
            self.begun = len(self.places)
        return place

    def spread(self) -> list[float]:
        return [max(each, 1e-4) for each in self.deviation]


def weighted_median(values: list[tuple[float, float]]) -> float:
    values = sorted(values)
    total = 0.0
    for _, weight in values:
        total += weight
    below = 0.0
    for (value, weight), (above, _) in pairwise(values):
        below += weight
        if below * 2 > total:
            return value
        if below * 2 == total:
            return (value + above) / 2
    return values[-1][0]


def carried(reading: Reading, place: Place, way: int) -> float:
    if way == 0:
        return reading.value
    origin, target = reading.place.fixed[way - 1], place.fixed[way - 1]
    return reading.value * (target / origin) if origin > 0 and target > 0 else reading.value


@dataclass
class Allowed:
    """What a guess may use: readings, and how those near in time are to be taken."""

    readings: list[Reading]
    first: int
    last: int
    hidden: range = range(0)
    until: int | None = None
    stride: int = 1

    def usable(self) -> list[int]:
        return [i for i in range(self.first, self.last) if i not in self.hidden]


def nearest_states(
    allowed: Allowed, place: Place, spread: list[float], ahead: bool, most: int
) -> list[list[tuple[float, int]]]:
    readings = allowed.readings
    rows = [reading.place.row for reading in readings]
    middle = bisect_left(rows, place.row, allowed.first, allowed.last)
    contexts = (BEFORE, BEFORE_LAST, AFTER) if ahead else (HERE, BEFORE, AFTER)
    found: list[list[tuple[float, int]]] = [[], [], []]
    for i in allowed.usable():
        distance = 0.05 * math.log1p(abs(i - middle))
        first = 0.0
        for state, context in enumerate(contexts):
            part = 0.0
            for f, each in enumerate(spread):
                apart = abs(readings[i].place.logs[context][f] - place.logs[context][f])
                part += apart * (1 / each)
            distance += first if math.isnan(part) else part
            if state == 0:
                first = 0.0 if math.isnan(part) else part
            found[state].append((distance, i))
    # Of equally near ones, the newest.
    return [sorted(each, key=lambda pair: (pair[0], -pair[1]))[:most] for each in found]


def nearest_in_time(allowed: Allowed, row: int, fallback: int) -> list[int]:
    rows = [reading.place.row for reading in allowed.readings]
    last = allowed.last if allowed.until is None else min(allowed.last, allowed.until)
    right = bisect_left(rows, row, allowed.first, last)
    left = right - 1
    found: list[int] = []
    while len(found) < IN_TIME:
        while left >= allowed.first and left in allowed.hidden:
            left -= 1
        while right < last and right in allowed.hidden:
            right += 1
        if left >= allowed.first and (right >= last or row - rows[left] <= rows[right] - row):
            found.append(left)
            left -= allowed.stride
        elif right < last:
            found.append(right)
            right += allowed.stride
        else:
            break
    return found or [fallback]


@dataclass
class Guesses:
    """All guesses of one row, and the largest of the readings around it."""

    values: list[float]
    largest: float


def guess(allowed: Allowed, place: Place, spread: list[float]) -> Guesses:
    readings = allowed.readings
    near = nearest_states(allowed, place, spread, False, NEAR[-1])
    in_time = nearest_in_time(allowed, place.row, near[0][0][1])
    values = []
    for way in range(1 + len(spread)):
        values.append(carried(readings[in_time[0]], place, way))
        values.append(_interpolated(readings, in_time, place, way))
        values.append(_gauss_markov(readings, in_time, place, way))
        values += [_forgetting(readings, in_time, place, way, each) for each in FORGET]
        for most in MEDIANS:
            some = [(carried(readings[i], place, way), 1.0) for i in in_time[:most]]
            values.append(weighted_median(some))
        for state in near:
            values += [_typical(readings, state[:k], place, way, k > 2) for k in NEAR]
    largest = max(readings[i].value for i in in_time[:CAP])
    return Guesses([*values, 0.0], largest)


def guess_ahead(allowed: Allowed, place: Place, spread: list[float]) -> list[float]:
    readings = allowed.readings
    near = nearest_states(allowed, place, spread, True, NEAR_AHEAD[-1])
    in_time = nearest_in_time(allowed, place.row, near[0][0][1])
    values = [readings[in_time[0]].value]
    values += [_forgetting(readings, in_time, place, 0, each) for each in FORGET]
    for state in near:
        values += [_typical(readings, state[:k], place, 0, False) for k in NEAR_AHEAD]
    return values


def _interpolated(readings: list[Reading], in_time: list[int], place: Place, way: int) -> float:
    nearest = readings[in_time[0]]
    for i in in_time:
        other = readings[i]
        if (other.place.row < place.row) != (nearest.place.row < place.row):
            near = abs(place.row - nearest.place.row)
            far = abs(place.row - other.place.row)
            return (far * carried(nearest, place, way) + near * carried(other, place, way)) / (
                near + far
            )
    return carried(nearest, place, way)


def _gauss_markov(readings: list[Reading], in_time: list[int], place: Place, way: int) -> float:
    values = {i: carried(readings[i], place, way) for i in in_time}
    mean = 0.0
    for i in in_time:
        mean += values[i] / len(in_time)
    before = [i for i in in_time if readings[i].place.row <= place.row]
    after = [i for i in in_time if readings[i].place.row > place.row]
    pairs = [*pairwise(before), *pairwise(after)]
    square = sum((value - mean) ** 2 for value in values.values())
    product = sum((values[i] - mean) * (values[j] - mean) for i, j in pairs)
    if not pairs or square <= 0 or product <= 0:
        return mean
    likeness = min(product / len(pairs) / (square / len(in_time)), 0.999)
    gap = sum(abs(readings[i].place.row - readings[j].place.row) for i, j in pairs) / len(pairs)
    beta = -math.log(likeness) / gap
    keep, away = [0.0, 0.0], [0.0, 0.0]
    for side, some in enumerate((before, after)):
        if some:
            keep[side] = math.exp(-beta * abs(readings[some[0]].place.row - place.row))
            away[side] = values[some[0]] - mean
    left, right = keep[0] ** 2, keep[1] ** 2
    pulled = keep[0] * (1 - right) * away[0] + keep[1] * (1 - left) * away[1]
    return max(0.0, mean + pulled / (1 - left * right))


def _forgetting(
    readings: list[Reading], in_time: list[int], place: Place, way: int, forget: float
) -> float:
    weight, above, below = 1.0, 0.0, 0.0
    for i in in_time:
        if weight < 1e-3:
            break
        above += weight * readings[i].value
        below += weight * (1.0 if way == 0 else readings[i].place.fixed[way - 1])
        weight *= forget
    return above / below * (1.0 if way == 0 else place.fixed[way - 1]) if below > 0 else 0.0


def _typical(
    readings: list[Reading], near: list[tuple[float, int]], place: Place, way: int, median: bool
) -> float:
    reach = near[-1][0] + 1e-9
    some = [(carried(readings[i], place, way), 1 / (reach + d)) for d, i in near]
    if median:
        return weighted_median(some)
    above = below = 0.0
    for value, weight in some:
        above += weight * value
        below += weight
    return above / below


@dataclass
class Losses:
    sums: list[float]
    tests: float = 0.0

    def add(self, losses: Sequence[float]) -> None:
        self.tests = self.tests * DISCOUNT + 1
        self.sums = [s * DISCOUNT + loss for s, loss in zip(self.sums, losses, strict=True)]

    def weights(self) -> list[float]:
        if self.tests <= 0:
            return [1.0, *[0.0] * (len(self.sums) - 1)]
        least = min(self.sums)
        if least <= 0:
            return [float(each <= 0) for each in self.sums]
        slope = SHARPNESS * min(1.0, self.tests / ENOUGH)
        return [math.exp(-slope * (each / least - 1)) for each in self.sums]


@dataclass
class Rivals:
    """What the model and linear scaling lost at the same readings."""

    model: float = 0.0
    scaling: float = 0.0
    tests: float = 0.0
    credit: float = CREDIT

    def faded(self, by: float) -> Rivals:
        return Rivals(self.model * by, self.scaling * by, self.tests * by, self.credit * by)

    def with_test(self, model: float, scaling: float) -> Rivals:
        old = self.faded(RIVALS_DISCOUNT)
        return Rivals(old.model + model, old.scaling + scaling, old.tests + 1, old.credit)

    def joined(self, other: Rivals) -> Rivals:
        return Rivals(
            self.model + other.model,
            self.scaling + other.scaling,
            self.tests + other.tests,
            self.credit + other.credit,
        )

    def share(self) -> float:
        if self.model <= 0:
            return 0.0
        if self.scaling <= 0:
            return 1.0
        worse = self.model / self.scaling * (self.tests / (self.tests + self.credit))
        try:
            return 1 - 1 / (1 + math.pow(worse, POWER))
        except OverflowError:
            return 1.0


@dataclass
class Interval:
    errors: list[float] = field(default_factory=list)
    level: float = 0.1

    def learn(self, error: float) -> None:
        missed = bool(self.errors) and not self.low() <= error <= self.high()
        self.level = min(max(self.level + 0.01 * (0.1 - missed), 0.005), 0.5)
        self.errors = [*self.errors, error][-ERRORS:]

    def _quantile(self, errors: list[float]) -> float:
        if not errors:
            return 1.0
        rank = math.ceil((1 - self.level / 2) * (len(errors) + 1))
        if rank > len(errors):
            return 2 * max([0.0, *errors])
        return max(sorted(errors)[rank - 1], 0.0)

    def low(self) -> float:
        return -self._quantile([-each for each in self.errors])

    def high(self) -> float:
        return self._quantile(self.errors)

    def deviation(self) -> float:
        if not self.errors:
            return 1.0
        return math.sqrt(sum(each**2 for each in self.errors) / len(self.errors))

    def cell(self, value: float, size: float, foreseen: float) -> Cell:
        low = max(0.0, min(value, foreseen) + self.low() * size)
        high = max(value, foreseen) + self.high() * size
        return value, self.deviation() * size, low, high


def surprise(error: float, largest: float) -> float:
    if largest <= 0:
        return float(error > 0)
    return min(max((error / largest - SURPRISING) / (UNHEARD_OF - SURPRISING), 0.0), 1.0)


def stands_for_rotation(allowed: Allowed, own: int, rotation_rows: int) -> bool:
    """Whether no reading as foreseen was less than a rotation away from one that surprised."""
    if allowed.readings[own].surprise == 0:
        return True
    usable = allowed.usable()
    beside = [allowed.readings[i] for i in (own - 1, own + 1) if i in usable]
    row = allowed.readings[own].place.row
    return all(each.surprise != 0 or abs(each.place.row - row) >= rotation_rows for each in beside)


def foreseen(guesses: Guesses, weights: list[float]) -> float:
    """What all guesses say, before linear scaling has its say."""
    return min(weighted_median(list(zip(guesses.values, weights, strict=True))), guesses.largest)


class Estimate(NamedTuple):
    value: float
    size: float  # of its error
    guesses: list[float]
    foreseen: float


def estimate(
    allowed: Allowed, place: Place, spread: list[float], weights: list[float], usual: float
) -> Estimate:
    """What is said of a place."""
    guesses = guess(allowed, place, spread)
    pairs = list(zip(guesses.values, weights, strict=True))
    value = foreseen(guesses, weights)
    rows = [reading.place.row for reading in allowed.readings]
    right = bisect_left(rows, place.row, allowed.first, allowed.last)
    own = [
        i
        for i in (right, right - 1)
        if allowed.first <= i < allowed.last
        and i not in allowed.hidden
        and allowed.readings[i].place.rotation == place.rotation
    ]
    if own:
        best = min(own, key=lambda i: abs(rows[i] - place.row))
        reading = allowed.readings[best]
        if stands_for_rotation(allowed, best, place.rotation_rows):
            value += max(reading.share, reading.surprise) * (reading.value - value)
    apart = sum(weight * abs(each - value) for each, weight in pairs)
    before = foreseen(guesses, weights)
    return Estimate(value, apart / sum(weights) + usual, guesses.values, before)


def usual_error(readings: Sequence[Reading], errors: Sequence[float]) -> float:
    if len(readings) == 1:
        return max(readings[0].value, 1.0)
    return sum(errors) / len(errors) if errors else 0.0


@dataclass
class Track:
    readings: list[Reading] = field(default_factory=list)
    losses: Losses | None = None
    ahead: Losses | None = None
    rivals: Rivals = field(default_factory=Rivals)
    interval: Interval = field(default_factory=Interval)
    ahead_interval: Interval = field(default_factory=Interval)
    errors: list[tuple[float, bool]] = field(default_factory=list)  # size, surprised
    untested: bool = False

    def usual(self) -> float:
        return usual_error(self.readings, [size for size, _ in self.errors])

    def remember(self, error: float, surprise: float = 0.0) -> None:
        self.errors = [*self.errors, (abs(error), surprise > 0)][-ERRORS:]

    def surprise(self, error: float) -> float:
        counted = self.errors[:-2] + [each for each in self.errors[-2:] if not each[1]]
        return surprise(abs(error), max([0.0, *(e for e, _ in counted)]))

    def compared(self, error: float) -> Rivals:
        """The rivals after the newest reading, at which the model made an error."""
        change = abs(self.readings[-1].value - self.readings[-2].value)
        return self.rivals.with_test(abs(error), change)


class Twin:
    """The filter."""

    def __init__(self, events: int, fixed: int, memory: int = MEMORY) -> None:
        self.rows = Rows(fixed)
        self.counts: list[list[float]] = []
        self.memory = memory
        experts = 1 + (1 + fixed) * (3 + len(FORGET) + len(MEDIANS) + 3 * len(NEAR))
        ahead = 1 + len(FORGET) + 3 * len(NEAR_AHEAD)
        self.tracks = [
            Track(losses=Losses([0.0] * experts), ahead=Losses([0.0] * ahead))
            for _ in range(events)
        ]

    def _newest(self, readings: list[Reading], but: int = 0) -> Allowed:
        last = len(readings) - but
        return Allowed(readings, max(0, last - self.memory), last)

    def calibrate(
        self, fixed: Sequence[Sequence[float]], counts: Sequence[Sequence[float]]
    ) -> None:
        events = len(self.tracks)
        self.memory += min(len(counts), CALIBRATED)
        for row, (some, read) in enumerate(zip(fixed, counts, strict=True)):
            place = self.rows.add(some, row + 1 == len(counts) or (row + 1) % events == 0)
            for track, count in zip(self.tracks, read, strict=True):
                if is_count(count):
                    track.readings.append(Reading(place, count))
        for track in self.tracks:
            assert track.losses is not None
            for i in range(2 * events, len(track.readings), events):
                allowed = Allowed(
                    track.readings,
                    0,
                    len(track.readings),
                    range(i - events + 1, i + events),
                    i - events + 1,
                    events,
                )
                truth = track.readings[i].value
                value, size, guesses, _ = estimate(
                    allowed,
                    track.readings[i].place,
                    self.rows.spread(),
                    track.losses.weights(),
                    track.usual(),
                )
                track.remember(truth - value)
                change = abs(truth - track.readings[i - events].value)
                track.rivals = track.rivals.with_test(abs(truth - value), change)
                if size > 0:
                    track.interval.learn((truth - value) / size)
                track.losses.add([abs(each - truth) for each in guesses])
            track.losses = Losses(
                [FADED * each for each in track.losses.sums], FADED * track.losses.tests
            )
            track.rivals = track.rivals.faded(FADED)

    def push(self, fixed: Sequence[float], counts: Sequence[float], ends: bool) -> None:
        ahead_place, ahead_spread = self.rows.next(), self.rows.spread()
        place = self.rows.add(fixed, ends)
        for track, count in zip(self.tracks, counts, strict=True):
            assert track.ahead is not None
            if track.untested:
                self._test(track)
            if not is_count(count):
                continue
            if track.readings:
                value, size, guesses = self._ahead(track, ahead_place, ahead_spread)
                if size > 0:
                    track.ahead_interval.learn((count - value) / size)
                track.ahead.add([(each - count) ** 2 for each in guesses])
            track.readings.append(Reading(place, count))
            track.untested = True
        self.counts.append([each if is_count(each) else NAN for each in counts])

    def _ahead(
        self, track: Track, place: Place, spread: list[float]
    ) -> tuple[float, float, list[float]]:
        assert track.ahead is not None
        guesses = guess_ahead(self._newest(track.readings), place, spread)
        weights = track.ahead.weights()
        value = sum(w * g for w, g in zip(weights, guesses, strict=True)) / sum(weights)
        apart = sum(w * abs(g - value) for w, g in zip(weights, guesses, strict=True))
        return value, apart / sum(weights) + track.usual(), guesses

    def _hidden(self, track: Track) -> Estimate:
        assert track.losses is not None
        return estimate(
            self._newest(track.readings, 1),
            track.readings[-1].place,
            self.rows.spread(),
            track.losses.weights(),
            track.usual(),
        )

    def _test(self, track: Track) -> None:
        assert track.losses is not None
        track.untested = False
        if len(track.readings) < 2:
            return
        newest = track.readings[-1]
        value, size, guesses, foreseen = self._hidden(track)
        error = newest.value - foreseen
        newest.surprise = track.surprise(error)
        track.remember(error, newest.surprise)
        track.rivals = track.compared(error)
        newest.share = track.rivals.share()
        if size > 0:
            track.interval.learn((newest.value - value) / size)
        track.losses.add([abs(each - newest.value) for each in guesses])

    def recent(self, ticks: int) -> list[list[Cell]]:
        columns = [self._recent(e, track, ticks) for e, track in enumerate(self.tracks)]
        return [list(row) for row in zip(*columns, strict=True)]

    def _recent(self, event: int, track: Track, ticks: int) -> list[Cell]:
        assert track.losses is not None
        if track.untested and len(track.readings) >= 2:
            newest = track.readings[-1]
            error = newest.value - self._hidden(track).foreseen
            newest.surprise = track.surprise(error)
            newest.share = track.compared(error).share()
        cells: list[Cell] = []
        for row in range(len(self.counts) - ticks, len(self.counts)):
            read = self.counts[row][event]
            place = self.rows.places[row - len(self.counts)]
            if not math.isnan(read):
                cells.append((read, 0.0, read, read))
            elif not track.readings:
                cells.append(UNKNOWN)
            else:
                value, size, _, foreseen = estimate(
                    self._newest(track.readings),
                    place,
                    self.rows.spread(),
                    track.losses.weights(),
                    track.usual(),
                )
                cells.append(track.interval.cell(value, size, foreseen))
        return cells

    def ahead(self, ticks: int) -> list[list[Cell]]:
        rows: list[list[Cell]] = [[] for _ in range(ticks)]
        for track in self.tracks:
            for step, row in enumerate(rows, 1):
                if not track.readings:
                    row.append(UNKNOWN)
                    continue
                value, size, _ = self._ahead(track, self.rows.next(), self.rows.spread())
                row.append(track.ahead_interval.cell(value, size * math.sqrt(step), value))
        return rows


def smooth(
    fixed: Sequence[Sequence[float]],
    counts: Sequence[Sequence[float]],
    ends: Sequence[bool],
    memory: int = MEMORY,
) -> list[list[Cell]]:
    """Every row of a run that is over."""
    rows = Rows(len(fixed[0]))
    for some, end in zip(fixed, ends, strict=True):
        rows.add(some, end)
    columns = [
        _smooth_event(rows, [row[e] for row in counts], memory) for e in range(len(counts[0]))
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _smooth_event(rows: Rows, counts: list[float], memory: int) -> list[Cell]:
    spread = rows.spread()
    readings = [Reading(p, c) for p, c in zip(rows.places, counts, strict=True) if is_count(c)]
    if not readings:
        return [UNKNOWN] * len(counts)
    at = [reading.place.row for reading in readings]
    experts = 1 + (1 + rows.width) * (3 + len(FORGET) + len(MEDIANS) + 3 * len(NEAR))

    def around(row: int, hidden: range = range(0)) -> Allowed:
        middle = bisect_left(at, row)
        first, last = max(0, middle - memory // 2), min(len(at), middle + memory // 2 + 1)
        return Allowed(readings, first, last, hidden)

    def hidden(i: int, weights: list[float]) -> Estimate:
        return estimate(around(at[i], range(i, i + 1)), readings[i].place, spread, weights, 0.0)

    tests: list[list[float]] = []
    if len(readings) > 1:
        start = Losses([0.0] * experts).weights()
        for i, reading in enumerate(readings):
            tests.append([abs(each - reading.value) for each in hidden(i, start)[2]])
    losses = _two_sided(tests, experts)
    found = [hidden(i, losses(i, False).weights()) for i in range(len(tests))]
    errors = [r.value - f[0] for r, f in zip(readings, found, strict=False)]
    kept = [abs(error) for error in errors][-ERRORS:]
    usual = usual_error(readings, kept)
    interval = Interval()
    for i, (error, each) in enumerate(zip(errors, found, strict=True)):
        if each[1] + usual > 0:
            interval.learn(error / (each[1] + usual))
        others = [
            abs(errors[k])
            for k in range(max(0, i - 100), min(len(errors), i + 100))
            if abs(k - i) > 2
        ]
        readings[i].surprise = surprise(abs(error), max(others, default=0.0))
    for reading, share in zip(readings, _shares(readings, errors), strict=False):
        reading.share = share
    cells: list[Cell] = []
    for place in rows.places:
        nearest = min(range(len(at)), key=lambda i: (abs(at[i] - place.row), -i))
        if at[nearest] == place.row:
            value = readings[nearest].value
            cells.append((value, 0.0, value, value))
            continue
        there = losses(nearest, True) if tests else Losses([0.0] * experts)
        value, size, _, before = estimate(around(place.row), place, spread, there.weights(), usual)
        cells.append(interval.cell(value, size, before))
    return cells


def _shares(readings: list[Reading], errors: list[float]) -> list[float]:
    values = [reading.value for reading in readings[: len(errors)]]
    changes = [0.0, *(abs(b - a) for a, b in pairwise(values))]
    tests = [(abs(error), change) for error, change in zip(errors, changes, strict=False)]
    shares = []
    for i in range(len(tests)):
        before, after = Rivals(credit=0.0), Rivals(credit=0.0)
        for test in tests[: i + 1]:
            before = before.with_test(*test)
        for test in reversed(tests[i + 1 :]):
            after = after.with_test(*test)
        shares.append(before.joined(after.faded(RIVALS_DISCOUNT)).share())
    return shares


def _two_sided(tests: list[list[float]], experts: int) -> Callable[[int, bool], Losses]:
    def losses(i: int, with_own: bool) -> Losses:
        before, after = Losses([0.0] * experts), Losses([0.0] * experts)
        for each in tests[:i]:
            before.add(each)
        for each in reversed(tests[i + 1 :]):
            after.add(each)
        own = tests[i] if with_own else [0.0] * experts
        sums = [sum(each) for each in zip(before.sums, after.sums, own, strict=True)]
        return Losses(sums, before.tests + after.tests + with_own)

    return losses
