"""Plain Python twins of the kernels after BYTEmark; both check that they solved their problem."""

from __future__ import annotations

import itertools

from gnomon.machines.operations import Code

from .log import Log, Places, Random, Values, logs

COPY, ROWS, COLUMNS, STARS, COVER, FIND, ADJUST, AUGMENT = range(1, 9)


class Tableau:
    """The Hungarian method with a log."""

    def __init__(self, log: Log, side: int, base: int, costs: list[list[int]]) -> None:
        self.log, self.side, self.base = log, side, base
        self.values = [row[:] for row in costs]
        self.star: dict[int, int] = {}  # column of a row
        self.prime: dict[int, int] = {}
        self.rows: set[int] = set()  # covered
        self.columns: set[int] = set()

    def cost(self, row: int, column: int) -> int:
        return self.base + 4 * self.side**2 + 4 * (row * self.side + column)

    def mark(self, which: int, number: int) -> int:
        """0: the star of a row, 1: that of a column, 2: the prime of a row."""
        return self.base + 8 * self.side**2 + 4 * (which * self.side + number)

    def cover(self, which: int, number: int) -> int:
        return self.base + 8 * self.side**2 + (12 + which) * self.side + number

    def starred_row(self, column: int) -> int | None:
        return next((row for row, each in self.star.items() if each == column), None)

    def copy(self, row: int) -> None:
        for column in range(self.side):
            self.log.load(self.base + 4 * (row * self.side + column), 4, COPY)
            self.log.store(self.cost(row, column), 4, COPY)
            self.log.turn(column + 1 < self.side, COPY)

    def reduce(self, cells: list[tuple[int, int]], site: int) -> None:
        least = self.values[cells[0][0]][cells[0][1]]
        self.log.load(self.cost(*cells[0]), 4, site)
        for i, (row, column) in enumerate(cells[1:], 2):
            self.log.load(self.cost(row, column), 4, site, waits=True)
            self.log.branch(self.values[row][column] < least, site)
            least = min(least, self.values[row][column])
            self.log.turn(i < self.side, site)
        for i, (row, column) in enumerate(cells, 1):
            self.values[row][column] -= least
            self.log.load(self.cost(row, column), 4, site)
            self.log.emit(Code.INTEGER, 1, site)
            self.log.store(self.cost(row, column), 4, site)
            self.log.turn(i < self.side, site)

    def set_star(self, row: int, column: int, site: int) -> None:
        self.star[row] = column
        self.log.store(self.mark(0, row), 4, site)
        self.log.store(self.mark(1, column), 4, site)

    def star_row(self, row: int) -> None:
        for column in range(self.side):
            zero = self.values[row][column] == 0
            self.log.load(self.cost(row, column), 4, STARS, waits=True)
            self.log.branch(zero, STARS)
            if zero:
                free = self.starred_row(column) is None
                self.log.load(self.mark(1, column), 4, STARS, waits=True)
                self.log.branch(free, STARS)
                if free:
                    self.set_star(row, column, STARS)
                    return
            self.log.turn(column + 1 < self.side, STARS)

    def cover_columns(self) -> bool:
        self.rows, self.columns, self.prime = set(), set(self.star.values()), {}
        for column in range(self.side):
            self.log.load(self.mark(1, column), 4, COVER, waits=True)
            self.log.branch(column in self.columns, COVER)
            self.log.store(self.cover(1, column), 1, COVER)
            self.log.store(self.cover(0, column), 1, COVER)
            self.log.turn(column + 1 < self.side, COVER, 2)
        return len(self.columns) == self.side

    def find(self) -> tuple[int, int] | int:
        """Return an uncovered zero, or the least uncovered value."""
        least = 2**31 - 1
        for row in range(self.side):
            self.log.load(self.cover(0, row), 1, FIND, waits=True)
            self.log.branch(row not in self.rows, FIND)
            for column in range(self.side if row not in self.rows else 0):
                self.log.load(self.cover(1, column), 1, FIND, waits=True)
                self.log.branch(column not in self.columns, FIND)
                if column not in self.columns:
                    cost = self.values[row][column]
                    self.log.load(self.cost(row, column), 4, FIND, waits=True)
                    self.log.branch(cost < least, FIND)
                    least = min(least, cost)
                    if cost == 0:
                        return row, column
                self.log.turn(column + 1 < self.side, FIND)
        return least

    def adjust(self, least: int) -> None:
        for row in range(self.side):
            self.log.load(self.cover(0, row), 1, ADJUST, waits=True)
            for column in range(self.side):
                change = (row in self.rows) + (column in self.columns) - 1
                self.log.load(self.cover(1, column), 1, ADJUST, waits=True)
                self.log.branch(change != 0, ADJUST)
                if change:
                    self.values[row][column] += change * least
                    self.log.load(self.cost(row, column), 4, ADJUST)
                    self.log.emit(Code.INTEGER, 1, ADJUST)
                    self.log.store(self.cost(row, column), 4, ADJUST)
                self.log.turn(column + 1 < self.side, ADJUST)

    def use(self, row: int, column: int) -> bool:
        self.prime[row] = column
        self.log.store(self.mark(2, row), 4, AUGMENT)
        self.log.load(self.mark(0, row), 4, AUGMENT, waits=True)
        self.log.branch(row in self.star, AUGMENT)
        if row in self.star:
            self.rows.add(row)
            self.columns.discard(self.star[row])
            self.log.store(self.cover(0, row), 1, AUGMENT)
            self.log.store(self.cover(1, self.star[row]), 1, AUGMENT)
            return False
        following: int | None = row
        while following is not None:
            row = following
            column = self.prime[row]
            following = self.starred_row(column)
            self.log.load(self.mark(1, column), 4, AUGMENT, waits=True)
            self.set_star(row, column, AUGMENT)
            self.log.branch(following is not None, AUGMENT)
            if following is not None:
                self.log.load(self.mark(2, following), 4, AUGMENT, waits=True)
        return True

    def solve(self) -> None:
        numbers = range(self.side)
        for row in numbers:
            self.copy(row)
            self.reduce([(row, column) for column in numbers], ROWS)
        for column in numbers:
            self.reduce([(row, column) for row in numbers], COLUMNS)
        for row in numbers:
            self.star_row(row)
        while not self.cover_columns():
            augmented = False
            while not augmented:
                found = self.find()
                if isinstance(found, int):
                    self.adjust(found)
                else:
                    augmented = self.use(*found)


