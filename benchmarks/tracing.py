"""Tracing real programs: beside lackey, and beside the program alone.

Times are wall-clock time from the start of a program to the last of its references, taken and
thrown away as fast as possible: two processes that want a processor each.
"""

from __future__ import annotations

import os
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
from benchmarks.harness.timing import Timed, in_turn, process
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
        "alone": process([native, *case.long]),
        "idle": process([traced, *case.long]),
        "traced": _traced([str(traced), *case.long]),
    }
    times = {name: np.asarray(v) for name, v in in_turn(sides, effort.rounds(_ROUNDS)).items()}
    references = _references([str(traced), *case.long], "compiled")
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
    yield Note(f"{case.title}: {references / 1e6:.0f} M references, "
               f"{references / np.median(times['traced']) / 1e6:.0f} M/s")  # fmt: skip
    yield from _beside_lackey(case, native, each)


def _beside_lackey(case: _Case, native: Path, ours: NDArray[np.float64]) -> Iterator[Result]:
    try:
        program("valgrind", "install valgrind")
    except MissingError as error:
        yield Note(f"not compared with lackey: {error}")
        return
    argv = [str(native), *case.short]
    start = time.perf_counter()
    references = _references(argv, "lackey")
    theirs = np.full(len(ours), (time.perf_counter() - start) * _MILLION / references)
    yield Row(
        "  1 M references, beside lackey",
        quartiles(ours),
        "lackey, once",
        quartiles(theirs),
        paired_ratio(ours, theirs),
        Target(1 / 100),
    )


def _traced(argv: list[str]) -> Timed:
    def timed() -> float:
        start = time.perf_counter()
        _references(argv, "compiled")
        return time.perf_counter() - start

    return timed


def _references(argv: list[str], method: str) -> int:
    """Run a program to its end and return how many references it made."""
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
    return sum(row[code] for row in counts for code in _REFERENCES)


def _growth(traced: Path, millions: int) -> Note:
    """Stream many references and say by how much this process grew meanwhile."""
    _references([str(traced), "1", "1"], "compiled")
    before = _resident()
    references = _references([str(traced), "1", str(millions // 3)], "compiled")
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
