"""`gnomon count` on a program: its JSON, its table, its exit status."""

from __future__ import annotations

import os
import platform
import re

import pytest

from gnomon import __version__
from gnomon.sources.perf.source import PerfSource

from .running import ENVELOPE, ROW, Run, as_program, one_sentence

pytestmark = pytest.mark.usefixtures("software_events")


def test_json_has_exactly_the_promised_keys(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-e", "task-clock,page-faults", "--", "true")
    assert outcome.code == 0
    assert set(outcome.json) == ENVELOPE
    assert outcome.json["gnomon"] == __version__
    assert outcome.json["command"] == "count"
    assert outcome.json["source"] == "host"
    assert outcome.json["simulated"] is False
    assert outcome.json["warnings"] == [] or PerfSource().host.paranoid == 2
    assert all(set(row) == ROW for row in outcome.json["results"]["counts"])


def test_json_has_runs_values_duration_status_and_host(gnomon: Run) -> None:
    found = gnomon("count", "--json", "-r", "2", "-e", "page-faults", "--", "sh", "-c", "exit 3")
    results = found.json["results"]
    assert (found.code, results["exit_status"]) == (3, 3)
    assert [run["exit_status"] for run in results["runs"]] == [3, 3]
    times = [run["end"] - run["start"] for run in results["runs"]]
    assert results["duration"]["mean"] == pytest.approx(sum(times) / 2)
    assert (results["duration"]["shortest"], results["duration"]["longest"]) == (
        min(times),
        max(times),
    )
    [row] = results["counts"]
    assert row["value"] == pytest.approx(sum(row["values"]) / 2)
    assert results["provenance"]["host"] == platform.node()
    assert results["provenance"]["cpus"] == os.cpu_count()


def test_rows_come_in_the_order_asked_for(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-e", "page-faults,cpu-migrations,task-clock", "--", "true")
    names = [row["event"].partition(":")[0] for row in outcome.json["results"]["counts"]]
    assert names == ["page-faults", "cpu-migrations", "task-clock"]


def test_events_of_several_options_are_all_counted(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-e", "page-faults", "-e", "task-clock", "--", "true")
    names = [row["event"].partition(":")[0] for row in outcome.json["results"]["counts"]]
    assert names == ["page-faults", "task-clock"]


def test_a_counted_row_has_value_unit_status_and_share(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-e", "task-clock:u,minor-faults:u", "--", "true")
    clock, faults = outcome.rows["task-clock:u"], outcome.rows["minor-faults:u"]
    assert clock["unit"] == "ns"
    assert faults["unit"] == "count"
    assert isinstance(faults["value"], int)
    assert faults["value"] > 0
    for row in (clock, faults):
        assert row["status"] == "counted"
        assert row["running"] == 1.0
        assert row["scope"] == "process"
        assert row["spread"] is None


def test_without_events_a_sensible_choice_is_counted(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "--", "true")
    assert outcome.code == 0
    names = {name.partition(":")[0] for name in outcome.rows}
    assert {"task-clock", "page-faults"} <= names
    assert all(row["status"] == "counted" for row in outcome.json["results"]["counts"])


def test_an_event_that_cannot_be_counted_is_null_with_a_reason(
    gnomon: Run, ghost_unit: str
) -> None:
    outcome = gnomon("count", "--json", "-e", f"{ghost_unit},page-faults", "--", "true")
    assert outcome.code == 0
    row = outcome.rows[ghost_unit]
    assert (row["value"], row["status"], row["running"]) == (None, "not-supported", None)
    [warning] = [text for text in outcome.json["warnings"] if ghost_unit in text]
    assert "not-supported" in warning
    assert ";" in warning, "the reason comes with a remedy"
    faults = next(row for name, row in outcome.rows.items() if name.startswith("page-faults"))
    assert faults["status"] == "counted"


def test_nothing_countable_exits_with_1_and_does_not_run_the_program(
    gnomon: Run, ghost_unit: str
) -> None:
    outcome = gnomon("count", "--json", "-e", ghost_unit, "--", "echo", "ran")
    assert outcome.code == 1
    assert outcome.rows[ghost_unit]["value"] is None
    assert "ran" not in outcome.err


def test_the_table_names_the_status_instead_of_a_number(gnomon: Run, ghost_unit: str) -> None:
    outcome = gnomon("count", "-e", f"{ghost_unit},page-faults", "--", "true")
    [line] = [line for line in outcome.out.splitlines() if line.startswith("ghost")]
    assert line.split() == [ghost_unit, "not-supported", "–", "–"]
    assert f"warning: {ghost_unit} is not-supported" in outcome.err


def test_cycles_without_a_pmu_are_not_supported(gnomon: Run) -> None:
    if PerfSource().has_core_pmu:
        pytest.skip("this machine has a PMU")
    outcome = gnomon("count", "--json", "-e", "cycles", "--", "true")
    assert outcome.code == 1
    assert outcome.rows["cycles"]["status"] == "not-supported"
    assert outcome.rows["cycles"]["value"] is None
    assert "PMU" in outcome.json["warnings"][0]


def test_a_group_loses_only_the_member_that_cannot_be_counted(gnomon: Run) -> None:
    if PerfSource().has_core_pmu:
        pytest.skip("this machine has a PMU")
    outcome = gnomon("count", "--json", "-e", "{page-faults,cycles}", "--", "true")
    assert outcome.code == 0
    assert outcome.rows["cycles"]["status"] == "not-supported"
    assert any(row["status"] == "counted" for row in outcome.json["results"]["counts"])


@pytest.mark.parametrize(("ending", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)])
def test_the_programs_exit_status_is_forwarded(gnomon: Run, ending: str, status: int) -> None:
    assert gnomon("count", "-e", "page-faults", "--", "sh", "-c", ending).code == status


def test_under_json_the_programs_output_goes_to_stderr(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "--", "echo", "hello there")
    assert outcome.json["command"] == "count"
    assert "hello there" in outcome.err


def test_without_json_the_programs_output_stays_where_it_was(gnomon: Run) -> None:
    outcome = gnomon("count", "--", "sh", "-c", "echo out; echo err >&2")
    assert outcome.out.startswith("out\n")
    assert outcome.err.startswith("err\n")


def test_the_program_reads_our_input() -> None:
    outcome = as_program("count", "-e", "page-faults", "--", "cat", input="from above")
    assert outcome.out.startswith("from above")


def test_the_double_dash_may_be_left_out(gnomon: Run) -> None:
    outcome = gnomon("count", "-e", "page-faults", "sh", "-c", "exit 3")
    assert outcome.code == 3


def test_arguments_reach_the_program_untouched(gnomon: Run) -> None:
    odd = ["a b", "--", "-e", "", "*", "ü"]
    outcome = gnomon("count", "--", "printf", "[%s]", *odd)
    assert outcome.out.startswith("".join(f"[{word}]" for word in odd))


def test_repeated_runs_give_a_mean_and_a_spread(gnomon: Run) -> None:
    events = "page-faults,task-clock"
    outcome = gnomon("count", "--json", "-r", "3", "-e", events, "--", "echo", "run")
    assert outcome.err.count("run\n") == 1  # of several runs the output is shown once
    for row in outcome.json["results"]["counts"]:
        assert row["spread"] is not None
        assert row["spread"] >= 0
    table = gnomon("count", "-r", "3", "-e", "page-faults", "--", "true").out
    assert "± " in table
    assert "on average over 3 runs" in table


def test_the_status_of_a_failing_run_is_kept_over_later_ones(gnomon: Run) -> None:
    script = "test -e once && exit 0; touch once; exit 5"
    assert gnomon("count", "-e", "page-faults", "-r", "2", "--", "sh", "-c", script).code == 5


def test_modifiers_are_part_of_the_name(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-e", "page-faults:u", "--", "true")
    assert list(outcome.rows) == ["page-faults:u"]


def test_an_event_keeps_the_spelling_it_was_asked_for_by(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-e", "faults:u,cs:u", "--", "true")
    assert list(outcome.rows) == ["faults:u", "cs:u"]


def test_a_duration_ends_the_program(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-d", "50ms", "-e", "task-clock", "--", "sleep", "600")
    assert outcome.code == 0
    assert len(outcome.rows) == 1


def test_the_table_says_what_was_counted_where_and_for_how_long(gnomon: Run) -> None:
    outcome = gnomon("count", "-e", "page-faults", "--", "true")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("true: counted by host on ")
    assert re.search(r"page-faults\S*\s+[\d,]+\s+100 %\s+[\d.,]+ k?/s", outcome.out)
    assert any(line.endswith(" elapsed") for line in lines)


def test_a_program_that_is_not_found_exits_with_127(gnomon: Run) -> None:
    outcome = gnomon("count", "--", "no-such-program")
    assert (outcome.code, outcome.out) == (127, "")
    assert one_sentence(outcome.err)
    assert "PATH" in outcome.err
    assert gnomon("count", "--", "./no-such-program").code == 127


def test_a_file_that_is_not_executable_exits_with_126(gnomon: Run) -> None:
    outcome = gnomon("count", "--", "/etc/passwd")
    assert (outcome.code, outcome.out) == (126, "")
    assert one_sentence(outcome.err)
    assert gnomon("count", "--", "/").code == 126


def test_a_program_that_is_not_found_under_json_is_an_error_object(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "--", "no-such-program")
    assert outcome.code == 127
    assert "no-such-program" in outcome.json["error"]
