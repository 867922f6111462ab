"""The same command counted by `perf stat` and by us, as far as the events allow."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys

import pytest

from gnomon.recording import Status, import_file
from gnomon.sources.perf.source import PerfSource

from .running import Run

pytestmark = pytest.mark.usefixtures("software_events")

# Work that hardly varies: a fixed number of steps, and the pages of a fixed buffer.
_PROGRAM = (
    sys.executable,
    "-S",
    "-c",
    "b = bytearray(30_000_000)\nfor _ in range(2_000_000): pass",
)
_ROUNDS = 3


@pytest.fixture(scope="module")
def perf() -> str:
    """The path of perf, or a visible skip."""
    found = shutil.which("perf")
    if found is None:
        pytest.skip("perf is not installed")
    trial = subprocess.run(
        [found, "stat", "-e", "page-faults", "true"], capture_output=True, check=False
    )
    if trial.returncode != 0:
        pytest.skip("perf is installed but does not work here")
    return found


def _by_perf(perf: str, event: str, command: tuple[str, ...]) -> tuple[int | None, Status]:
    words = [perf, "stat", "-x,", "-o", "stat.csv", "-e", event, "--", *command]
    subprocess.run(words, check=True, capture_output=True)
    [reading] = import_file("stat.csv").readings
    return reading.value, reading.status


def _by_gnomon(gnomon: Run, event: str, command: tuple[str, ...]) -> tuple[int | None, Status]:
    [row] = gnomon("count", "--json", "-e", event, "--", *command).json["results"]["counts"]
    return row["value"], Status(row["status"])


@pytest.mark.parametrize(
    ("event", "tolerance"),
    [
        ("page-faults:u", 0.05),
        ("minor-faults:u", 0.05),
        ("task-clock", 0.5),  # time depends on who else uses the CPU, even time on the CPU
        ("instructions:u", 0.01),
        ("branches:u", 0.01),
    ],
)
def test_both_count_the_same(gnomon: Run, perf: str, event: str, tolerance: float) -> None:
    if event.startswith(("instructions", "branches")) and not PerfSource().has_core_pmu:
        pytest.skip("this machine has no PMU")
    theirs, ours = [], []
    for _ in range(_ROUNDS):
        value, status = _by_perf(perf, event, _PROGRAM)
        assert (value is not None, status) == (True, Status.COUNTED)
        theirs.append(float(value or 0))
        value, status = _by_gnomon(gnomon, event, _PROGRAM)
        assert (value is not None, status) == (True, Status.COUNTED)
        ours.append(float(value or 0))
    # The least disturbed run of each says most about a cost that noise can only add to.
    assert min(ours) == pytest.approx(min(theirs), rel=tolerance)
    assert statistics.median(ours) == pytest.approx(statistics.median(theirs), rel=2 * tolerance)


@pytest.mark.parametrize("event", ["cycles", "branch-misses", "LLC-loads", "page-faults"])
def test_both_agree_on_what_can_be_counted(gnomon: Run, perf: str, event: str) -> None:
    theirs, _ = _by_perf(perf, event, ("true",))
    ours, status = _by_gnomon(gnomon, event, ("true",))
    assert (ours is None) == (theirs is None)
    assert (ours is None) == (status is not Status.COUNTED)


def test_both_forward_the_exit_status(gnomon: Run, perf: str) -> None:
    words = [perf, "stat", "-o", "stat.txt", "--", "sh", "-c", "exit 6"]
    # On a busy machine perf forgets the status of one short program in ten.
    runs = (subprocess.run(words, check=False, capture_output=True) for _ in range(10))
    theirs = next((run.returncode for run in runs if run.returncode), 0)
    assert gnomon("count", "--", "sh", "-c", "exit 6").code == theirs == 6
