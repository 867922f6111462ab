"""`gnomon doctor`: what can be measured here, why not the rest, and the remedy."""

from __future__ import annotations

from gnomon.sources.perf.source import PerfSource

from .running import ENVELOPE, Run

_AREAS = ["host", "PMU", "permissions", "events", "memory", "clocks", "tools"]


def test_every_area_is_looked_at_in_order(gnomon: Run) -> None:
    results = gnomon("doctor", "--json").json["results"]
    assert [*dict.fromkeys(finding["area"] for finding in results["findings"])] == _AREAS


def test_what_stands_in_the_way_comes_first_with_its_remedy(gnomon: Run, ghost_unit: str) -> None:
    results = gnomon("doctor", "--json").json["results"]
    out = gnomon("doctor").out
    for finding in results["findings"]:
        text = f"{finding['area']}, {finding['subject']}: {finding['detail']}\n"
        assert (text in out) is (finding["state"] != "ok")
        if finding["state"] != "ok" and finding["remedy"]:
            assert f"{text}  → {finding['remedy']}" in out


def test_json_findings_have_the_promised_keys(gnomon: Run) -> None:
    content = gnomon("doctor", "--json").json
    assert set(content) == ENVELOPE
    results = content["results"]
    assert {"countable", "known", "findings", "summary"} <= set(results)
    assert 0 <= results["countable"] <= results["known"]
    for finding in results["findings"]:
        assert set(finding) == {"area", "subject", "state", "detail", "remedy"}
        assert finding["state"] in ("ok", "limited", "missing")
        assert finding["detail"]


def test_it_exits_with_0_where_something_counts(gnomon: Run, software_events: None) -> None:
    outcome = gnomon("doctor")
    assert outcome.code == 0
    assert "named events can be counted here" in outcome.out.splitlines()[0]


def test_a_missing_pmu_is_reported_with_a_remedy(gnomon: Run, ghost_unit: str) -> None:
    findings = gnomon("doctor", "--json").json["results"]["findings"]
    [cores] = [f for f in findings if (f["area"], f["subject"]) == ("PMU", "cores")]
    assert cores["state"] == "missing"
    assert cores["remedy"]


def test_a_pmu_is_reported_with_its_number_of_counters(gnomon: Run) -> None:
    source = PerfSource()
    findings = gnomon("doctor", "--json").json["results"]["findings"]
    subjects = {f["subject"] for f in findings if f["area"] == "PMU"}
    for pmu in source.catalogue.core_pmus:
        assert pmu.name in subjects
    assert ("cores" in subjects) is not source.has_core_pmu


def test_the_number_of_countable_events_agrees_with_the_list(
    gnomon: Run, software_events: None
) -> None:
    countable = gnomon("doctor", "--json").json["results"]["countable"]
    assert len(gnomon("events", "--available", "--json").json["results"]["rows"]) == countable
