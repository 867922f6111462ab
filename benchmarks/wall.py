"""What recording where wall time goes costs: the program that is recorded, and the recorder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
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
from benchmarks.harness.statistics import Summary, median_interval, paired_ratio, quartiles
from benchmarks.harness.timing import in_turn
from benchmarks.harness.tools import compiled
from gnomon.recording.wall import WallRecord
from gnomon.sources.abilities import WallOptions
from gnomon.sources.base import Command
from gnomon.sources.perf.source import PerfSource

_ROUNDS = 15
_MILLIONS = 700  # steps of work
_PROGRAM = Target(1.02)
_RECORDER = Target(0.01, Judged.VALUE)
_THREADS = Target(0.03, Judged.VALUE)
_WAYS = {
    "with perf": WallOptions(),
    "without perf": WallOptions(without_perf=True),
}
_PYTHON = "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nf(32)"


def run(effort: Effort) -> Iterator[Result]:
    """Run programs alone and recorded in turn; the recorder tells its own CPU time."""
    cpu = max(os.sched_getaffinity(0))
    with compiled("busy.c") as busy, tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        told = Path(folder) / "told"
        command = [str(busy), str(cpu), str(_MILLIONS), str(told)]
        for way, options in _WAYS.items():
            records: list[WallRecord] = []
            sides: dict[str, Callable[[], tuple[float, float]]] = {
                "alone": partial(_alone, command, told),
                "recorded": partial(_recorded, command, told, options, records),
            }
            times = {
                name: np.array(values)
                for name, values in in_turn(sides, effort.rounds(_ROUNDS)).items()
            }
            ours, peer = times["recorded"][:, 1], times["alone"][:, 1]
            ratio = paired_ratio(ours, peer)
            quantity = f"CPU-bound program recorded {way}, its CPU time"
            yield Row(quantity, quartiles(ours), "alone", quartiles(peer), ratio, _PROGRAM)
            yield from _recorder(f"a CPU-bound program {way}", records, _RECORDER)
    yield from _others(effort)


def _others(effort: Effort) -> Iterator[Result]:
    threads = "import threading, time\n"
    threads += "def nap():\n    for _ in range(20): time.sleep(0.1)\n"
    threads += "all = [threading.Thread(target=nap) for _ in range(1000)]\n"
    threads += "[t.start() for t in all]; [t.join() for t in all]"
    for what, code, target in (
        ("Python that computes", _PYTHON, None),
        ("1,000 threads of Python that wake up 10 times a second", threads, _THREADS),
    ):
        for way, options in _WAYS.items():
            records = [
                _record([sys.executable, "-c", code], options)
                for _ in range(effort.rounds(5, least=1))
            ]
            yield from _recorder(f"{what}, {way}", records, target)


def _recorder(what: str, records: list[WallRecord], target: Target | None) -> Iterator[Result]:
    share: NDArray[np.float64] = np.array(
        [r.facts.recorder_ns / (r.facts.end - r.facts.start) for r in records]
    )
    bounds: Summary = median_interval(share)
    yield Row(f"recorder of {what}, share of a CPU", bounds, target=target, unit=Unit.SHARE)
    lost = sum(record.facts.lost for record in records)
    moments = max(len(record.moments) for record in records)
    yield Note(f"{what}: {moments:,} moments, {lost} records lost", failed=bool(lost))


def _record(command: list[str], options: WallOptions) -> WallRecord:
    with PerfSource().record_wall(Command(tuple(command)), options) as recording:
        recording.start()
        recording.wait()
        recording.stop()
        return recording.record()


def _recorded(
    command: list[str], told: Path, options: WallOptions, records: list[WallRecord]
) -> tuple[float, float]:
    told.unlink(missing_ok=True)
    records.append(_record(command, options))
    return _times(command, told)


def _alone(command: list[str], told: Path) -> tuple[float, float]:
    told.unlink(missing_ok=True)
    subprocess.run(command, check=False)
    return _times(command, told)


def _times(command: list[str], told: Path) -> tuple[float, float]:
    if not told.exists():
        raise FailedError(f"`{Path(command[0]).name}` told no times")
    wall, cpu, _ = told.read_text(encoding="ascii").split()
    return float(wall), float(cpu)


BENCHMARK = Benchmark("wall", "The cost of recording wall time", run)
