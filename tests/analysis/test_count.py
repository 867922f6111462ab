"""`gnomon.count`, the way from a command to a result in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import gnomon as gn
from gnomon.errors import CommandError, UnknownEventError, UsageError
from gnomon.events.event import Request
from gnomon.measure.campaign import Progress
from gnomon.recording.contents import Reading, Status


@pytest.fixture(autouse=True)
def _countable() -> None:
    source = gn.source("host")
    [verdict] = source.availability([Request(source.resolve("page-faults")[0])])
    if not verdict.countable:
        pytest.skip(verdict.reason)


def test_a_command_is_a_list_of_words() -> None:
    result = gn.count(["true"], "page-faults:u")
    assert result.exit_status == 0
    assert not result.interrupted
    assert not result.nothing_counted
    faults = result["page-faults:u"]
    assert faults.status is Status.COUNTED
    assert faults.value is not None
    assert faults.value > 0


def test_a_text_is_refused_rather_than_split() -> None:
    with pytest.raises(UsageError, match="list of words"):
        gn.count("true")


def test_repeated_runs_are_all_kept() -> None:
    result = gn.count(["true"], "page-faults:u", repeat=3)
    assert len(result.runs) == len(result.elapsed) == 3
    assert len(result["page-faults:u"].values) == 3


def test_less_than_one_run_makes_no_sense() -> None:
    with pytest.raises(UsageError, match="--repeat must be at least 1"):
        gn.count(["true"], repeat=0)


def test_an_unknown_event_comes_with_suggestions() -> None:
    with pytest.raises(UnknownEventError) as raised:
        gn.count(["true"], "page-fualts")
    assert raised.value.name == "page-fualts"
    assert "page-faults" in raised.value.suggestions


def test_a_program_that_cannot_be_found_is_a_command_error() -> None:
    with pytest.raises(CommandError, match="no-such-program"):
        gn.count(["no-such-program"])


def test_times_are_texts_or_numbers(tmp_path: Path) -> None:
    for name, interval in (("text", "5ms"), ("number", 5_000_000)):
        gn.count(["sleep", "0.03"], "page-faults:u", interval=interval, output=tmp_path / name)
        with gn.Recording.open(tmp_path / name) as recording:
            assert recording.provenance.interval == 5_000_000
    for duration in ("50ms", 0.05):
        assert gn.count(["sleep", "600"], "page-faults:u", duration=duration).runs


def test_a_recording_holds_what_the_result_says(tmp_path: Path) -> None:
    result = gn.count(["true"], "page-faults:u", repeat=2, output=tmp_path / "run")
    with gn.Recording.open(tmp_path / "run") as recording:
        assert recording.runs == result.runs
        assert recording.provenance == result.provenance
        values = tuple(total.value for total in recording.totals())
    assert values == result["page-faults:u"].values


def test_readings_and_runs_can_be_followed_as_they_come() -> None:
    readings: list[Reading] = []
    told: list[Progress] = []
    result = gn.count(
        ["sleep", "0.03"],
        "page-faults:u",
        repeat=2,
        interval="5ms",
        on_readings=readings.extend,
        on_progress=told.append,
    )
    assert [(each.done, each.total) for each in told] == [(0, 2), (1, 2)]
    assert [each.task.run for each in told if each.task] == [info.run for info in result.runs]
    assert len(readings) > 2
    mean = sum(reading.value or 0 for reading in readings) / 2
    assert result["page-faults:u"].value == mean


def test_this_process_can_be_counted_from_a_thread_of_its_own() -> None:
    result = gn.count(gn.Thread(), "task-clock:u", duration=0.02)
    assert result.counts[0].scope.startswith("thread/")
