"""Cutting series into phases: beside pwlf (two lines that meet) and ruptures (free pieces).

The peers run in an environment of their own, in one process that waits for work. Ratios
are of wall-clock times at the same number of points; what a million points take is CPU
time, which is what a core of its own would need.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.peers import Ask, peer_program
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
from benchmarks.harness.statistics import median_interval, paired_ratio, quartiles
from benchmarks.harness.timing import interleaved
from gnomon import _native

_ROUNDS = 20
_PACKAGES = ("pwlf", "ruptures")
_MOST_SECONDS = 0.050  # of a million points
_LEAST = 3

Floats = NDArray[np.float64]


def run(effort: Effort) -> Iterator[Result]:
    """Time ours alone on a million points, then beside the peers."""
    yield from _million(effort.rounds(_ROUNDS))
    try:
        with (
            tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder,
            peer_program("segmentation", _PACKAGES, "segmentation_peers.py") as ask,
        ):
            yield from _beside_pwlf(effort.rounds(_ROUNDS), Path(folder), ask)
            yield from _beside_ruptures(effort.rounds(_ROUNDS), Path(folder), ask)
    except MissingError as error:
        yield Note(f"not compared with pwlf and ruptures: {error}")


def _two(points: int) -> tuple[Floats, Floats]:
    """Return a ramp that ends after two fifths, in noise."""
    x = np.arange(points, dtype=np.float64)
    noise = np.random.default_rng(1).normal(0, 0.02 * points, points)
    return x, np.minimum(x, 0.4 * points) + noise


def _three(points: int) -> tuple[Floats, Floats]:
    """Return a ramp, a level and a slower descent, in noise."""
    x = np.arange(points, dtype=np.float64)
    shape = np.minimum(x, 0.3 * points) - 0.5 * np.maximum(x - 0.7 * points, 0)
    return x, shape + np.random.default_rng(2).normal(0, 0.003 * points, points)


def _million(rounds: int) -> Iterator[Result]:
    x, y = _two(10**6)

    def free() -> float:
        start = time.process_time()
        _native.best_split(x, y[None], True, _LEAST)
        return time.process_time() - start

    def hinge() -> float:
        start = time.process_time()
        _native.best_hinge(x, y[None], _LEAST)
        return time.process_time() - start

    times = interleaved({"free": free, "hinge": hinge}, rounds)
    target = Target(_MOST_SECONDS, Judged.VALUE, strict=True)
    yield Row("1 M points, two free lines", quartiles(times["free"]), target=target)
    yield Row("1 M points, two lines that meet", quartiles(times["hinge"]))


def _saved(folder: Path, x: Floats, y: Floats) -> str:
    file = folder / f"{x.size}-{abs(hash(y.tobytes()))}.npy"
    np.save(file, np.stack((x, y)))
    return str(file)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _asked(ask: Ask, file: str) -> float:
    return float(ask(peer="pwlf", file=file)["seconds"])


def _beside_pwlf(rounds: int, folder: Path, ask: Ask) -> Iterator[Result]:
    for points, target in ((1_000, Target(1 / 1000)), (10_000, None)):
        x, y = _two(points)
        file = _saved(folder, x, y)
        found = ask(peer="pwlf", file=file)["breaks"][0]
        _, where, _ = _native.best_hinge(x, y[None], _LEAST)
        ours = partial(_seconds, partial(_native.best_hinge, x, y[None], _LEAST))
        times = interleaved({"ours": ours, "pwlf": partial(_asked, ask, file)}, rounds)
        ratio = paired_ratio(times["ours"], times["pwlf"])
        summaries = (quartiles(times["ours"]), quartiles(times["pwlf"]))
        name = f"{points:,} points, two lines that meet"
        yield Row(name, summaries[0], "pwlf", summaries[1], ratio, target)
        yield Note(
            f"{points:,} points: {1 / ratio.median:,.0f} times as fast as pwlf; the lines meet at "
            f"{where:.2f} (ours) and {found:.2f} (pwlf, by random search)"
        )


def _beside_ruptures(rounds: int, folder: Path, ask: Ask) -> Iterator[Result]:
    points = 1_000
    x, y = _three(points)
    file = _saved(folder, x, y)
    for line, name in ((True, "free lines"), (False, "levels")):
        # Once only: it takes half a minute.
        answer = ask(peer="ruptures", file=file, line=line, pieces=3)
        work = partial(_native.partitions, x, y[None], line, _LEAST, 3)
        ours = [_seconds(work) for _ in range(rounds)]
        breaks = work()[2][1]
        peer = float(answer["seconds"])
        ratio = median_interval(np.asarray(ours) / peer)
        quantity = f"{points:,} points, three {name}"
        yield Row(quantity, quartiles(ours), "ruptures", quartiles([peer]), ratio, Target(1 / 500))
        same = breaks == answer["breaks"]
        yield Note(
            f"three {name}: {1 / ratio.median:,.0f} times as fast as ruptures' Dynp; breaks "
            f"{breaks} (ours) and {answer['breaks']} (ruptures)",
            failed=not same,
        )


BENCHMARK = Benchmark("phases", "Cutting series into phases", run)
