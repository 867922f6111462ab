"""`gnomon count` with valgrind: chosen by name or by events, with the program left as it is."""

from __future__ import annotations

import pytest

from gnomon.sources.valgrind.source import ValgrindSource

from .running import Run, as_program, one_sentence


@pytest.fixture(autouse=True)
def _works() -> None:
    if not (installation := ValgrindSource().installation).works:
        pytest.skip(installation.reason)


def test_events_of_valgrind_choose_it(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-e", "valgrind::instructions", "--", "true")
    assert outcome.code == 0
    assert (outcome.json["source"], outcome.json["simulated"]) == ("valgrind", True)
    assert outcome.rows["valgrind::Ir"]["value"] > 1000
    assert outcome.rows["valgrind::Ir"]["status"] == "counted"


def test_the_source_can_be_named(gnomon: Run) -> None:
    outcome = gnomon("count", "--on", "valgrind", "--", "true")
    assert outcome.code == 0
    assert outcome.out.startswith("SIMULATED true: counted by valgrind")
    assert "valgrind::Ir" in outcome.out and "valgrind::Bcm" in outcome.out


def test_output_and_exit_status_are_the_programs_own() -> None:
    script = "echo out; echo err >&2; exit 7"
    outcome = as_program("count", "-e", "valgrind::Ir", "--", "sh", "-c", script)
    assert outcome.code == 7
    assert outcome.out.startswith("out\n")
    assert outcome.err == "err\n"


def test_slices_have_no_value_before_the_end(gnomon: Run) -> None:
    outcome = gnomon("count", "-e", "valgrind::Ir", "-i", "20ms", "--", "true")
    _, first, *_ = outcome.out.splitlines()
    assert first.split()[-1] == "–"
    assert "has ended" in outcome.err


def test_a_recording_keeps_version_and_caches(gnomon: Run) -> None:
    assert gnomon("count", "-e", "valgrind::D1mr", "-o", "run", "--", "true").code == 0
    shown = gnomon("show", "run.gnomon").out
    assert "SIMULATED" in shown and "D1" in shown


def test_repeated_runs_of_a_program_agree_exactly(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-r", "2", "-e", "valgrind::Bi", "--", "true")
    assert outcome.rows["valgrind::Bi"]["spread"] == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("-e", "valgrind::Ir,task-clock", "--", "true"), 2),
        (("-e", "valgrind::Ir", "-p", "1"), 2),
        (("-e", "valgrind::Ir", "-a", "--", "true"), 2),
        (("-e", "valgrind::Irr", "--", "true"), 2),
        (("--on", "nix", "--", "true"), 2),
        (("--on", "valgrind", "-e", "task-clock", "--", "true"), 2),
        (("--on", "valgrind", "--", "./not-there"), 127),
        (("--on", "valgrind", "--", "/etc/passwd"), 126),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    gnomon: Run, arguments: tuple[str, ...], code: int
) -> None:
    outcome = gnomon("count", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert one_sentence(outcome.err)


def test_the_events_are_listed_and_proved(gnomon: Run) -> None:
    rows = gnomon("events", "--available", "--json", "valgrind::").json["results"]["rows"]
    assert len(rows) == 13
    assert all(row["available"] for row in rows)
    assert "yes: it read " in gnomon("events", "valgrind::D1mr").out
