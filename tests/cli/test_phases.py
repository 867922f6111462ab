"""`gnomon phases`: run a program, or take a recording, and see its phases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from .running import ENVELOPE, Run, one_sentence

# The second half takes as long as the first, however long the machine makes that.
RAMP = """
import os, time
held = []
begin = time.perf_counter()
for _ in range(60):
    held.append(bytearray(4 << 20))
    time.sleep(0.01)
end = begin + 2 * (time.perf_counter() - begin)
while time.perf_counter() < end:
    sum(range(1000))
os._exit(0)
"""
MIB = 2**20

pytestmark = pytest.mark.usefixtures("software_events")


def test_a_ramp_then_computing_are_two_phases(gnomon: Run, folder: Path) -> None:
    """The interpreter's own start may be one more, and so may a stall on a busy machine."""
    program = (sys.executable, "-c", RAMP)
    shown = gnomon("phases", "-e", "task-clock,page-faults", "-o", "run", "--", *program)
    assert shown.code == 0
    assert "footprint:rss" in shown.out
    assert "footprint:rss grows to" in shown.out or "is highest in" in shown.out
    assert (folder / "run.gnomon").is_dir()
    *ramp, level = gnomon("phases", "run", "--json").json["results"]["phases"]
    assert 0.35 < level["start"] / level["end"] < 0.85
    first, plateau = ramp[0]["fits"][0]["first"], level["fits"][0]
    assert plateau["first"] - first > 150 * MIB
    assert abs(plateau["last"] - plateau["first"]) < 24 * MIB
    assert 10 * _faults(level) < sum(_faults(each) for each in ramp)


def _faults(phase: dict[str, Any]) -> float:
    [value] = [each["value"] for each in phase["counts"] if each["event"] == "page-faults"]
    return float(value)


def test_an_event_splits_as_the_footprint_does(gnomon: Run) -> None:
    on_machine = ("phases", "--on", "laptop", "--json")
    content = gnomon(*on_machine, "--by", "page-faults", "--", "workload:ramp-compute").json
    *ramp, level = content["results"]["phases"]
    assert ramp
    assert level["fits"][0]["series"] == "page-faults"
    assert level["fits"][0]["first"] == 0


def test_json_has_the_envelope_and_every_choice(gnomon: Run) -> None:
    content = gnomon("phases", "--json", "--", "sleep", "0.3").json
    assert set(content) == ENVELOPE
    assert content["command"] == "phases"
    results = content["results"]
    assert results["decision"].startswith("one phase")
    assert [choice["chosen"] for choice in results["choices"]].count(True) == 1
    assert results["time_unit"] == "ns"


def test_the_exit_status_is_that_of_the_program(gnomon: Run) -> None:
    script = "import time, sys; time.sleep(0.3); sys.exit(7)"
    assert gnomon("phases", "--", sys.executable, "-c", script).code == 7


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("phases",), 2, "nothing to split"),
        (("phases", "missing.gnomon"), 1, "does not exist"),
        (("phases", "x", "--", "true"), 2, "choose one"),
        (("phases", "x", "-i", "1ms"), 2, "-i is for a program"),
        (("phases", "--run", "1", "--", "true"), 2, "--run selects"),
        (("phases", "--max", "0", "--", "sleep", "0.2"), 2, "must be at least 1"),
        (("phases", "--", "no-such-program"), 127, "cannot run 'no-such-program'"),
        (("phases", "-i", "1s", "--", "true"), 1, "ended before the first one"),
        (("phases", "-i", "20ms", "--", "sleep", "0.1"), 1, "too few to split"),
        (("phases", "--by", "nonsense", "--", "sleep", "0.2"), 2, "unknown event 'nonsense'"),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    gnomon: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    outcome = gnomon(*arguments)
    assert outcome.code == code
    assert words in outcome.err
    assert one_sentence(outcome.err)


def test_a_recording_without_a_footprint_says_how_to_get_one(gnomon: Run) -> None:
    gnomon("count", "-e", "task-clock", "-i", "10ms", "-o", "plain", "--", "sleep", "0.2")
    outcome = gnomon("phases", "plain")
    assert outcome.code == 2
    assert "no footprint" in outcome.err
    assert one_sentence(outcome.err)


def test_a_recording_made_by_an_earlier_gnomon_is_split(gnomon: Run, folder: Path) -> None:
    earlier = Path(__file__).parents[1] / "recordings" / "phases.gnomon"
    done = gnomon("phases", str(earlier), "--html", "page.html")
    assert done.code == 0, done.err
    assert done.out.startswith("5 phases until 654 ms, from 0, 60.4 ms, 85.4 ms, 335 ms, 625 ms")
    assert "11,269" in done.out
    assert "footprint:rss is highest in 4" in (folder / "page.html").read_text("utf-8")
