"""`gnomon events`: listings, look-ups, and what counts here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import gnomon as gn
from gnomon.analysis.events import EventsResult
from gnomon.errors import GnomonError
from gnomon.events.kernel import tracefs

from .running import ENVELOPE, Run


def _rows(gnomon: Run, *arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = gnomon("events", "--json", *arguments).json["results"]["rows"]
    return rows


def _names(gnomon: Run, *arguments: str) -> list[str]:
    return [row["event"] for row in _rows(gnomon, *arguments)]


def test_the_list_has_names_kinds_and_meanings(gnomon: Run) -> None:
    outcome = gnomon("events")
    assert outcome.code == 0
    title, _, heading, *rows = outcome.out.splitlines()
    assert title == f"{len(rows)} events"
    assert heading.split() == ["event", "or", "kind", "counts"]
    assert any(row.split()[:2] == ["page-faults", "faults"] for row in rows)


def test_json_has_no_verdict_on_what_was_not_tried_out(gnomon: Run) -> None:
    content = gnomon("events", "--json").json
    assert set(content) == ENVELOPE
    for row in content["results"]["rows"]:
        assert row["event"]
        assert (row["available"], row["verdict"], row["value"]) == (None, "", None)


def test_a_pattern_is_part_of_a_name_or_a_description(gnomon: Run) -> None:
    names = _names(gnomon, "fault")
    assert {"page-faults", "minor-faults", "major-faults"} <= set(names)
    assert "cycles" not in names
    assert "task-clock" in _names(gnomon, "ran on a CPU")


def test_a_glob_is_matched_against_the_whole_name(gnomon: Run) -> None:
    names = _names(gnomon, "LLC-*")
    assert names
    assert all(name.startswith("LLC-") for name in names)


def test_case_does_not_matter(gnomon: Run) -> None:
    assert _names(gnomon, "llc-*") == _names(gnomon, "LLC-*")


def test_one_event_is_explained_and_tried_out(gnomon: Run, software_events: None) -> None:
    outcome = gnomon("events", "page-faults")
    assert outcome.code == 0
    assert outcome.out.startswith("page-faults\n")
    assert re.search("^here +yes: it read ", outcome.out, re.MULTILINE)
    [row] = _rows(gnomon, "page-faults")
    assert row["encoding"]["pmu"] == "software"
    assert row["available"] is True
    assert row["verdict"] == "counts"


def test_an_alias_finds_its_event(gnomon: Run) -> None:
    [row] = _rows(gnomon, "faults")
    assert "page-faults" in (row["event"], *row["aliases"])


def test_what_cannot_be_counted_says_why_and_what_to_do(gnomon: Run, ghost_unit: str) -> None:
    [row] = _rows(gnomon, ghost_unit)
    assert row["available"] is False
    assert row["verdict"] == "not-supported"
    assert row["reason"]
    assert row["remedy"]
    assert "no, not-supported" in gnomon("events", ghost_unit).out


def test_available_lists_only_what_counted(gnomon: Run, software_events: None) -> None:
    rows = _rows(gnomon, "--available")
    assert rows
    assert all(row["available"] is True for row in rows)
    names = {row["event"] for row in rows}
    assert "task-clock" in names
    assert names <= set(_names(gnomon))


def test_available_tells_how_many_cannot_be_counted_and_why(
    gnomon: Run, ghost_unit: str, software_events: None, folder: Path
) -> None:
    events = folder / "devices" / "ghost" / "events"
    events.mkdir()
    (events / "boo").write_text("event=0x1\n")
    outcome = gnomon("events", "--available", "boo")
    assert outcome.code == 1
    assert outcome.out.startswith("0 events can be counted here, 1 cannot\n")
    assert "! 1 cannot be counted: " in outcome.out


def test_tracepoints_are_listed_for_a_pattern_with_a_colon(gnomon: Run) -> None:
    try:
        point = next(tracefs().glob("*/*/id")).parent
    except (GnomonError, StopIteration) as error:
        pytest.skip(str(error) or "the kernel has no tracepoints")
    system, name = point.parent.name, point.name
    assert f"{system}:{name}" in _names(gnomon, f"{system}:*")
    assert _names(gnomon, f"{system}:{name}") == [f"{system}:{name}"]
    rows = _rows(gnomon)
    assert not any(row["kind"] == "tracepoint" for row in rows)


def test_no_match_with_json_is_a_single_object(gnomon: Run) -> None:
    outcome = gnomon("events", "zzzzqqqq", "--json")
    assert outcome.code == 1
    assert "zzzzqqqq" in outcome.json["error"]


def test_no_match_suggests_the_nearest_name(gnomon: Run) -> None:
    outcome = gnomon("events", "page-fualts")
    assert (outcome.code, outcome.out) == (1, "")
    assert "did you mean page-faults" in outcome.err


def test_events_fit_or_are_planned(gnomon: Run) -> None:
    fits = gnomon("events", "--on", "laptop", "--fit", "cycles,instructions")
    assert (fits.code, fits.out.splitlines()[0]) == (0, "SIMULATED These events fit together")
    every = ",".join(_names(gnomon, "--on", "laptop", "L1"))
    outcome = gnomon("events", "--on", "laptop", "--fit", every, "--json")
    assert outcome.code == 1
    results = outcome.json["results"]
    assert (results["fits"], results["batches"]) == (False, [])
    assert results["reasons"]
    assert results["runs"] > 1
    plan = gnomon("events", "--on", "laptop", "--plan", "--json").json["results"]
    assert plan["runs"] == len(plan["batches"]) >= plan["lower_bound"] > 1
    seated = [seat["event"] for batch in plan["batches"] for seat in batch]
    assert sorted(seated) == sorted(set(seated))


def test_presets_and_metrics_say_what_they_are_made_of(gnomon: Run) -> None:
    rows = {row["event"]: row for row in _rows(gnomon, "--presets", "--on", "laptop")}
    assert rows["PAPI_TOT_INS"]["available"] is True
    assert rows["PAPI_TOT_INS"]["formula"] == "instructions"
    [ipc] = [row for row in _rows(gnomon, "--metrics", "ipc") if row["event"] == "ipc"]
    assert ipc["formula"] == "PAPI_TOT_INS / PAPI_TOT_CYC"
    assert gnomon("events", "--metrics", "zzzz").code == 1


def test_python_says_the_same(gnomon: Run) -> None:
    found = gn.events("LLC-*")
    assert isinstance(found, EventsResult)
    assert [row.event for row in found.rows] == _names(gnomon, "LLC-*")
