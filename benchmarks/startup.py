"""Starting the command line: what a user waits for before and after the work itself."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness.installed import installed
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
from benchmarks.harness.statistics import median_interval, paired_ratio, quartiles
from benchmarks.harness.timing import Timed, interleaved, process
from benchmarks.harness.tools import program

_ROUNDS = 60


def run(effort: Effort) -> Iterator[Result]:
    """Start everything in turn; Python's own start is measured with the same interpreter."""
    true = program("true", "install coreutils")
    missing: Exception | None = None
    with installed() as folder:
        python_program, gnomon = str(folder / "python"), str(folder / "gnomon")
        sides: dict[str, Timed] = {
            "python": process([python_program, "-c", "pass"]),
            "import": process([python_program, "-c", "import gnomon"]),
            "help": process([gnomon, "--help"]),
            "count": process([gnomon, "count", "--", true]),
        }
        try:
            perf = process([program("perf", "install linux-perf"), "stat", true])
            perf()  # a perf of another kernel may refuse to run
            sides["perf"] = perf
        except (MissingError, FailedError) as error:
            missing = error
        times = interleaved(sides, effort.rounds(_ROUNDS))

    python = quartiles(times["python"])
    yield Row("`python -c pass`", python)
    beyond = times["count"] - times["python"]
    if missing is None:
        perf_time = quartiles(times["perf"])
        yield Row(
            "`gnomon count -- true`, whole",
            quartiles(times["count"]),
            "`perf stat true`",
            perf_time,
            paired_ratio(times["count"], times["perf"]),
        )
        yield Row(
            "the same beyond Python's start",
            quartiles(beyond),
            "`perf stat true`",
            perf_time,
            median_interval(beyond / times["perf"]),
            Target(5.0),
        )
    else:
        yield Row("`gnomon count -- true`, whole", quartiles(times["count"]))
        yield Note(f"not compared with perf stat: {missing}")
    yield Row(
        "`gnomon --help`",
        quartiles(times["help"]),
        "`python -c pass`",
        python,
        paired_ratio(times["help"], times["python"]),
        Target(0.3, Judged.VALUE, strict=True),
    )
    yield Row("`import gnomon` beyond Python's start", quartiles(times["import"] - times["python"]))


BENCHMARK = Benchmark("startup", "Starting the command line", run)
