"""Tracing real programs: beside lackey, and beside the program alone.

References are taken and thrown away as fast as possible. Program and reader are two processes
that work side by side: a time is the CPU time of the slower of them, which is what passes when
each has a processor of its own. Wall-clock times are in the notes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    FailedError,
    Judged,
    MissingError,
    Note,
    Result,
    Row,
    Target,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import in_turn
from benchmarks.harness.tools import PROGRAMS, program
from gnomon.errors import GnomonError
from gnomon.machines.operations import Code
from gnomon.machines.tracing import trace
from gnomon.machines.tracing.compiler import compiler_command

_ROUNDS = 10
_MILLION = 10**6
_REFERENCES = (Code.LOAD, Code.STORE, Code.ATOMIC)
_MOST_GROWTH = 64 << 20  # bytes, while 1 G references are streamed


@dataclass(frozen=True, slots=True)
class _Case:
    """A program with arguments for a long run, and for lackey a short one."""

    source: str
    title: str
    long: tuple[str, ...]
    short: tuple[str, ...]


_CASES = (
    _Case("triad.c", "triad of 48 MB", ("2", "40"), ("1", "0")),
    _Case("sort.c", "sorting 8 MB", ("2000",), ("5",)),
)


def run(effort: Effort) -> Iterator[Result]:
    """Trace two programs, then stream references for as long as memory could fill up."""
    gcc = program("gcc", "install gcc")
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        for case in _CASES:
            native, traced = Path(folder) / "native", Path(folder) / "traced"
            arguments = ["-O2", str(PROGRAMS / case.source), "-o"]
            _compile([str(gcc), *arguments, str(native)])
            try:
                _compile(compiler_command([*arguments, str(traced)], None, cxx=False))
            except GnomonError as error:
                raise MissingError(str(error)) from None
            yield from _program(case, native, traced, effort)
            if case is _CASES[0]:
                yield _growth(traced, 100 if effort.quick else 1000)


def _compile(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FailedError(f"`{command[0]}` ended with {done.returncode}: {done.stderr}")


def _program(case: _Case, native: Path, traced: Path, effort: Effort) -> Iterator[Result]:
    sides = {
        "alone": lambda: _alone([str(native), *case.long]),
        "idle": lambda: _alone([str(traced), *case.long]),
        "traced": lambda: _traced([str(traced), *case.long], "compiled"),
    }
    runs = in_turn(sides, effort.rounds(_ROUNDS))
    times = {name: np.array([run.seconds for run in some]) for name, some in runs.items()}
    references = runs["traced"][0].references
    each = times["traced"] * _MILLION / references
    most = Target(_MILLION / 50e6, Judged.VALUE)  # 50 million references a second
    yield Row(f"{case.title}: 1 M references traced", quartiles(each), target=most)
    for side, words, target in (
        ("traced", "traced", Target(10)),
        ("idle", "compiled for it, not traced", None),
    ):
        ratio = paired_ratio(times[side], times["alone"])
        alone = quartiles(times["alone"])
        quantity = f"  the whole program, {words}"
        yield Row(quantity, quartiles(times[side]), "alone", alone, ratio, target)
    passed = {name: float(np.median([run.passed for run in some])) for name, some in runs.items()}
    yield Note(
        f"{case.title}: {references / 1e6:.0f} M references, "
        f"{references / np.median(times['traced']) / 1e6:.0f} M/s; wall-clock "
        f"{passed['traced']:.2f} s traced, {passed['alone']:.2f} s alone"
    )
    yield from _beside_lackey(case, native, each)


def _beside_lackey(case: _Case, native: Path, ours: NDArray[np.float64]) -> Iterator[Result]:
    try:
        program("valgrind", "install valgrind")
    except MissingError as error:
        yield Note(f"not compared with lackey: {error}")
        return
    run = _traced([str(native), *case.short], "lackey")
    theirs = np.full(len(ours), run.seconds * _MILLION / run.references)
    ratio = paired_ratio(ours, theirs)
    yield Row(
        "  1 M references, beside lackey",
        quartiles(ours),
        "lackey, once",
        quartiles(theirs),
        ratio,
        Target(1 / 100),
    )
    yield Note(f"{case.title}: {1 / ratio.median:.0f} times as fast as lackey")


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: CPU seconds of program and reader, seconds that passed, references."""

    program: float
    reader: float
    passed: float
    references: int

    @property
    def seconds(self) -> float:
        return max(self.program, self.reader)


def _alone(argv: list[str]) -> _Run:
    before, start = _of_children(), time.perf_counter()
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise FailedError(f"`{argv[0]}` ended with {done.returncode}")
    return _Run(_of_children() - before, 0.0, time.perf_counter() - start, 0)


def _traced(argv: list[str], method: str) -> _Run:
    """Trace a program to its end."""
    before, began, start = _of_children(), time.thread_time(), time.perf_counter()
    silent = os.open(os.devnull, os.O_WRONLY)
    try:
        with trace(argv, stdout=silent, method=method) as traced:
            traced.release()
            counts = traced.tally()
            traced.wait()
            if traced.exit_status != 0:
                raise FailedError(f"`{argv[0]}` ended with {traced.exit_status}")
    finally:
        os.close(silent)
    reader, passed = time.thread_time() - began, time.perf_counter() - start
    references = sum(row[code] for row in counts for code in _REFERENCES)
    return _Run(_of_children() - before, reader, passed, references)


def _of_children() -> float:
    """Return the CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _growth(traced: Path, millions: int) -> Note:
    """Stream many references and say by how much this process grew meanwhile."""
    _traced([str(traced), "1", "1"], "compiled")
    before = _resident()
    references = _traced([str(traced), "1", str(millions // 3)], "compiled").references
    grown = _resident() - before
    text = f"{references / 1e9:.2f} G references streamed: {grown / 2**20:.1f} MB more memory"
    return Note(text, failed=grown > _MOST_GROWTH)


def _resident() -> int:
    """Return the most memory that this process ever had."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise MissingError("the kernel does not tell how large this process is")


BENCHMARK = Benchmark("tracing", "Tracing the references of real programs", run)
