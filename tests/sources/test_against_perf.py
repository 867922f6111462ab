"""Side by side with perf stat, where it is installed and works."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys

import pytest

from gnomon.sources.base import Command

from .helpers import counted, open_counting, with_kernel

PROGRAMS = {
    "a shell that does nothing": ("/bin/sh", "-c", ":"),
    "a shell with children": ("/bin/sh", "-c", "/bin/sh -c ':'; /bin/sh -c ':'; :"),
    "an interpreter that touches pages": (
        sys.executable,
        "-c",
        "from gnomon import _native; _native.known_faults(3000)",
    ),
}


def _perf_stat(event: str, argv: tuple[str, ...]) -> int:
    result = subprocess.run(
        ["perf", "stat", "-x", ";", "-e", event, "--", *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in result.stderr.splitlines():
        fields = line.split(";")
        if len(fields) > 2 and fields[2].startswith(event):
            # perf gives clocks in milliseconds.
            scale = 1e6 if fields[1] == "msec" else 1
            return round(float(fields[0]) * scale)
    raise RuntimeError(result.stderr)


def _gnomon(event: str, argv: tuple[str, ...]) -> int:
    with open_counting(event, Command(argv)) as counting:
        counting.start()
        counting.wait()
        [reading] = counting.stop().readings
    return counted(reading)


@pytest.fixture(scope="module", autouse=True)
def _perf_works() -> None:
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    try:
        _perf_stat("page-faults", PROGRAMS["a shell that does nothing"])
    except (OSError, RuntimeError, ValueError) as error:
        pytest.skip(f"perf does not work here: {error}")


@pytest.mark.parametrize("event", ["page-faults", "minor-faults"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_faults_agree(event: str, program: str) -> None:
    argv = PROGRAMS[program]
    theirs = statistics.median(_perf_stat(event, argv) for _ in range(5))
    ours = statistics.median(_gnomon(event, argv) for _ in range(5))
    # Addresses are drawn anew for each run, and with them how many pages a program touches.
    assert abs(ours - theirs) <= max(8, theirs / 20)


def test_time_on_the_cpu_agrees() -> None:
    script = "from gnomon import _native; _native.known_loop(100_000_000)"
    argv = (sys.executable, "-c", script)
    ratios = [_gnomon("task-clock", argv) / _perf_stat("task-clock", argv) for _ in range(3)]
    assert 0.5 < statistics.median(ratios) < 2


@with_kernel
def test_context_switches_agree() -> None:
    argv = (sys.executable, "-c", "import time\nfor _ in range(100): time.sleep(1e-4)")
    theirs = statistics.median(_perf_stat("context-switches", argv) for _ in range(3))
    ours = statistics.median(_gnomon("context-switches", argv) for _ in range(3))
    assert ours >= 100
    assert abs(ours - theirs) <= theirs / 2
