"""Messages on this host: beside small C programs, in order of mechanisms, and in time."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    FailedError,
    Judged,
    Note,
    Result,
    Row,
    Target,
    Unit,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import interleaved
from benchmarks.harness.tools import compiled
from gnomon.analysis.messages import bench
from gnomon.messaging.sessions import Phase, What, run_session

_KINDS = {"pipe": "pipe", "unix-stream": "unix", "tcp": "tcp", "signal": "signal"}
_ORDER = ("poll-pause", "futex", "unix-stream", "tcp")  # polling, futex-class, sockets, TCP
_WITHIN = 1.3
_BUDGET = 40_000_000  # ns
_MOST_SECONDS = 60.0
_MOST_ERROR = 0.10  # the median over sizes, of each mechanism


def run(effort: Effort) -> Iterator[Result]:
    """Compare with C, then the mechanisms with each other, then time all of them."""
    cpus = sorted(os.sched_getaffinity(0))
    pairs = {"one core": (cpus[0], cpus[0])}
    if len(cpus) > 1:
        pairs["two cores, idle"] = (cpus[0], cpus[1])
    else:
        yield Note("there is one CPU: nothing is compared between two cores")
    rounds = effort.rounds(25)
    with compiled("pingpong.c") as program:
        yield _beside_c("null system call", program, "null-call", pairs["one core"], rounds)
        for place, pair in pairs.items():
            for kind in _KINDS:
                yield _beside_c(f"{kind}, {place}", program, kind, pair, rounds)
    yield from _ordered(rounds, cpus)
    yield from _whole(effort)


def _beside_c(words: str, program: Path, kind: str, cpus: tuple[int, int], rounds: int) -> Row:
    times = interleaved({"ours": _ours(kind, *cpus), "C": _in_c(program, kind, *cpus)}, rounds)
    ratio = paired_ratio(times["ours"], times["C"])
    # Within 30 % means either way: the nearer bound is the one to judge.
    target = Target(_WITHIN) if ratio.median >= 1 else Target(1 / _WITHIN, at_least=True)
    return Row(words, quartiles(times["ours"]), "in C", quartiles(times["C"]), ratio, target)


def _ours(kind: str, left: int, right: int, *, awake: bool = False) -> Callable[[], float]:
    what = What.NULL_CALL if kind == "null-call" else What.ROUND_TRIP
    name = "futex" if kind == "null-call" else kind

    def timed() -> float:
        session = run_session(name, left, right, [Phase(what, 0, _BUDGET)], awake=awake)
        return session.phases[0].histogram.quantile(0.5) * 1e-9

    return timed


def _in_c(program: Path, kind: str, left: int, right: int) -> Callable[[], float]:
    def timed() -> float:
        command = [str(program), _KINDS.get(kind, kind), str(left), str(right), "1500"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise FailedError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
        return int(done.stdout) * 1e-9

    return timed


def _ordered(rounds: int, cpus: list[int]) -> Iterator[Result]:
    """Show that polling beats the futex, that beats sockets, and those beat TCP.

    On one core nothing but the kernel's path counts; polling needs two, where it stands beside
    the futex of one. Between two cores waking the other CPU can hide what futexes save.
    """
    one = cpus[0]
    sides = {name: _ours(name, one, one) for name in _ORDER[1:]}
    if len(cpus) > 1:
        sides[_ORDER[0]] = _ours(_ORDER[0], one, cpus[1], awake=True)
    yield from _chain("one core", interleaved(sides, rounds), hidden=())
    if len(cpus) > 1:
        sides = {name: _ours(name, one, cpus[1], awake=True) for name in _ORDER}
        yield from _chain("two cores, awake", interleaved(sides, rounds), hidden=("futex",))


def _chain(
    place: str, times: dict[str, NDArray[np.float64]], hidden: tuple[str, ...]
) -> Iterator[Row]:
    for faster, slower in itertools.pairwise(name for name in _ORDER if name in times):
        yield Row(
            f"{faster}, {place if faster != _ORDER[0] else 'two cores'}",
            quartiles(times[faster]),
            f"{slower}, {place}",
            quartiles(times[slower]),
            paired_ratio(times[faster], times[slower]),
            None if faster in hidden else Target(1.0, strict=True),
        )


def _whole(effort: Effort) -> Iterator[Result]:
    start = time.perf_counter()
    found = bench(duration="4s" if effort.quick else "40s")
    taken = time.perf_counter() - start
    target = Target(_MOST_SECONDS, Judged.VALUE)
    yield Row("all mechanisms and regimes", quartiles([taken]), target=target)
    names = dict.fromkeys(row.mechanism for row in found.rows)
    yield Note(f"{len(names)} mechanisms in {', '.join(found.regimes)}")
    errors = [(curve.hockney.error, curve.mechanism) for curve in found.curves]
    met = sum(error <= _MOST_ERROR for error, _ in errors)
    worst = max(errors)
    yield Row(
        f"error at sizes held out, {worst[1]} (the worst)",
        quartiles([worst[0]]),
        target=Target(_MOST_ERROR, Judged.VALUE),
        unit=Unit.SHARE,
    )
    yield Note(
        f"sizes held out of the fits: {met} of {len(errors)} mechanisms with a median error of "
        f"{_MOST_ERROR:.0%} or less"
    )
    yield from (Note(f"left out: {each.what} ({each.reason})") for each in found.left_out)
    yield from (Note(text) for text in found.warnings)


BENCHMARK = Benchmark("notify", "Messages between processes of this host", run)
