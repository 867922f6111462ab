"""Regions and event sets: what they cost in time and memory, beside the system calls alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import repeat
from time import perf_counter

from benchmarks.group_read import _EVENTS, _SOFTWARE, _group, _in_c
from benchmarks.harness.memory import resident
from benchmarks.harness.result import (
    Benchmark,
    Effort,
    Judged,
    MissingError,
    Note,
    Result,
    Row,
    Target,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import Timed, interleaved, per_call
from benchmarks.harness.tools import compiled
from gnomon import _native
from gnomon.instrument import regions
from gnomon.instrument.eventset import EventSet

_NAMES = "task-clock,page-faults,context-switches,cpu-migrations"
_CALLS = 2000
_CYCLES = 200
_ROUNDS = 300
_INSTANCES = 1_000_000
_MOST_GROWTH = 256 * 1024  # bytes: what the interpreter itself may move by


def run(effort: Effort) -> Iterator[Result]:
    """Time regions that count, regions that are switched off, and event sets."""
    if regions.switched_off():
        raise MissingError(f"{regions.SWITCH} switches regions off here: unset it")
    regions.configure(_NAMES)
    rounds = effort.rounds(_ROUNDS)
    yield from _counting(rounds)
    yield from _switched_off(rounds)
    yield _memory()
    yield from _event_sets(rounds)


def _entering(entered: AbstractContextManager[object]) -> Timed:
    """Return a side that enters and leaves in a loop: seconds a time, loop included."""

    def timed() -> float:
        start = perf_counter()
        for _ in repeat(None, _CALLS):
            with entered:
                pass
        return (perf_counter() - start) / _CALLS

    return timed


def _looping() -> float:
    start = perf_counter()
    for _ in repeat(None, _CALLS):
        pass
    return (perf_counter() - start) / _CALLS


def _counting(rounds: int) -> Iterator[Result]:
    group = _group(_SOFTWARE, [number for number, _ in _EVENTS])
    with compiled("group_read.c", "-shared", "-fPIC") as library:
        read = _in_c(library, group)
        sides = {
            "region": _entering(regions.region("benchmark")),
            "two reads": lambda: 2 * read(),
        }
        times = interleaved(sides, rounds)
    group.close()
    yield Row(
        "a region with 4 software events, begin and end",
        quartiles(times["region"]),
        "two read() of the group in C",
        quartiles(times["two reads"]),
        paired_ratio(times["region"], times["two reads"]),
        Target(2.5),
    )
    cost = regions.report().overhead
    yield Note(
        f"gnomon's own calibration: {cost.inside['time']:.0f} ns inside, "
        f"{cost.outside['time']:.0f} ns as the region around it sees it"
    )


def _calling() -> float:
    """Ask for the region by name each time, as most programs do."""
    named = _native.no_region
    start = perf_counter()
    for _ in repeat(None, _CALLS):
        with named("benchmark"):
            pass
    return (perf_counter() - start) / _CALLS


def _switched_off(rounds: int) -> Iterator[Result]:
    sides = {
        "off": _entering(_native.no_region("benchmark")),
        "asked for": _calling,
        "loop": _looping,
    }
    times = interleaved(sides, rounds)
    limit = Target(100e-9, Judged.VALUE, strict=True)
    for side, words in (
        ("off", "a switched-off region"),
        ("asked for", "the same, asked for by name each time"),
    ):
        yield Row(f"{words}, loop included", quartiles(times[side]), "100 ns", target=limit)
        rest = quartiles(times[side] - times["loop"])
        yield Row(f"{words}, loop subtracted", rest, "100 ns", target=limit)


def _memory() -> Note:
    entered = regions.region("memory")
    for _ in range(1000):
        with entered:
            pass
    before = resident()
    for _ in repeat(None, _INSTANCES):
        with entered:
            pass
    grown = resident() - before
    return Note(
        f"{_INSTANCES:,} instances of a region: resident memory {before / 1024:,.0f} KiB before, "
        f"{grown / 1024:+,.0f} KiB after (limit {_MOST_GROWTH / 1024:.0f} KiB)",
        failed=grown > _MOST_GROWTH,
    )


def _event_sets(rounds: int) -> Iterator[Result]:
    def event_set() -> None:
        with EventSet(_NAMES) as counters:
            counters.start()
            counters.stop()

    def system_calls() -> None:
        group = _group(_SOFTWARE, [number for number, _ in _EVENTS])  # opens and enables
        group.disable()
        group.read()
        group.close()

    sides = {"set": per_call(event_set, _CYCLES), "calls": per_call(system_calls, _CYCLES)}
    times = interleaved(sides, max(rounds // 10, 3))
    ours = quartiles(times["set"])
    yield Row(
        "an event set of 4 events: create, start, stop, close",
        ours,
        "the system calls alone",
        quartiles(times["calls"]),
        paired_ratio(times["set"], times["calls"]),
    )
    yield Note(f"that is {1 / ours.median:,.0f} event sets a second")


BENCHMARK = Benchmark("regions", "Regions and event sets", run)
