"""`gnomon count -i`: slices as they come, or kept in a recording."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gnomon.recording import Recording

from .running import Run

pytestmark = pytest.mark.usefixtures("software_events")

_LINE = re.compile(r"\s*(\d+\.\d{3})s\s+([\d,]+|–)")


def test_every_slice_is_a_line_under_a_heading(gnomon: Run) -> None:
    outcome = gnomon("count", "-i", "20ms", "-e", "page-faults", "--", "sleep", "0.2")
    heading, *rest = outcome.out.splitlines()
    time, event = heading.split()
    assert (time, event.partition(":")[0]) == ("time", "page-faults")
    slices = [match for line in rest if (match := _LINE.fullmatch(line))]
    assert len(slices) >= 3
    times = [float(match[1]) for match in slices]
    assert times == sorted(times)


def test_slices_add_up_to_the_total(gnomon: Run) -> None:
    outcome = gnomon("count", "-i", "20ms", "-e", "page-faults", "--", "sleep", "0.1")
    slices = [match for line in outcome.out.splitlines() if (match := _LINE.fullmatch(line))]
    [total] = re.findall(r"page-faults\S*\s+([\d,]+)\s+100 %", outcome.out)
    assert sum(int(match[2].replace(",", "")) for match in slices) == int(total.replace(",", ""))


def test_json_is_one_object_with_totals(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-i", "20ms", "-e", "page-faults", "--", "sleep", "0.1")
    assert outcome.json["results"]["counts"][0]["value"] > 0


def test_a_recording_keeps_every_slice(gnomon: Run, folder: Path) -> None:
    outcome = gnomon(
        "count", "-i", "20ms", "-e", "page-faults", "-o", "run.gnomon", "--", "sleep", "0.2"
    )
    assert outcome.code == 0
    assert "`gnomon show run.gnomon` shows it again" in outcome.out
    with Recording.open(folder / "run.gnomon") as recording:
        assert recording.complete
        assert recording.provenance.interval == 20_000_000
        assert recording.provenance.command == ("sleep", "0.2")
        assert len(recording) >= 3
        times = [reading.time for reading in recording.readings()]
    assert times == sorted(times)


def test_the_table_and_the_recording_agree(gnomon: Run) -> None:
    arguments = ("-i", "20ms", "-e", "page-faults,task-clock", "-o", "run", "--json")
    counted = gnomon("count", *arguments, "--", "sleep", "0.1").json["results"]["counts"]
    assert gnomon("show", "run", "--json").json["results"]["totals"] == counted


def test_each_run_starts_afresh(gnomon: Run, folder: Path) -> None:
    gnomon("count", "-r", "2", "-i", "20ms", "-e", "page-faults", "-o", "r", "--", "sleep", "0.1")
    with Recording.open(folder / "r.gnomon") as recording:
        assert [run.run for run in recording.runs] == [0, 1]
        totals = {total.run: total.value for total in recording.totals()}
    assert all(value and value > 0 for value in totals.values())


def test_a_program_shorter_than_the_interval_is_counted_whole(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-i", "30s", "-e", "page-faults", "--", "true")
    assert outcome.code == 0
    assert outcome.json["results"]["counts"][0]["value"] > 0
