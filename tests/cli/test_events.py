"""`gnomon events`: listings, look-ups, and what counts here."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import GnomonError
from gnomon.events.kernel import tracefs

from .running import ENVELOPE, Run

_KEYS = {"event", "aliases", "kind", "description", "unit", "scale", "scope", "caveats"}
_VERDICT = {"available", "verdict", "reason", "remedy"}


def _names(gnomon: Run, *arguments: str) -> list[str]:
    return [row["event"] for row in gnomon("events", "--json", *arguments).json["results"]]


def test_the_list_has_names_kinds_and_meanings(gnomon: Run) -> None:
    outcome = gnomon("events")
    assert outcome.code == 0
    heading, *rows = outcome.out.splitlines()
    assert heading.split() == ["event", "kind", "counts"]
    assert any(row.split()[:3] == ["page-faults", "or", "faults"] for row in rows)


def test_json_rows_have_the_promised_keys(gnomon: Run) -> None:
    content = gnomon("events", "--json").json
    assert set(content) == ENVELOPE
    for row in content["results"]:
        assert _KEYS <= set(row) <= _KEYS | {"encoding"}


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
    assert "here      yes: read " in outcome.out
    [row] = gnomon("events", "page-faults", "--json").json["results"]
    assert set(row) == _KEYS | _VERDICT | {"encoding"}
    assert row["available"] is True
    assert row["verdict"] == "counts"


def test_an_alias_finds_its_event(gnomon: Run) -> None:
    [row] = gnomon("events", "faults", "--json").json["results"]
    assert "page-faults" in (row["event"], *row["aliases"])


def test_what_cannot_be_counted_says_why_and_what_to_do(gnomon: Run, ghost_unit: str) -> None:
    [row] = gnomon("events", ghost_unit, "--json").json["results"]
    assert row["available"] is False
    assert row["verdict"] == "not-supported"
    assert row["reason"]
    assert row["remedy"]
    assert "no, not-supported" in gnomon("events", ghost_unit).out


def test_available_lists_only_what_counted(gnomon: Run, software_events: None) -> None:
    content = gnomon("events", "--available", "--json").json
    assert content["results"]
    assert all(row["available"] is True for row in content["results"])
    names = {row["event"] for row in content["results"]}
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
    assert "0 events can be counted here, 1 cannot:" in outcome.out


def test_tracepoints_are_listed_for_a_pattern_with_a_colon(gnomon: Run) -> None:
    try:
        point = next(tracefs().glob("*/*/id")).parent
    except (GnomonError, StopIteration) as error:
        pytest.skip(str(error) or "the kernel has no tracepoints")
    system, name = point.parent.name, point.name
    assert f"{system}:{name}" in _names(gnomon, f"{system}:*")
    assert _names(gnomon, f"{system}:{name}") == [f"{system}:{name}"]
    rows = gnomon("events", "--json").json["results"]
    assert not any(row["kind"] == "tracepoint" for row in rows)


def test_no_match_with_json_is_a_single_object(gnomon: Run) -> None:
    outcome = gnomon("events", "zzzzqqqq", "--json")
    assert outcome.code == 1
    assert "zzzzqqqq" in outcome.json["error"]


def test_no_match_suggests_the_nearest_name(gnomon: Run) -> None:
    outcome = gnomon("events", "page-fualts")
    assert (outcome.code, outcome.out) == (1, "")
    assert "did you mean page-faults" in outcome.err
