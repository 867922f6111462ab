"""Commands that fail, hang or are gone at once, in all commands that run them repeatedly."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.recording import Recording

from .running import Run, one_sentence

pytestmark = pytest.mark.usefixtures("software_events")

ON_MACHINE = ("workload:strided-sum", "size=64")


def test_runs_that_hang_are_named_and_kept(gnomon: Run, folder: Path) -> None:
    done = gnomon(
        "compare", "-r", "2", "--timeout", "2s", "-o", "x", "--", "sleep", "60", "--", "true"
    )
    assert done.code == 0
    assert "A: 2 runs were stopped after 2 s" in done.err
    assert "B:" not in done.err.replace("of B", "")
    with Recording.open(folder / "x-a.gnomon") as recording:
        assert [run.exit_status for run in recording.runs] == [124, 124]


def test_a_scaling_that_hangs_everywhere_is_kept_and_says_what_would_help(
    gnomon: Run, folder: Path
) -> None:
    done = gnomon(
        "scale", "--param", "n=7,8,9", "-r", "1", "--timeout", "50ms", "-o", "x", "--", "sleep",
        "{n}",
    )  # fmt: skip
    assert done.code == 1
    assert one_sentence(done.err)
    assert "--timeout" in done.err
    with Recording.open(folder / "x.gnomon") as recording:
        assert len(recording.runs) == 3


def test_points_that_fail_are_left_out_without_complaints_of_numpy(gnomon: Run) -> None:
    command = ("sh", "-c", "test {n} -lt 8")
    done = gnomon("scale", "--param", "n=1,2,4,8,16", "-r", "1", "--", *command)
    assert done.code == 0
    assert "3 points of n" in done.out
    assert all(line.startswith("warning: ") for line in done.err.splitlines())
    assert "at n=16 1 of 1 runs failed (exit status 1)" in done.err


def test_phases_of_a_program_that_hangs_are_those_until_it_is_stopped(gnomon: Run) -> None:
    done = gnomon("phases", "-i", "5ms", "--timeout", "2s", "--", "sleep", "60")
    assert done.code == 124
    assert "phase" in done.out
    assert "was stopped after 2 s" in done.err


def test_phases_of_a_program_that_fails_say_so(gnomon: Run) -> None:
    done = gnomon("phases", "-i", "5ms", "--", "sh", "-c", "sleep 0.2; exit 4")
    assert done.code == 4
    assert "ended with status 4" in done.err


def test_a_program_that_fails_before_it_could_be_looked_at(gnomon: Run) -> None:
    done = gnomon("phases", "-i", "1s", "--", "false")
    assert done.code == 1
    assert one_sentence(done.err)
    assert "ended with status 1" in done.err


def test_phases_of_a_recording_take_no_timeout(gnomon: Run) -> None:
    done = gnomon("phases", "--timeout", "1s", "x.gnomon")
    assert done.code == 2
    assert "--timeout is for a program" in done.err


def test_one_run_each_is_too_few_and_needs_no_advice_to_take_turns(gnomon: Run) -> None:
    done = gnomon("compare", "-r", "1", "-e", "page-faults", "--", "true", "--", "true")
    assert done.code == 0
    assert "too few runs" in done.err
    assert "runs them in turn" not in done.err


def test_only_the_simulated_side_is_labelled(gnomon: Run) -> None:
    assert gnomon("count", "-o", "a", "-r", "2", "-e", "page-faults", "--", "true").code == 0
    on = ("count", "-o", "b", "--on", "smt-4", "-r", "2", "-e", "page-faults", "--")
    assert gnomon(*on, *ON_MACHINE).code == 0
    refused = gnomon("compare", "a.gnomon", "b.gnomon")
    assert refused.code == 2
    assert "--anyway" in refused.err
    done = gnomon("compare", "a.gnomon", "b.gnomon", "--anyway")
    first, second = (line for line in done.out.splitlines() if line[:3] in ("A: ", "B: "))
    assert "SIMULATED" not in first
    assert "SIMULATED" in second


def test_commands_are_compared_and_scaled_on_simulated_machines(gnomon: Run) -> None:
    compared = gnomon(
        "compare", "--on", "smt-4", "-r", "5", "-e", "cycles,L1-dcache-load-misses", "--json", "--",
        *ON_MACHINE, "order=row", "--", *ON_MACHINE, "order=column",
    ).json  # fmt: skip
    assert compared["simulated"]
    assert {row["event"] for row in compared["results"]["rows"]} == {
        "cycles",
        "L1-dcache-load-misses",
    }
    scaled = gnomon(
        "scale", "--on", "smt-4", "-r", "1", "--param", "n=16,32,64,96,128", "-e", "instructions",
        "--json", "--", "workload:strided-sum", "size={n}",
    ).json  # fmt: skip
    assert scaled["simulated"]
    assert scaled["results"]["rows"][0]["growth"] == "quadratic"
    refused = gnomon("scale", "--on", "smt-4", "x.gnomon")
    assert refused.code == 2
    assert one_sentence(refused.err)
