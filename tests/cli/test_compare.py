"""`gnomon compare`: two commands in turn, two recordings, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.recording import Recording

from .running import ENVELOPE, Run, one_sentence

FEW = ("-c", "pass")
MANY = ("-c", "list(range(400000))")

pytestmark = pytest.mark.usefixtures("software_events")


def _compare(gnomon: Run, *options: str) -> str:
    done = gnomon(
        "compare", "-r", "5", "-e", "page-faults", *options, "--", "python3", *FEW, "--", "python3",
        *MANY,
    )  # fmt: skip
    assert done.code == 0, done.err
    return done.out


def test_two_commands_are_compared_and_recorded(gnomon: Run, folder: Path) -> None:
    out = _compare(gnomon, "-o", "both")
    [line] = [line for line in out.splitlines() if line.strip().startswith("page-faults")]
    assert line.rstrip().endswith("changed")
    assert "+" in line or "×" in line
    with Recording.open(folder / "both-a.gnomon") as a, Recording.open("both-b") as b:
        assert len(a.runs) == len(b.runs) == 5
        starts = sorted((run.start, side) for side, rec in enumerate((a, b)) for run in rec.runs)
    sides = [side for _, side in starts]
    assert all({sides[i], sides[i + 1]} == {0, 1} for i in range(0, 10, 2))
    again = gnomon("compare", "both-a.gnomon", "both-b.gnomon")
    assert again.code == 0
    assert "page-faults" in again.out


def test_the_json_holds_every_number(gnomon: Run) -> None:
    done = gnomon(
        "compare", "--json", "-r", "4", "-e", "page-faults", "--", "echo", "x", "--", "echo", "y"
    )
    assert set(done.json) == ENVELOPE
    results = done.json["results"]
    assert results["runs"] == [4, 4]
    row = next(row for row in results["rows"] if row["event"].startswith("page-faults"))
    assert {"ratio", "ratio_interval", "difference", "q", "verdict", "a", "b"} <= set(row)
    assert row["a"]["runs"] == 4


def test_existing_recordings_are_kept_unless_forced(gnomon: Run) -> None:
    command = ("compare", "-r", "2", "-e", "page-faults", "-o", "x", "--", "true", "--", "true")
    assert gnomon(*command).code == 0
    again = gnomon(*command)
    assert again.code == 2
    assert one_sentence(again.err)
    assert gnomon(*command[:1], "--force", *command[1:]).code == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "nothing to compare"),
        (("only.gnomon",), "nothing to compare"),
        (("--", "true"), "-- CMD_A -- CMD_B"),
        (("--", "true", "--"), "a command is empty"),
        (("--", "true", "--", "true", "--", "true"), "-- CMD_A -- CMD_B"),
        (("x.gnomon", "--", "true", "--", "true"), "not both"),
        (("-r", "0", "--", "true", "--", "true"), "--repeat must be at least 1"),
        (("--alpha", "7", "--", "true", "--", "true"), "between 0 and 1"),
        (("-e", "cycels", "--", "true", "--", "true"), "unknown event"),
        (("--timeout", "soon", "--", "true", "--", "true"), "not a duration"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    gnomon: Run, arguments: tuple[str, ...], reason: str
) -> None:
    done = gnomon("compare", *arguments)
    assert done.code == 2
    assert one_sentence(done.err)
    assert reason in done.err


def test_a_command_that_cannot_start_leaves_no_recording(gnomon: Run, folder: Path) -> None:
    done = gnomon("compare", "-o", "x", "--", "true", "--", "./not-there")
    assert done.code == 127
    assert one_sentence(done.err)
    assert list(folder.glob("*.gnomon")) == []


def test_a_run_that_takes_too_long_is_stopped_and_left_out(gnomon: Run) -> None:
    done = gnomon(
        "compare", "-r", "2", "--timeout", "2s", "-e", "page-faults", "--", "true", "--",
        "sleep", "20",
    )  # fmt: skip
    assert done.code == 0
    assert "all runs of B ended with exit status" in done.err
