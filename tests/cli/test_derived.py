"""Portable names, metrics, fits and plans on the command line."""

from __future__ import annotations

import pytest

from .running import ENVELOPE, ROW, Run, one_sentence


@pytest.mark.usefixtures("software_events")
class TestMetrics:
    """`gnomon count -m`."""

    def test_a_metric_is_a_row_beside_the_counts(self, gnomon: Run) -> None:
        outcome = gnomon(
            "count", "--json", "-e", "task-clock", "-m", "cpu_utilisation", "--", "true"
        )
        assert outcome.code == 0
        assert all(set(row) == ROW for row in outcome.json["results"]["counts"])
        [metric] = outcome.json["results"]["metrics"]
        assert metric["name"] == "cpu_utilisation"
        assert metric["unit"] == "%"
        assert metric["value"] > 0

    def test_a_metric_that_lacks_an_event_says_which(self, gnomon: Run) -> None:
        outcome = gnomon("count", "-e", "task-clock", "-m", "ipc", "--", "true")
        assert outcome.code == 0
        [line] = [line for line in outcome.out.splitlines() if line.startswith("ipc ")]
        assert "PAPI_TOT_INS" in line
        assert "not-counted" in line

    def test_a_metric_of_user_mode_alone_is_of_user_mode(self, gnomon: Run) -> None:
        arguments = ("-e", "task-clock:u", "-m", "cpu_utilisation")
        outcome = gnomon("count", "--json", *arguments, "--", "true")
        [metric] = outcome.json["results"]["metrics"]
        assert metric["value"] > 0

    def test_all_metrics_are_those_that_the_events_allow(self, gnomon: Run) -> None:
        outcome = gnomon("count", "--json", "-e", "task-clock", "-m", "all", "--", "true")
        derived = outcome.json["results"]["metrics"]
        assert "cpu_utilisation" in [row["name"] for row in derived]
        assert all(row["value"] is not None for row in derived)

    @pytest.mark.parametrize("names", ["", "no-such-metric"])
    def test_a_wrong_metric_is_found_before_the_program_is_run(
        self, gnomon: Run, names: str
    ) -> None:
        outcome = gnomon("count", "-m", names, "--", "echo", "ran")
        assert (outcome.code, outcome.out) == (2, "")
        assert one_sentence(outcome.err)

    def test_a_preset_that_cannot_be_counted_is_missing_and_not_zero(
        self, gnomon: Run, ghost_unit: str
    ) -> None:
        outcome = gnomon("count", "--json", "-e", "PAPI_L2_DCM,task-clock", "--", "true")
        assert outcome.code == 0
        row = outcome.rows["PAPI_L2_DCM"]
        if row["status"] != "counted":
            assert row["value"] is None


def test_presets_are_listed_with_what_they_are_made_of(gnomon: Run) -> None:
    content = gnomon("events", "--presets", "TOT_", "--json").json
    assert set(content) == ENVELOPE
    rows = {row["event"]: row for row in content["results"]["rows"]}
    assert {"PAPI_TOT_INS", "PAPI_TOT_CYC"} <= set(rows)
    assert rows["PAPI_TOT_INS"]["formula"] == "instructions"
    assert rows["PAPI_TOT_INS"]["available"] is not bool(rows["PAPI_TOT_INS"]["reason"])


def test_software_events_always_fit_together(gnomon: Run) -> None:
    outcome = gnomon("events", "--fit", "page-faults,task-clock")
    assert outcome.code == 0
    assert outcome.out.startswith("These events fit together")
    results = gnomon("events", "--fit", "page-faults,task-clock", "--json").json["results"]
    assert (results["fits"], len(results["batches"])) == (True, 1)


def test_a_plan_deals_every_event_once(gnomon: Run) -> None:
    results = gnomon("events", "--plan", "fault", "--json").json["results"]
    dealt = [place["event"] for batch in results["batches"] for place in batch]
    listed = gnomon("events", "fault", "--json").json["results"]["rows"]
    assert sorted(dealt) == sorted(row["event"] for row in listed)
    assert results["unplaceable"] == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--cpu", "ICX"), 2),
        (("--fit", "cycels"), 2),
        (("--from", "no-such-folder"), None),
        (("--from", "libpfm:no-such-pmu"), None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_sentence(
    gnomon: Run, arguments: tuple[str, ...], code: int | None
) -> None:
    outcome = gnomon("events", *arguments)
    assert outcome.code == code if code is not None else outcome.code in (1, 2)
    assert outcome.out == ""
    assert outcome.err.startswith("gnomon: ")
    assert outcome.err.count("\n") == 1
