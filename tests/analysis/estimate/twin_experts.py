"""What experts say, in plain numpy: every formula from its definition, nothing kept from before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Row = list[float]

FORGETS, LAMBDAS, NUGGET = (0.5, 0.8, 0.95), (0.9, 0.97, 0.995), 0.3
IN_TIME, CAPPED, TELLING = 60, 40, 4
f32 = np.float32


def is_count(value: float) -> bool:
    return math.isfinite(value) and value >= 0


@dataclass
class Run:
    """All rows that have come: what the fixed counters said, and which rotation it was."""

    width: int
    fixed: list[Array] = field(default_factory=list)
    logs: list[NDArray[np.float32]] = field(default_factory=list)
    levels: list[Array] = field(default_factory=list)
    rotations: list[int] = field(default_factory=list)
    rotation: int = 0
    calibrated: int = 0  # rows of a calibration: its regressions do not wait for the row after it

    def __len__(self) -> int:
        return len(self.fixed)

    def add(self, fixed: Sequence[float], ends: bool) -> None:
        before = self.fixed[-1] if self.fixed else np.zeros(self.width)
        here = [x if is_count(x) else b for x, b in zip(fixed, before, strict=True)]
        self.fixed.append(np.array(here))
        self.levels.append(np.array([math.log1p(x) for x in here]))
        self.logs.append(self.levels[-1].astype(f32))
        self.rotations.append(self.rotation)
        self.rotation += ends

    def per(self) -> NDArray[np.float32]:
        mean, spread = np.zeros(self.width), np.zeros(self.width)
        for row, level in enumerate(self.levels):
            rate = max(1 / (row + 1), 1e-3)
            mean += rate * (level - mean)
            spread += rate * (abs(level - mean) - spread)
        return f32(1) / np.maximum(spread, 1e-4).astype(f32)

    def apart(self, gap: int, usual: int) -> float:
        gap, usual = min(gap, usual, 256), min(usual, 256)
        if gap >= usual or len(self) <= usual:
            return 1.0
        table = np.array(self.logs, dtype=np.float64)
        mean = [
            abs(table[g:] - table[: len(table) - g]).sum() / (len(self) - g) for g in (gap, usual)
        ]
        return float(min(1.0, (mean[0] + 1e-12) / (mean[1] + 1e-12)))

    def apart_in(self, row: int, other: int, per: NDArray[np.float32]) -> np.float32 | None:
        """How far two rows are from each other; None where one of them is not known."""
        if not (0 <= row < len(self) and 0 <= other < len(self)):
            return None
        total = f32(0)
        for f in range(self.width):
            total += abs(self.logs[row][f] - self.logs[other][f]) * per[f]
        return f32(total)

    def around(self, row: int) -> Array:
        """The fixed counters that take part in regressions: of a row, and of those beside it."""
        here = self.fixed[row][:TELLING]
        before = self.fixed[row - 1][:TELLING] if row > 0 else here
        known = row + 1 < len(self) and row + 1 != self.calibrated
        after = self.fixed[row + 1][:TELLING] if known else here
        return np.concatenate([here, before, after])


@dataclass
class Event:
    """The readings of one event; `hidden` ones are never looked at."""

    rows: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    surprises: list[float] = field(default_factory=list)
    missed: list[float] = field(default_factory=list)  # by what was foreseen of each


@dataclass
class Allowed:
    first: int
    last: int
    hidden: range = range(0)
    until: int | None = None
    stride: int = 1

    def usable(self) -> list[int]:
        return [i for i in range(self.first, self.last) if i not in self.hidden]


# ---- regressions ---------------------------------------------------------------------------------


def ridge(x: Array, y: Array, weights: Array) -> Row:
    """Slopes and what is added to them, by two solves: the second knows what the first explains."""
    count = x.shape[1]
    if not len(y):
        return [0.0] * (count + 1)
    size = weights.sum()
    mean, level = weights @ x / size, weights @ y / size
    variance = weights @ (x - mean) ** 2 / size
    scale = np.array(
        [1 / math.sqrt(v) if v > 1e-12 * m * m else 0 for v, m in zip(variance, mean, strict=True)]
    )
    z = (x - mean) * scale
    alike = (z * weights[:, None]).T @ z / size
    alike[np.diag_indices(count)] = np.where(scale > 0, np.diag(alike), 1.0)
    right = z.T @ (weights * (y - level)) / size
    spread = weights @ (y - level) ** 2 / size
    penalty = 1 / max(size, 1.0)
    if spread > 0:
        first = np.linalg.solve(alike + penalty * np.eye(count), right)
        explained = min(max(first @ right / spread, 0.0), 0.99)
        penalty = max(1 - explained, 0.01) / max(size, 1.0)
    slopes = np.linalg.solve(alike + (penalty + 1e-6) * np.eye(count), right) * scale
    return [*slopes, float(level - slopes @ mean)]


def regressions(run: Run, event: Event, used: list[int], centre: int) -> list[Row]:
    """All kinds for each forgetting, from some of the readings; those near one weigh most."""
    found = []
    for forget in LAMBDAS:
        weights = np.array([forget ** abs(i - centre) for i in used])
        around = np.array([run.around(event.rows[i]) for i in used]).reshape(len(used), -1)
        y = np.array([event.values[i] for i in used])
        width = min(run.width, TELLING)
        here = around[:, :width]
        found.append(ridge(here, y, weights))
        found.append(ridge(np.sqrt(here), np.sqrt(y), weights))
        total = here.sum(axis=1)
        some = total > 0
        rates = here[some] / total[some, None]
        # Readings in rows without any work have no rate, though older ones are older by them.
        found.append(ridge(rates, y[some] / total[some], weights[some]))
        found.append(ridge(around, y, weights))
    return found


def said_by(regression: int, line: Row, run: Run, row: int) -> float:
    around = run.around(row)
    here = around[: len(around) // 3]
    kind = regression % 4
    if kind == 1:
        root = float(np.dot(line[:-1], np.sqrt(here)) + line[-1])
        return root * root if root > 0 else 0.0
    if kind == 2:
        total = here.sum()
        return (
            max(float((np.dot(line[:-1], here / total) + line[-1]) * total), 0.0)
            if total > 0
            else 0.0
        )
    return max(float(np.dot(line[:-1], around if kind == 3 else here) + line[-1]), 0.0)


# ---- neighbours ----------------------------------------------------------------------------------


@dataclass
class Near:
    begun: list[tuple[float, int]]
    around: list[tuple[float, int]]
    wide: list[tuple[float, int]]
    ratio: list[tuple[float, int]]
    in_time: list[int]
    kriging: Row
    busier: float


def neighbours(
    run: Run, event: Event, allowed: Allowed, row: int, per: NDArray[np.float32]
) -> Near:
    rows = event.rows
    middle = sum(rows[i] < row for i in range(allowed.first, allowed.last)) + allowed.first
    lists: list[list[tuple[float, int]]] = [[], [], [], []]
    for i in allowed.usable():
        late = f32(0.05) * f32(math.log1p(abs(i - middle)))
        parts = [run.apart_in(rows[i] + b, row + b, per) for b in (-2, -1, 0, 1, 2)]
        here = parts[2] if parts[2] is not None else f32(0)
        before, after = (here if parts[b] is None else parts[b] for b in (1, 3))
        assert before is not None
        assert after is not None
        begun = late + here + before
        around = begun + after
        ratio = f32(0)
        for f in range(1, run.width):
            mine, theirs = run.logs[row], run.logs[rows[i]]
            ratio += abs((theirs[f] - mine[f]) - (theirs[0] - mine[0])) * per[f]
        wide = around + f32(0.5) * (f32(0) if parts[0] is None else parts[0])
        wide += f32(0.5) * (f32(0) if parts[4] is None else parts[4])
        ratios = ratio * f32(2) + around if run.width > 1 else late + here
        for each, distance in zip(lists, (begun, around, wide, ratios), strict=True):
            each.append((float(distance), i))
    # Of equally near ones, the newest.
    nearest = [
        sorted(each, key=lambda pair: (pair[0], -pair[1]))[:most]
        for each, most in zip(lists, (5, 16, 5, 5), strict=True)
    ]
    in_time = nearest_in_time(event, allowed, row)
    busier = math.inf
    for f in range(run.width):
        most = max(run.fixed[rows[i]][f] for i in in_time[:CAPPED])
        busier = min(busier, run.fixed[row][f] / most if most > 0 else 1.0)
    kriged = kriging(run, event, nearest[1], per)
    return Near(nearest[0], nearest[1], nearest[2], nearest[3], in_time, kriged, max(busier, 1.0))


def nearest_in_time(event: Event, allowed: Allowed, row: int) -> list[int]:
    last = allowed.last if allowed.until is None else min(allowed.last, allowed.until)
    right = sum(event.rows[i] < row for i in range(allowed.first, last)) + allowed.first
    left = right - 1
    found: list[int] = []
    while len(found) < IN_TIME:
        while left >= allowed.first and left in allowed.hidden:
            left -= 1
        while right < last and right in allowed.hidden:
            right += 1
        older = left >= allowed.first
        if older and (right >= last or row - event.rows[left] <= event.rows[right] - row):
            found.append(left)
            left -= allowed.stride
        elif right < last:
            found.append(right)
            right += allowed.stride
        else:
            break
    return found or allowed.usable()[:1]


def kriging(run: Run, event: Event, near: list[tuple[float, int]], per: NDArray[np.float32]) -> Row:
    far = np.array([distance for distance, _ in near])
    length = 2 * max(float(far.mean()), 1e-3)
    between = np.zeros((len(near), len(near)))
    for a, (_, i) in enumerate(near):
        for b, (_, j) in enumerate(near[:a]):
            r, s = event.rows[i], event.rows[j]
            here = run.apart_in(r, s, per)
            total = here
            for beside in (-1, 1):
                part = run.apart_in(r + beside, s + beside, per)
                total += here if part is None else part  # type: ignore[operator]
            between[a, b] = between[b, a] = float(total)  # type: ignore[arg-type]
    matrix = 1 / (1 + between / length) + NUGGET * np.eye(len(near))
    own = np.linalg.solve(matrix, 1 / (1 + far / length))
    ones = np.linalg.solve(matrix, np.ones(len(near)))
    weights = own + (1 - own.sum()) / ones.sum() * ones
    if not np.abs(weights).sum() < 3:
        weights = 1 / (far[-1] + 1e-9 + far)
        weights /= weights.sum()
    return list(weights)


# ---- experts -------------------------------------------------------------------------------------


def weighted_median(values: Sequence[tuple[float, float]]) -> float:
    values = sorted(values)
    total = sum(weight for _, weight in values)
    below = 0.0
    for (value, weight), (above, _) in pairwise(values):
        below += weight
        if below * 2 > total:
            return value
        if below * 2 == total:
            return (value + above) / 2
    return values[-1][0]


def guesses(run: Run, event: Event, near: Near, row: int, lines: list[Row]) -> Row:
    width = min(run.width, TELLING)
    found: Row = []
    for way in range(width + 2):
        found += one_way(run, event, near, row, lines, way)
    found.append(0.0)
    found += [said_by(number, line, run, row) for number, line in enumerate(lines)]
    cap = 2 * max(event.values[i] for i in near.in_time[:CAPPED]) * near.busier
    return [min(each, cap) for each in found]


def one_way(run: Run, event: Event, near: Near, row: int, lines: list[Row], way: int) -> Row:
    width = min(run.width, TELLING)
    per_fixed = 0 < way <= width

    def carried(i: int) -> float:
        value, there, here = event.values[i], run.fixed[event.rows[i]], run.fixed[row]
        if way == 0:
            return value
        if per_fixed:
            a, b = there[way - 1], here[way - 1]
            return float(value * (b / a)) if a > 0 and b > 0 else value
        for f in range(width):
            value += lines[4][f] * (here[f] - there[f])
        return max(float(value), 0.0)

    def base(i: int) -> float:
        return float(run.fixed[event.rows[i]][way - 1]) if per_fixed else 1.0

    along = [carried(i) for i in near.in_time]
    rows = [event.rows[i] for i in near.in_time]
    found = [along[0], between_readings(rows, along, row), gauss_markov(rows, along, row)]
    for forget in FORGETS:
        weight, above, below = 1.0, 0.0, 0.0
        for i, value in zip(near.in_time, along, strict=True):
            if weight < 1e-3:
                break
            above += weight * (event.values[i] if per_fixed else value)
            below += weight * base(i)
            weight *= forget
        here = float(run.fixed[row][way - 1]) if per_fixed else 1.0
        found.append(above / below * here if below > 0 else 0.0)
    found.append(weighted_median([(value, 1.0) for value in along[:7]]))
    for state, sizes in (
        (near.begun, (2, 5)),
        (near.around, (2, 5, 12)),
        (near.wide, (2, 5)),
        (near.ratio, (2, 5)),
    ):
        for most in sizes:
            some = state[:most]
            reach = some[-1][0] + 1e-9
            pairs = [(carried(i), 1 / (reach + distance)) for distance, i in some]
            mean = sum(v * w for v, w in pairs) / sum(w for _, w in pairs)
            found.append(mean if most == 2 else weighted_median(pairs))
    total = sum(w * carried(i) for w, (_, i) in zip(near.kriging, near.around, strict=True))
    found.append(max(total, 0.0))
    return found


def between_readings(rows: list[int], values: Row, row: int) -> float:
    for other, value in zip(rows, values, strict=True):
        if (other < row) != (rows[0] < row):
            near, far = abs(row - rows[0]), abs(row - other)
            return (far * values[0] + near * value) / (near + far)
    return values[0]


def gauss_markov(rows: list[int], values: Row, row: int) -> float:
    mean = sum(value / len(values) for value in values)
    sides = [[z for z, r in enumerate(rows) if (r > row) == after] for after in (False, True)]
    pairs = [pair for side in sides for pair in pairwise(side)]
    square = sum((value - mean) ** 2 for value in values)
    product = sum((values[a] - mean) * (values[b] - mean) for a, b in pairs)
    if not pairs or square <= 0 or product <= 0:
        return mean
    likeness = min(product / len(pairs) / (square / len(values)), 0.999)
    gap = sum(abs(rows[a] - rows[b]) for a, b in pairs) / len(pairs)
    beta = -math.log(likeness) / gap
    keep, away = [0.0, 0.0], [0.0, 0.0]
    for side, some in enumerate(sides):
        if some:
            keep[side] = math.exp(-beta * abs(rows[some[0]] - row))
            away[side] = values[some[0]] - mean
    left, right = keep[0] ** 2, keep[1] ** 2
    pulled = keep[0] * (1 - right) * away[0] + keep[1] * (1 - left) * away[1]
    return max(0.0, mean + pulled / (1 - left * right))
