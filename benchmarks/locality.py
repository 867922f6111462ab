"""The counter array of `gnomon locality`, and tracking of pages: how fast, how few records.

Times are CPU seconds a million accesses: the array is one thread that never waits.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import Benchmark, Effort, Judged, Note, Result, Row, Target
from benchmarks.harness.statistics import quartiles
from benchmarks.harness.timing import Timed, in_turn, interleaved
from gnomon import _native
from gnomon.analysis.locality.counters import CounterSetup, Scheme, decode
from gnomon.errors import GnomonError
from gnomon.sources.page_tracking import PageTracking

_ROUNDS = 15
_MILLION = 10**6
_PIECE = 3 * _MILLION  # accesses in one round
_AT_ONCE = 1 << 16  # before records are taken
_LONG = 60 * _MILLION  # of a stream whose records are counted
_MOST_SECONDS = _MILLION / 20e6  # 20 M accesses a second
_ZIPF_PAGES = 262_144
_MOST_ON_ZIPF = 50_000
_PLAIN_ON_ZIPF = 535_702  # known of this very stream
_RESIDENT = 1 << 30  # bytes that are tracked
_MOST_IDLE = 1e-3  # seconds a GB
_SETUPS = {
    "plain": CounterSetup(32),
    "hybrid": CounterSetup(32, scheme=Scheme.HYBRID),
}

Addresses = NDArray[np.uint64]
Columns = tuple[NDArray[np.int64], Addresses, NDArray[np.uint32], NDArray[np.uint8]]


def run(effort: Effort) -> Iterator[Result]:
    """Time the array, count its records on streams and on skewed pages, then track pages."""
    rounds = effort.rounds(_ROUNDS)
    yield from _speed(rounds)
    yield from _streams(_LONG // 10 if effort.quick else _LONG)
    yield from _skewed()
    yield from _tracking(rounds)


# -- accesses a second


def _speed(rounds: int) -> Iterator[Result]:
    kinds = {"triad": triad(_PIECE), "stencil": stencil(_PIECE), "zipf(1.2)": zipf(_PIECE)}
    sides = {
        f"{name}, {scheme}": _counting(columns(addresses), setup)
        for name, addresses in kinds.items()
        for scheme, setup in _SETUPS.items()
    }
    for name, seconds in interleaved(sides, rounds).items():
        target = Target(_MOST_SECONDS, Judged.VALUE)
        yield Row(f"1 M accesses through 32 counters: {name}", quartiles(seconds), target=target)
        yield Note(f"{name}: {1 / np.median(seconds):.0f} M accesses a second")


def _counting(given: Columns, setup: CounterSetup) -> Timed:
    """Count in pieces and take the records after each, as a monitor's software does."""
    pieces = [
        tuple(column[at : at + _AT_ONCE] for column in given)
        for at in range(0, len(given[0]), _AT_ONCE)
    ]

    def once() -> float:
        array = setup.native()
        begin = time.process_time()
        for piece in pieces:
            array.count(*piece)
            array.take()
        return (time.process_time() - begin) * _MILLION / len(given[0])

    return once


# -- records


@dataclass(frozen=True, slots=True)
class _Cost:
    accesses: int
    records: int
    exact: bool

    @property
    def a_million(self) -> float:
        return self.records * 1e6 / self.accesses


def _cost(addresses: Addresses, accesses: int, setup: CounterSetup) -> _Cost:
    """Send the same addresses again and again until there were enough."""
    array, counted = setup.native(), 0
    times, given, size, write = columns(addresses)
    while array.accesses < accesses:
        array.count(times + array.accesses, given, size, write)
        counted += int(decode(*array.take())["accesses"].sum())
    array.finish(array.accesses)
    counted += int(decode(*array.take())["accesses"].sum())
    return _Cost(array.accesses, array.flushed + array.at_end, counted == array.accesses)


def _streams(accesses: int) -> Iterator[Result]:
    for name, addresses in (("triad", triad(_PIECE)), ("stencil", stencil(_PIECE))):
        for scheme, setup in _SETUPS.items():
            cost = _cost(addresses, accesses, setup)
            few = scheme == "plain" or cost.a_million <= 1
            yield Note(
                f"{name}, {scheme}: {cost.records:,} records, {cost.a_million:.3g} a million of "
                f"{cost.accesses:,} accesses"
                + ("" if scheme == "plain" else "; at most 1 is the target"),
                failed=not (few and cost.exact),
            )


