"""What twins of the native generators write their operations to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnomon.machines.operations import WAITS, Code

TRAPS = 2
MASK = (1 << 64) - 1

Op = tuple[int, int, int, int, int]
Values = Mapping[str, Any]
Places = Mapping[str, int]


class Log(list[Op]):
    """The operations of one thread: (code, value, size, site, flags)."""

    def load(self, address: int, size: int, site: int, *, waits: bool = False) -> None:
        self.append((Code.LOAD, address, size, site, WAITS if waits else 0))

    def store(self, address: int, size: int, site: int) -> None:
        self.append((Code.STORE, address, size, site, 0))

    def atomic(self, address: int, size: int, site: int) -> None:
        self.append((Code.ATOMIC, address, size, site, WAITS))

    def emit(self, code: Code, instructions: int, site: int, flags: int = 0) -> None:
        if instructions:
            self.append((code, instructions, 0, site, flags))

    def branch(self, taken: bool, site: int) -> None:
        self.emit(Code.BRANCH_TAKEN if taken else Code.BRANCH_NOT_TAKEN, 1, site)

    def turn(self, more: bool, site: int, integers: int = 1) -> None:
        self.emit(Code.INTEGER, integers, site)
        self.branch(more, site)

    def barrier(self, threads: int, name: int = 1) -> None:
        self.append((Code.BARRIER, name, 0, threads, 0))


class Random:
    """The splitmix64 generator."""

    def __init__(self, seed: int, stream: int | None = None) -> None:
        self.state = seed
        if stream is not None:
            self.state = Random(seed).next() ^ (stream * 0xD1342543DE82EF95 & MASK)

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        return z ^ (z >> 31)

    def below(self, bound: int) -> int:
        return self.next() * bound >> 64

    def unit(self) -> float:
        return (self.next() >> 11) / 2**53


def part(count: int, threads: int, thread: int) -> range:
    """What a thread has of so many things."""
    return range(count * thread // threads, count * (thread + 1) // threads)


def logs(v: Values) -> list[Log]:
    """An empty log for each thread."""
    return [Log() for _ in range(v["threads"])]


def fill(log: Log, base: int, numbers: range, size: int, site: int) -> None:
    """Write elements of an array in order."""
    for i in numbers:
        log.store(base + i * size, size, site)
        log.turn(i + 1 < numbers.stop, site)


def prepare(threads: list[Log], v: Values, bases: list[int], count: int, size: int) -> None:
    """Write whole arrays before the work begins."""
    if v["init"] == "none":
        return
    for t, log in enumerate(threads):
        if v["init"] == "parallel":
            for base in bases:
                fill(log, base, part(count, len(threads), t), size, 1)
        elif t == 0:
            for base in bases:
                fill(log, base, range(count), size, 1)
        log.barrier(len(threads))
