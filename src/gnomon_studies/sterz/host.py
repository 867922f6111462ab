"""E3 on this host: the two loops compiled, counted by valgrind, and timed.

Valgrind counts exactly, in simulated caches without prefetching. Time is the only thing that
the kernel can count everywhere and that two orders change.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gnomon.analysis.compare import EventComparison, compare
from gnomon.analysis.study import Row, Verdict
from gnomon.errors import GnomonError
from gnomon.sources.base import Command
from gnomon_studies.sterz.changes import change_row
from gnomon_studies.verdicts import holds

SOURCE = """\
static float matrix[SIZE][SIZE];
int main(int argc, char **argv) {
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) matrix[y][x] = (float)(x ^ y);
    float sum = 0, sign = 1;
    if (argc > 1 && argv[1][0] == 'c') {
        for (int x = 0; x < SIZE; x++)
            for (int y = 0; y < SIZE; y++) { sum += sign * matrix[y][x]; sign = -sign; }
    } else {
        for (int y = 0; y < SIZE; y++)
            for (int x = 0; x < SIZE; x++) { sum += sign * matrix[y][x]; sign = -sign; }
    }
    return sum > 1e30f; /* never, but a compiler cannot know */
}
"""
_FLAGS = ("-O2",)
_RUNS = 10
_VALGRIND_RUNS = 2
_CONFIDENCE = 0.999
_VALGRIND = (
    ("valgrind::Ir", "instructions, by valgrind", 1.97, "+1.97 %"),
    ("valgrind::Bcm", "mispredicted branches, by valgrind", 3.22, "+3.22 %"),
    ("valgrind::D1mr", "L1 misses, by valgrind", 1000.0, "over +1,000 %"),
    ("valgrind::DLmr", "L3 misses, by valgrind", 50.0, "+50 %"),
)
_MEASURED = f"this host, cc {' '.join(_FLAGS)}"


def host_rows(size: int, seed: int) -> Iterator[Row]:
    """Yield what is found on this host, or a row that says why nothing is."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        yield _impossible("there is no C compiler on this host")
        return
    with tempfile.TemporaryDirectory(prefix="gnomon-study-") as folder:
        program = Path(folder) / "strided-sum"
        failure = _compile(compiler, size, program)
        if failure:
            yield _impossible(failure)
            return
        yield from _valgrind_rows(program)
        yield from _time_rows(program, seed)


def _compile(compiler: str, size: int, program: Path) -> str:
    """Compile the loops; return what went wrong, empty when nothing did."""
    source = program.with_suffix(".c")
    source.write_text(SOURCE)
    done = subprocess.run(
        [compiler, *_FLAGS, f"-DSIZE={size}", "-o", str(program), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.strip().splitlines() or ["no reason given"]
    return "" if done.returncode == 0 else f"the compiler of this host fails: {lines[0]}"


def _orders(program: Path) -> tuple[Command, Command]:
    return Command((str(program), "row")), Command((str(program), "column"))


def _valgrind_rows(program: Path) -> Iterator[Row]:
    from gnomon.sources.valgrind import ValgrindSource

    events = ",".join(event for event, *_ in _VALGRIND)
    try:
        found = compare(*_orders(program), events, repeat=_VALGRIND_RUNS, source=ValgrindSource())
    except GnomonError as error:
        yield _impossible(f"valgrind counts nothing on this host: {error}")
        return
    for event, quantity, published, text in _VALGRIND:
        yield change_row(quantity, published, text, found[event], _MEASURED)


def _time_rows(program: Path, seed: int) -> Iterator[Row]:
    try:
        found = compare(*_orders(program), "task-clock", repeat=_RUNS, seed=seed)["task-clock"]
    except (GnomonError, KeyError) as error:
        yield _impossible(f"this host does not count the time of a task: {error}")
        return
    yield change_row(
        "reference cycles, as CPU time", 77.63, "+77.63 %", found, f"{_MEASURED}; varies"
    )
    yield confidence_row(found)


def confidence_row(found: EventComparison) -> Row:
    """Return how sure a test is of the change in time."""
    p = 1.0 if found.p is None else found.p
    return holds(
        "E3",
        "confidence in the change of CPU time",
        "over 0.999",
        "over 0.999" if p <= 1 - _CONFIDENCE else f"{1 - p:.3f}",
        "at least 0.999",
        true=p <= 1 - _CONFIDENCE,
        note=f"this host, {_RUNS} runs each in turn, Welch's t; published for cycles",
    )


def _impossible(why: str) -> Row:
    return Row("E3", "the same on this host", None, "not done", "–", Verdict.NOT_REPRODUCED, why)
