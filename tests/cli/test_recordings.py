"""From a measurement to a recording and on: show, convert, and back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from gnomon.recording import Recording

from .running import ENVELOPE, ROW, Run, one_sentence

PERF_CSV = """\
# started on Mon Nov 16 10:00:00 2026

12.50,msec,task-clock,12500000,100.00,0.9,CPUs utilized
<not supported>,,cycles,0,100.00,,
1234,,page-faults,12500000,100.00,98.720,K/sec
500,,instructions,5000000,40.00,,
"""


@pytest.fixture
def recording(gnomon: Run, software_events: None, folder: Path) -> Path:
    """Two runs, read every few milliseconds."""
    arguments = ("-r", "2", "-i", "10ms", "-e", "task-clock,page-faults", "-o", "run.gnomon")
    assert gnomon("count", *arguments, "--", "sleep", "0.05").code == 0
    return folder / "run.gnomon"


def test_show_tells_origin_totals_and_course(gnomon: Run, recording: Path) -> None:
    outcome = gnomon("show", "run.gnomon")
    assert outcome.code == 0
    assert "\nrecorded  " in outcome.out
    assert "interval  10 ms" in outcome.out
    assert "sleep 0.05: counted by host" in outcome.out
    assert "over time" in outcome.out
    assert any(bar in outcome.out for bar in "▁▂▃▄▅▆▇█")


def test_show_json_has_the_envelope_and_the_rows_of_count(gnomon: Run, recording: Path) -> None:
    content = gnomon("show", "run.gnomon", "--json").json
    assert set(content) == ENVELOPE
    assert content["command"] == "show"
    results = content["results"]
    assert {"provenance", "complete", "totals", "course", "slices"} <= set(results)
    assert results["complete"] is True
    assert results["slices"] > 1
    assert all(set(row) == ROW for row in results["totals"])
    assert results["provenance"]["command"] == ["sleep", "0.05"]


def test_show_may_leave_out_the_suffix(gnomon: Run, recording: Path) -> None:
    assert gnomon("show", "run") == gnomon("show", "run.gnomon")


def test_show_picks_events_and_runs(gnomon: Run, recording: Path) -> None:
    name = gnomon("show", "run", "--json").json["results"]["totals"][1]["event"]
    picked = gnomon("show", "run", "-e", name, "--run", "1", "--json").json["results"]["totals"]
    assert [row["event"] for row in picked] == [name]
    assert picked[0]["spread"] is None
    with Recording.open(recording) as opened:
        [total] = opened.totals(event=name, run=1)
    assert picked[0]["value"] == total.value


def test_show_per_scope_names_the_places(gnomon: Run, recording: Path) -> None:
    assert "process" in gnomon("show", "run", "--per-scope").out


def test_a_failed_run_is_shown_as_such(gnomon: Run, software_events: None) -> None:
    gnomon("count", "-e", "page-faults", "-o", "bad", "--", "sh", "-c", "exit 4")
    assert "run 0: exit 4" in gnomon("show", "bad").out


def test_what_could_not_be_counted_is_shown_again(gnomon: Run, ghost_unit: str) -> None:
    counted = gnomon("count", "-e", f"{ghost_unit},page-faults", "-o", "a", "--json", "--", "true")
    shown = gnomon("show", "a", "--json")
    assert shown.json["results"]["totals"] == counted.json["results"]["counts"]
    assert shown.json["warnings"] == counted.json["warnings"]


def test_csv_has_a_line_for_each_reading(gnomon: Run, recording: Path, folder: Path) -> None:
    outcome = gnomon("convert", "run.gnomon", "out.csv")
    assert outcome.code == 0
    with Recording.open(recording) as opened:
        readings = list(opened.readings())
    assert outcome.out == f"{len(readings):,} readings from run.gnomon to out.csv\n"
    rows = list(csv.DictReader(io.StringIO((folder / "out.csv").read_text())))
    assert [int(row["value"]) for row in rows] == [reading.value for reading in readings]
    assert [int(row["time_ns"]) for row in rows] == [reading.time for reading in readings]


def test_json_lines_come_back_as_the_same_recording(
    gnomon: Run, recording: Path, folder: Path
) -> None:
    assert gnomon("convert", "run.gnomon", "out.jsonl").code == 0
    assert gnomon("convert", "out.jsonl", "back.gnomon").code == 0
    with Recording.open(recording) as ours, Recording.open(folder / "back.gnomon") as back:
        assert list(ours.readings()) == list(back.readings())
        assert ours.events == back.events
        assert ours.runs == back.runs
    assert (
        gnomon("show", "back", "--json").json["results"]["totals"]
        == gnomon("show", "run", "--json").json["results"]["totals"]
    )


def test_csv_comes_back_with_the_same_readings(gnomon: Run, recording: Path, folder: Path) -> None:
    gnomon("convert", "run.gnomon", "out.csv")
    assert gnomon("convert", "out.csv", "back.gnomon").code == 0
    with Recording.open(recording) as ours, Recording.open(folder / "back.gnomon") as back:
        assert list(ours.readings()) == list(back.readings())


def test_a_dash_writes_to_the_standard_output_and_says_nothing_else(
    gnomon: Run, recording: Path, folder: Path
) -> None:
    gnomon("convert", "run.gnomon", "out.csv")
    outcome = gnomon("convert", "run.gnomon", "-", "--to", "csv")
    assert (outcome.code, outcome.out) == (0, (folder / "out.csv").read_text())


def test_openmetrics_ends_as_the_format_wants(gnomon: Run, recording: Path) -> None:
    outcome = gnomon("convert", "run.gnomon", "-", "--to", "openmetrics")
    assert outcome.code == 0
    assert outcome.out.endswith("# EOF\n")
    assert "gnomon_page_faults" in outcome.out


def test_json_and_a_dash_both_want_the_standard_output(gnomon: Run, recording: Path) -> None:
    outcome = gnomon("convert", "run.gnomon", "-", "--to", "csv", "--json")
    assert outcome.code == 2
    assert "standard output" in outcome.err


def test_convert_json_says_what_was_done(gnomon: Run, recording: Path) -> None:
    content = gnomon("convert", "run.gnomon", "out.jsonl", "--json").json
    assert set(content) == ENVELOPE
    assert content["results"]["input"] == "run.gnomon"
    assert content["results"]["output"] == "out.jsonl"
    assert content["results"]["readings"] > 0


def test_perf_output_becomes_a_recording(gnomon: Run, folder: Path) -> None:
    (folder / "stat.csv").write_text(PERF_CSV)
    assert gnomon("convert", "stat.csv", "stat.gnomon").code == 0
    shown = gnomon("show", "stat", "--json").json
    rows = {row["event"]: row for row in shown["results"]["totals"]}
    assert shown["source"] == "perf"
    assert rows["task-clock"]["value"] == 12_500_000
    assert rows["task-clock"]["unit"] == "ns"
    assert rows["page-faults"]["value"] == 1234
    assert (rows["cycles"]["value"], rows["cycles"]["status"]) == (None, "not-supported")
    assert (rows["instructions"]["value"], rows["instructions"]["status"]) == (500, "scaled")
    assert rows["instructions"]["running"] == pytest.approx(0.4)


def test_an_imported_recording_is_shown_without_inventing_a_machine(
    gnomon: Run, folder: Path
) -> None:
    (folder / "stat.csv").write_text(PERF_CSV)
    gnomon("convert", "stat.csv", "stat.gnomon")
    outcome = gnomon("show", "stat")
    assert outcome.code == 0
    assert "imported  stat.csv (perf stat -x)" in outcome.out
    assert "0 CPUs" not in outcome.out
    assert "\n: " not in outcome.out
    assert "()" not in outcome.out


def test_papi_output_becomes_a_recording(gnomon: Run, folder: Path) -> None:
    region = {"name": "solve", "region_count": "1", "real_time_nsec": "100", "PAPI_TOT_INS": "42"}
    document = {"papi_version": "7.1.0", "threads": {"0": {"regions": {"0": region}}}}
    (folder / "rank_000000.json").write_text(json.dumps(document))
    assert gnomon("convert", "rank_000000.json", "papi.gnomon").code == 0
    shown = gnomon("show", "papi", "--per-scope", "--json").json["results"]["totals"]
    rows = {row["event"]: row for row in shown}
    assert rows["PAPI_TOT_INS"]["value"] == 42
    assert rows["PAPI_TOT_INS"]["scope"] == "region/solve/thread/0"


def test_a_dash_reads_the_standard_input(
    gnomon: Run, recording: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = gnomon("convert", "run.gnomon", "-", "--to", "jsonl").out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    outcome = gnomon("convert", "-", "back.gnomon")
    assert outcome.code == 0
    with Recording.open(recording) as ours, Recording.open(folder / "back.gnomon") as back:
        assert list(ours.readings()) == list(back.readings())


def test_nothing_on_the_standard_input_is_said_in_a_sentence(
    gnomon: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    outcome = gnomon("convert", "-", "back.gnomon")
    assert outcome.code == 1
    assert one_sentence(outcome.err)
    assert "standard input" in outcome.err
    assert not (folder / "back.gnomon").exists()
