"""`gnomon profile` and `gnomon regions`: samples and regions of a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .running import ENVELOPE, Run, one_sentence

pytestmark = pytest.mark.usefixtures("software_events")

_SPIN = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
_REGIONS = """\
import sys
import gnomon as gn

with gn.region("outer"):
    for _ in range(3):
        with gn.region("inner"):
            sum(range(1000))
print("done")
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""


@pytest.fixture
def script(folder: Path) -> str:
    """A program that marks regions."""
    (folder / "script.py").write_text(_REGIONS)
    return "script.py"


def test_a_profile_finds_samples_and_their_places(gnomon: Run) -> None:
    outcome = gnomon("profile", "--json", "-n", "3", "--", sys.executable, "-c", _SPIN)
    assert outcome.code == 0
    assert set(outcome.json) == ENVELOPE
    results = outcome.json["results"]
    assert results["event"].startswith("cpu-clock")
    assert results["samples"] > 10
    assert 0 < len(results["hits"]) <= 3
    assert all(hit["events"] == hit["samples"] * results["threshold"] for hit in results["hits"])


@pytest.mark.parametrize("by", ["function", "line", "module", "address"])
def test_a_profile_can_be_grouped(gnomon: Run, by: str) -> None:
    outcome = gnomon("profile", "--by", by, "--", sys.executable, "-c", _SPIN)
    assert outcome.code == 0
    assert "share" in outcome.out
    assert "samples of cpu-clock" in outcome.out


def test_a_profile_of_several_events_is_refused(gnomon: Run) -> None:
    outcome = gnomon("profile", "-e", "page-faults,cpu-clock", "--", "true")
    assert (outcome.code, outcome.out) == (2, "")
    assert "one at a time" in outcome.err


def test_own_times_and_costs_that_are_left_in(gnomon: Run, script: str) -> None:
    outcome = gnomon("regions", "--exclusive", "--raw", "--", script)
    assert "own time" in outcome.out
    assert "included above" in outcome.out
    rows = gnomon("regions", "--json", "--", script).json["results"]["regions"]
    outer, inner = sorted(rows, key=lambda row: len(row["path"]))
    assert outer["own"] == outer["wall"] - inner["wall"]
    assert 0 <= outer["own_corrected"] <= outer["own"]


def test_a_profile_of_a_running_process_ends_in_time(gnomon: Run) -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        outcome = gnomon("profile", "--json", "-p", str(process.pid), "-d", "200ms")
        process.kill()
    assert outcome.code == 0
    assert outcome.json["results"]["samples"] > 0


def test_a_profile_forwards_the_exit_status(gnomon: Run) -> None:
    assert gnomon("profile", "--", "sh", "-c", "exit 6").code == 6


def test_regions_are_counted_and_nested(gnomon: Run, script: str) -> None:
    outcome = gnomon("regions", "--json", "-e", "task-clock:u", "--", script)
    assert outcome.code == 0
    assert "done" in outcome.err
    found = {tuple(region["path"]): region for region in outcome.json["results"]["regions"]}
    assert set(found) == {("outer",), ("outer", "inner")}
    assert found["outer",]["instances"] == 1
    assert found["outer", "inner"]["instances"] == 3
    assert found["outer", "inner"]["wall"] <= found["outer",]["wall"]
    assert found["outer",]["raw"]["task-clock:u"] > 0


def test_regions_are_shown_by_their_path(gnomon: Run, script: str) -> None:
    outcome = gnomon("regions", "-e", "task-clock:u", "--", script)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert any(line.startswith("outer ") for line in lines)
    assert any(line.startswith("outer/inner ") for line in lines)


def test_a_run_forwards_the_exit_status(gnomon: Run, script: str) -> None:
    assert gnomon("regions", "-e", "task-clock:u", "--", script, "4").code == 4


def test_a_program_without_regions_is_told_how_to_mark_them(gnomon: Run) -> None:
    outcome = gnomon("regions", "--", "true")
    assert outcome.code == 1
    assert one_sentence(outcome.err)
    assert "gnomon.region" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("profile",), 2),
        (("regions",), 2),
        (("profile", "-e", "cycels", "--", "true"), 2),
        (("regions", "-e", "cycels", "--", "true"), 2),
        (("profile", "-c", "0", "--", "true"), 2),
        (("profile", "-p", "99999999"), 1),
        (("profile", "--", "no-such-program"), 127),
        (("regions", "--", "no-such-program"), 127),
        (("profile", "-d", "soon", "--", "true"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_sentence(gnomon: Run, arguments: tuple[str, ...], code: int) -> None:
    outcome = gnomon(*arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert one_sentence(outcome.err)
