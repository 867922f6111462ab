"""What recording costs the program that is recorded: 8 events, a hundred times a second."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    FailedError,
    MissingError,
    Note,
    Result,
    Row,
    Target,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import in_turn
from benchmarks.harness.tools import compiled, gnomon_program, program

_EVENTS = (
    "task-clock",
    "cpu-clock",
    "page-faults",
    "minor-faults",
    "major-faults",
    "context-switches",
    "cpu-migrations",
    "alignment-faults",
)
_INTERVAL = 10  # ms
_ROUNDS = 30
# Steps of work, for over a second: a recording is flushed to disk about once a second,
# and that has to be part of the cost.
_MILLIONS = 900
_LIMIT = 1.01

Times = tuple[float, float]
"""Seconds of wall-clock and of CPU time that the program measured of itself."""


def run(effort: Effort) -> Iterator[Result]:
    """Run the program alone, recorded, and under perf in turn; it tells its own time."""
    gnomon = gnomon_program()
    cpu = max(os.sched_getaffinity(0))
    missing: Exception | None = None
    with (
        compiled("busy.c") as busy,
        tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder,
    ):
        told = Path(folder) / "told"
        recording = Path(folder) / "busy.gnomon"
        alone = [str(busy), str(cpu), str(_MILLIONS), str(told)]
        events = ["-e", ",".join(_EVENTS)]
        options = ["-i", f"{_INTERVAL}ms", *events, "-o", str(recording), "--force"]
        recorded = [str(gnomon), "count", *options, "--", *alone]
        sides = {"alone": _timed(alone, told), "recorded": _timed(recorded, told)}
        try:
            perf = str(program("perf", "install linux-perf"))
            output = ["-o", str(Path(folder) / "perf.txt")]
            sides["perf"] = _timed(
                [perf, "stat", "-I", str(_INTERVAL), *events, *output, "--", *alone], told
            )
            sides["perf"]()  # a perf of another kernel may refuse to run
        except (MissingError, FailedError) as error:
            missing = error
            sides.pop("perf", None)
        times = {
            name: np.array(values)
            for name, values in in_turn(sides, effort.rounds(_ROUNDS)).items()
        }
        ticks = _ticks(recording)
    yield _row("recorded by gnomon at 100 Hz, wall-clock", times, "recorded", 0, Target(_LIMIT))
    yield _row("recorded by gnomon at 100 Hz, CPU time", times, "recorded", 1)
    if missing is None:
        yield _row("under `perf stat -I 10`, wall-clock", times, "perf", 0)
        yield _row("under `perf stat -I 10`, CPU time", times, "perf", 1)
    else:
        yield Note(f"not compared with perf stat -I: {missing}")
    expected = times["recorded"][-1, 0] * 1000 / _INTERVAL
    yield Note(f"the last recording holds {ticks} ticks where about {expected:.0f} were due")


def _row(
    quantity: str,
    times: dict[str, NDArray[np.float64]],
    side: str,
    clock: int,
    target: Target | None = None,
) -> Row:
    with_, without = times[side][:, clock], times["alone"][:, clock]
    return Row(
        quantity,
        quartiles(with_),
        "alone",
        quartiles(without),
        paired_ratio(with_, without),
        target,
    )


def _timed(argv: list[str], told: Path) -> Callable[[], Times]:
    return lambda: _run(argv, told)


def _run(argv: list[str], told: Path) -> Times:
    told.unlink(missing_ok=True)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError as error:
        raise FailedError(f"`{argv[0]}` cannot be run: {error.strerror}") from None
    if done.returncode != 0 or not told.exists():
        why = (done.stderr or done.stdout).strip().splitlines()
        raise FailedError(
            f"`{Path(argv[0]).name}` ended with {done.returncode}: {why[-1] if why else 'silent'}"
        )
    wall, cpu, _ = told.read_text(encoding="ascii").split()
    return float(wall), float(cpu)


def _ticks(path: Path) -> int:
    """Return how many moments were recorded: an overhead of nothing recorded is no result."""
    from gnomon.recording import Recording

    with Recording.open(path) as recording:
        [(ticks,)] = recording.sql("SELECT count(DISTINCT time) FROM readings").fetchall()
    return int(ticks)


BENCHMARK = Benchmark("overhead", "The cost of recording to the program recorded", run)