def _skewed() -> Iterator[Result]:
    addresses = zipf(_MILLION)
    plain, hybrid = (_cost(addresses, _MILLION, setup) for setup in _SETUPS.values())
    yield Note(
        f"zipf(1.2) over {_ZIPF_PAGES:,} pages, plain: {plain.records:,} records a million, "
        f"{plain.records - 32:,} of them flushed ({_PLAIN_ON_ZIPF:,} are known)",
        failed=plain.records - 32 != _PLAIN_ON_ZIPF,
    )
    yield Note(
        f"the same, hybrid: {hybrid.records:,} records, target at most {_MOST_ON_ZIPF:,}; totals "
        + ("exact" if hybrid.exact else "wrong"),
        failed=hybrid.records > _MOST_ON_ZIPF or not hybrid.exact,
    )


# -- tracking pages

_PROGRAM = """
import ctypes, mmap, random, sys
size, page = int(sys.argv[1]), mmap.PAGESIZE
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, size, page): memory[at] = 1
print(ctypes.addressof(ctypes.c_char.from_buffer(memory)), flush=True)
for line in sys.stdin:
    seed, count = map(int, line.split())
    for number in random.Random(seed).sample(range(size // page), count):
        memory[number * page + number % page] = 2
    print("done", flush=True)
"""


@contextmanager
def _resident(size: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yield a process that has so much memory, and where."""
    argv = [sys.executable, "-c", _PROGRAM, str(size)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def _tracking(rounds: int) -> Iterator[Result]:
    if _native.page_tracking_error():
        yield Note("pages are not tracked: this kernel cannot")
        return
    try:
        with (
            _resident(_RESIDENT) as (process, base),
            PageTracking.of_process(process.pid, reads=False) as tracking,
        ):
            yield from _idle(tracking, rounds)
            yield from _found(process, base, tracking)
    except GnomonError as error:
        yield Note(f"pages are not tracked: {error}")


def _idle(tracking: PageTracking, rounds: int) -> Iterator[Result]:
    def look() -> float:
        begin = time.perf_counter()
        tracking.forget()
        return (time.perf_counter() - begin) * 1e9 / _RESIDENT

    look()
    seconds = np.asarray(in_turn({"idle": look}, rounds)["idle"])
    target = Target(_MOST_IDLE, Judged.VALUE)
    yield Row("a look at 1 GB that was not written", quartiles(seconds), target=target)


def _found(process: subprocess.Popen[str], base: int, tracking: PageTracking) -> Iterator[Result]:
    import random

    assert process.stdin is not None
    assert process.stdout is not None
    pages = _RESIDENT // 4096
    written = missed = wrong = 0
    for seed, count in enumerate((1, 10, 1000, 20_000, 100)):
        process.stdin.write(f"{seed} {count}\n")
        process.stdin.flush()
        process.stdout.readline()
        tracking.tick()
        found = tracking.record().ticks[-1].pages(4096)
        inside = found[(found >= base) & (found < base + _RESIDENT)]
        told = {int(each) for each in (inside - np.uint64(base)) // np.uint64(4096)}
        truth = set(random.Random(seed).sample(range(pages), count))
        written += count
        missed += len(truth - told)
        wrong += len(told - truth)
    yield Note(
        f"{written - missed:,} of {written:,} written pages were found, and {wrong} that were not",
        failed=missed > 0 or wrong > 0,
    )


# -- streams of addresses


def triad(accesses: int) -> Addresses:
    """Return the addresses of a[i] = b[i] + c[i]."""
    at = np.arange(accesses // 3, dtype=np.uint64) * np.uint64(8)
    return np.stack([np.uint64(base << 32) + at for base in (1, 2, 3)], axis=1).reshape(-1)


def stencil(accesses: int) -> Addresses:
    """Return the addresses of a five-point stencil of one matrix into another."""
    side = round((accesses / 6) ** 0.5)
    inner = np.arange(1, side - 1)
    centre = (inner[:, None] * side + inner[None, :]).reshape(-1)
    reads = [(1 << 32) + 8 * (centre + offset) for offset in (-side, -1, 0, 1, side)]
    return np.stack([*reads, (2 << 32) + 8 * centre], axis=1).reshape(-1).astype(np.uint64)


def zipf(accesses: int) -> Addresses:
    """Return pages that are accessed with a probability of rank to the power of -1.2."""
    weights = 1 / np.arange(1, _ZIPF_PAGES + 1) ** 1.2
    shares = np.cumsum(weights / weights.sum())
    pages = np.searchsorted(shares, np.random.default_rng(0).random(accesses))
    return pages.astype(np.uint64) << np.uint64(12)


def columns(addresses: Addresses) -> Columns:
    """Return what a counter array is told: times, addresses, sizes, and whether they write."""
    count = len(addresses)
    written = np.zeros(count, np.uint8)
    return np.arange(count), addresses, np.full(count, 8, np.uint32), written


BENCHMARK = Benchmark("locality", "Counters that follow accesses, and tracked pages", run)