def assignment(v: Values, at: Places, stride: int) -> list[Log]:
    side, threads = v["size"], logs(v)
    for t, log in enumerate(threads):
        random = Random(v["seed"], t)
        costs = [[random.below(5_000_000) for _ in range(side)] for _ in range(side)]
        for _ in range(v["iterations"]):
            tableau = Tableau(log, side, at["tableaus"] + t * stride, costs)
            tableau.solve()
            if side <= 6:
                best = min(
                    sum(costs[row][column] for row, column in enumerate(columns))
                    for columns in itertools.permutations(range(side))
                )
                assert sum(costs[row][column] for row, column in tableau.star.items()) == best
    return threads


COMPARE, SAVE, MOVE, OFFSETS, WRITE = range(1, 6)


class Strings:
    """Packed strings with a log; the length of a string goes before it."""

    def __init__(self, log: Log, size: int, base: int, random: Random) -> None:
        self.log, self.area = log, base
        self.offsets = base + -(-(size + 80) // 64) * 64
        self.saved = self.offsets + 4 * (size // 5 + 1)
        self.texts: list[bytes] = []
        while (left := size - sum(map(len, self.texts))) >= 5:
            length = min(4 + random.below(77), left - 1)
            text = bytes(1 + random.below(254) for _ in range(length))
            self.texts.append(bytes([length]) + text)

    def offset(self, which: int) -> int:
        return sum(map(len, self.texts[:which]))

    def less(self, a: int, b: int) -> bool:
        first, second = self.texts[a], self.texts[b]
        self.log.load(self.offsets + 4 * a, 4, COMPARE, waits=True)
        self.log.load(self.offsets + 4 * b, 4, COMPARE, waits=True)
        places = self.area + self.offset(a), self.area + self.offset(b)
        self.log.load(places[0], 1, COMPARE)
        self.log.load(places[1], 1, COMPARE, waits=True)
        for i in range(1, min(len(first), len(second))):
            self.log.load(places[0] + i, 1, COMPARE)
            self.log.load(places[1] + i, 1, COMPARE, waits=True)
            self.log.turn(first[i] == second[i], COMPARE, 2)
            if first[i] != second[i]:
                break
        return first[1:] < second[1:]

    def copy(self, to: int, source: int, size: int, site: int) -> None:
        words = size // 8
        pieces = [(8 * i, 8) for i in range(words)] + [(i, 1) for i in range(8 * words, size)]
        if to > source:
            pieces.reverse()
        for i, (offset, width) in enumerate(pieces, 1):
            self.log.load(source + offset, width, site)
            self.log.store(to + offset, width, site)
            self.log.turn(i < len(pieces), site)

    def replace(self, which: int, text: bytes, slot: int) -> None:
        old, place = len(self.texts[which]), self.area + self.offset(which)
        behind = sum(map(len, self.texts[which + 1 :]))
        self.log.load(place, 1, OFFSETS, waits=True)
        self.log.branch(old != len(text), OFFSETS)
        if old != len(text):
            self.copy(place + len(text), place + old, behind, MOVE)
            for i in range(which + 1, len(self.texts)):
                self.log.load(self.offsets + 4 * i, 4, OFFSETS)
                self.log.emit(Code.INTEGER, 1, OFFSETS)
                self.log.store(self.offsets + 4 * i, 4, OFFSETS)
                self.log.turn(i + 1 < len(self.texts), OFFSETS)
        self.copy(place, self.saved + slot, len(text), WRITE)
        self.texts[which] = text

    def exchange(self, a: int, b: int) -> None:
        first, second = self.texts[a], self.texts[b]
        for which, slot in ((a, 0), (b, 81)):
            self.log.load(self.offsets + 4 * which, 4, SAVE, waits=True)
            size = len(self.texts[which])
            self.copy(self.saved + slot, self.area + self.offset(which), size, SAVE)
        self.replace(a, second, 81)
        self.replace(b, first, 0)

    def sift(self, root: int, count: int) -> None:
        while (child := 2 * root + 1) < count:
            if child + 1 < count:
                right = self.less(child, child + 1)
                self.log.branch(right, COMPARE)
                child += right
            below = self.less(root, child)
            self.log.branch(below, COMPARE)
            if not below:
                return
            self.exchange(root, child)
            root = child


def string_sort(v: Values, at: Places, stride: int) -> list[Log]:
    threads = logs(v)
    for t, log in enumerate(threads):
        for _ in range(v["iterations"]):
            base = at["strings"] + t * stride
            strings = Strings(log, v["size"], base, Random(v["seed"], t))
            count = len(strings.texts)
            for i in reversed(range(count // 2)):
                strings.sift(i, count)
            for i in range(count - 1, 0, -1):
                strings.exchange(0, i)
                strings.sift(0, i)
            texts = [text[1:] for text in strings.texts]
            assert texts == sorted(texts)
    return threads
