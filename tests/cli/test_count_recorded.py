"""`gnomon count -o`: readings in a recording that finds its own name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.analysis.count.counting import free_recording
from gnomon.recording import Recording
from gnomon.sources.base import Command, Cpus, Process

from .running import Run, one_sentence


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_readings_are_kept_under_the_name_of_the_program(
    gnomon: Run, software_events: None
) -> None:
    outcome = gnomon("count", "-i", "10ms", "-e", "task-clock", "-o", "--", "sleep", "0.1")
    assert outcome.code == 0
    assert "`gnomon show sleep.gnomon`" in outcome.out
    with Recording.open("sleep.gnomon") as recording:
        assert recording.provenance.interval == 10_000_000
        assert len(recording) > 3


def test_a_name_that_is_taken_gets_a_number(gnomon: Run, software_events: None) -> None:
    for expected in ("true.gnomon", "true-2.gnomon", "true-3.gnomon"):
        outcome = gnomon("count", "--json", "-e", "task-clock", "-o", "--", "true")
        assert outcome.json["results"]["recording"] == expected
        assert outcome.json["results"]["counts"][0]["event"] == "task-clock"
        assert Path(expected).is_dir()


def test_a_recording_that_was_named_is_not_replaced_unasked(
    gnomon: Run, software_events: None
) -> None:
    words = ("count", "-e", "task-clock", "-o", "a", "--", "true")
    assert gnomon(*words).code == 0
    refused = gnomon(*words)
    assert refused.code == 1
    assert one_sentence(refused.err)
    assert gnomon("count", "--force", *words[1:]).code == 0


def test_the_exit_status_is_that_of_the_program(gnomon: Run, software_events: None) -> None:
    assert gnomon("count", "-e", "task-clock", "-o", "--", "sh", "-c", "exit 7").code == 7


def test_nothing_to_record_is_a_usage_error_and_leaves_nothing(gnomon: Run) -> None:
    outcome = gnomon("count", "-o")
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert gnomon("count", "-o", "-e", "cycels", "--", "true").code == 2
    assert gnomon("count", "-o", "-i", "soon", "--", "true").code == 2
    assert list(Path().iterdir()) == []


def test_names_come_from_what_is_recorded() -> None:
    assert free_recording(Command(("/usr/bin/python3", "x"))) == "python3.gnomon"
    assert free_recording(Command(("workload:triad", "threads=8"))) == "triad.gnomon"
    assert free_recording(Process(12)) == "process-12.gnomon"
    assert free_recording(Cpus()) == "cpus.gnomon"


def test_to_go_on_the_recording_must_be_named(gnomon: Run) -> None:
    outcome = gnomon("count", "-r", "3", "--resume", "-o", "--", "true")
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert "-o REC" in outcome.err


def test_the_old_commands_answer_with_the_new_ones(gnomon: Run) -> None:
    for old, new in (("record", "gnomon count -i 10ms -o"), ("serve", "gnomon report --serve")):
        outcome = gnomon(old, "--", "true")
        assert outcome.code == 2
        assert one_sentence(outcome.err)
        assert new in outcome.err
