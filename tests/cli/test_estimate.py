"""`gnomon estimate` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gnomon.recording import Recording

from .running import Run

EVENTS = "branches,branch-misses,L1-dcache-loads,cache-misses"
LAPTOP = ("--on", "laptop", "-e", EVENTS, "--registers", "1", "-i", "3us")
WORK = ("--", "workload:bfs", "size=1024")


def test_a_run_is_recorded_and_shown_again(gnomon: Run, tmp_path: Path) -> None:
    done = gnomon("estimate", *LAPTOP, "-o", "run", *WORK)
    assert done.code == 0, done.err
    assert done.out.startswith("SIMULATED workload:bfs size=1024: 6 events in 4 sets")
    assert "~ marks totals estimated" in done.out
    assert "branch_misprediction_rate" in done.out
    shown = gnomon("estimate", "run")
    assert shown.out == _without_cost(done.out.partition("recorded;")[0])
    with Recording.open(tmp_path / "run.gnomon") as recording:
        assert len(recording.provenance.sets) == 4
        assert recording.complete


def test_without_an_output_nothing_is_left(gnomon: Run, tmp_path: Path) -> None:
    done = gnomon("estimate", *LAPTOP, *WORK)
    assert done.code == 0, done.err
    assert "recorded" not in done.out
    assert not list(tmp_path.iterdir())


def _without_cost(text: str) -> str:
    """Return what is shown, without what is known only while a run goes on."""
    return "".join(line for line in text.splitlines(True) if "of one CPU" not in line)


def test_json_labels_what_is_estimated(gnomon: Run) -> None:
    done = gnomon("estimate", *LAPTOP, "--json", "-o", "run", *WORK)
    results = done.json["results"]
    assert done.json["simulated"] is True
    assert results["readings"]["layout"]["fixed"] == ["instructions", "cycles"]
    rows = {row["event"]: row for row in results["events"]}
    assert rows["cycles"]["estimated"] is False
    assert rows["branches"]["estimated"] is True
    assert rows["branches"]["low"] <= rows["branches"]["total"] <= rows["branches"]["high"]
    smooth = gnomon("estimate", "run", "--smooth", "--json").json["results"]
    assert smooth["smoothed"] is True
    assert smooth["ticks"] == results["ticks"]


def test_watching_prints_a_line_a_tick(gnomon: Run) -> None:
    done = gnomon("estimate", "--watch", *LAPTOP, *WORK)
    assert done.code == 0, done.err
    head, *lines = done.out.splitlines()
    assert head.split() == ["time", "instructions", "cycles", *sorted_like(head)]
    assert len(lines) > 10
    assert "–" in lines[0]
    assert "~" in lines[-1]


def sorted_like(head: str) -> list[str]:
    return [name for name in head.split() if name in EVENTS.split(",")]


def test_watching_as_json_gives_an_object_a_tick(gnomon: Run) -> None:
    done = gnomon("estimate", "--watch", "--json", *LAPTOP, *WORK)
    ticks = [json.loads(line) for line in done.out.splitlines()]
    unread = [event["value"] is None for event in ticks[0]["events"].values()]
    assert unread == [event["status"] == "not read yet" for event in ticks[0]["events"].values()]
    assert (len(unread), sum(unread)) == (6, 3)
    last = ticks[-1]["events"].values()
    assert [event["status"] for event in last].count("estimated") == 3
    assert all(event["low"] <= event["value"] <= event["high"] for event in last)
    assert ticks[-1]["simulated"] is True
    assert ticks[-1]["metrics"]["ipc"]["value"] > 0


def test_a_report_has_the_estimates(gnomon: Run, tmp_path: Path) -> None:
    gnomon("estimate", *LAPTOP, "-o", "run", *WORK)
    done = gnomon("estimate", "run", "--html", "run.html")
    assert done.code == 0, done.err
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "Estimates over time" in page
    assert "SIMULATED" in page
    assert "workload:bfs size=1024: 6 events in 4 sets" in page
    assert "the estimate with its 90 % interval, and the readings" in page
    assert gnomon("report", "run", "-o", "other.html").code == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("-e", "page-faults"), "nothing to measure"),
        ((*LAPTOP, "--weight", "branches", *WORK), "'branches' is not a weight"),
        ((*LAPTOP, "--weight", "cycles=2", *WORK), "'cycles' takes no turns"),
        ((*LAPTOP, "--model", "oracle", *WORK), "'oracle' is not a model"),
        ((*LAPTOP, "-i", "0", *WORK), "interval"),
        (("nowhere",), "does not exist"),
        (("a", "b"), "give one recording"),
        (("a", *WORK), "choose one"),
        (("a", "-i", "5ms"), "-i is for a program to run"),
        (("--smooth", *LAPTOP, *WORK), "are for a recording"),
        (("--store", *LAPTOP, *WORK), "--store is for `gnomon estimate identify`"),
        (("--watch", "-o", "a", *LAPTOP, *WORK), "-o keeps what --watch only shows"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(
    gnomon: Run, arguments: tuple[str, ...], text: str
) -> None:
    done = gnomon("estimate", *arguments)
    assert done.code in (1, 2)
    assert text in done.err
    assert "Traceback" not in done.err


def test_another_recording_has_no_state(gnomon: Run) -> None:
    gnomon("count", "--on", "laptop", "-i", "10us", "-o", "plain", *WORK)
    done = gnomon("estimate", "plain")
    assert done.code == 2
    assert "has no sets that took turns" in done.err


def test_a_plain_look_at_the_recording_scales_what_took_turns(gnomon: Run) -> None:
    gnomon("estimate", *LAPTOP, "-o", "run", *WORK)
    done = gnomon("show", "run", "--readings", "--json")
    rows = {row["event"]: row for row in done.json["results"]["totals"]}
    assert rows["branches"]["status"] == "scaled"
    assert rows["cycles"]["status"] == "counted"
    assert 0.1 < rows["branches"]["running"] < 0.5


def test_a_survey_in_one_run_is_estimated(gnomon: Run) -> None:
    done = gnomon(
        *("survey", "--one-run", "-r", "1", "--on", "laptop", "-i", "3us", "--json"),
        *("-o", "s", "--", "workload:bfs", "size=1024"),
    )
    assert done.code == 0, done.err
    assert done.json["results"]["one_run"] is True
    rows = {row["event"]: row for row in done.json["results"]["rows"]}
    row = rows["branches"]
    assert row["status"] == "estimated"
    assert row["interval"][0] <= row["mean"] <= row["interval"][1]
    assert rows["instructions"]["status"] == "counted"
    assert rows["instructions"]["interval"] is None
