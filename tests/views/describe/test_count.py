"""How counts look, and the envelope that their JSON stands in."""

from __future__ import annotations

import io
import json

import pytest

from gnomon.analysis.count.result import CountResult, EventCount, MetricValue
from gnomon.recording.contents import SIMULATED_CLOCK, Provenance, RunInfo, Status
from gnomon.views.envelope import envelope
from gnomon.views.show import show, tables

ORIGIN = Provenance("perf", command=("./a", "b"), host="box", cpu="Some CPU", cpus=4)


def _count(
    value: float | None,
    status: Status = Status.COUNTED,
    *,
    unit: str = "count",
    running: float | None = 1.0,
    spread: float | None = None,
) -> EventCount:
    return EventCount("event", value, unit, status, running, "process", spread)


def _result(
    *counts: EventCount,
    origin: Provenance = ORIGIN,
    seconds: float = 2.0,
    metrics: tuple[MetricValue, ...] = (),
) -> CountResult:
    runs = (RunInfo(0, end=round(seconds * 1e9)),)
    return CountResult(counts, runs, metrics, provenance=origin)


def _shown(result: CountResult) -> str:
    stream = io.StringIO()
    show(result, stream)
    return stream.getvalue()


def _text(*counts: EventCount, origin: Provenance = ORIGIN, seconds: float = 2.0) -> str:
    return _shown(_result(*counts, origin=origin, seconds=seconds))


def test_the_headline_tells_what_was_counted_by_what_and_where() -> None:
    assert _text(_count(1)).splitlines()[0] == "./a b: counted by perf on box (Some CPU, 4 CPUs)"


@pytest.mark.parametrize(
    ("origin", "headline"),
    [
        (Provenance("perf"), "counted by perf"),
        (Provenance("perf", target="all CPUs"), "all CPUs: counted by perf"),
        (Provenance("likwid", cpu="Some CPU"), "counted by likwid (Some CPU)"),
        (Provenance("perf", host="box", cpus=2), "counted by perf on box (2 CPUs)"),
    ],
)
def test_the_headline_invents_nothing(origin: Provenance, headline: str) -> None:
    assert _text(_count(1), origin=origin).splitlines()[0] == headline


def test_simulated_counts_are_labelled_first() -> None:
    clock = SIMULATED_CLOCK
    origin = Provenance("machine", simulated=True, target="a run", machine="t2", clock=clock)
    text = _text(_count(1), origin=origin)
    assert text.startswith(
        "SIMULATED a run: counted by machine (t2)\n2 s of simulated time elapsed"
    )


@pytest.mark.parametrize("status", [Status.NOT_COUNTED, Status.NOT_SUPPORTED, Status.NOT_PERMITTED])
def test_a_missing_count_shows_its_status_and_no_number(status: Status) -> None:
    row = _text(_count(None, status, running=None), seconds=0).splitlines()[-1]
    assert row.split() == ["event", str(status)]


def test_an_extrapolated_count_is_marked_and_explained() -> None:
    text = _text(_count(100, Status.SCALED, running=0.25))
    assert "~ 100" in text
    assert "25 %" in text
    assert "extrapolated" in text
    assert "extrapolated" not in _text(_count(100))


def test_nearly_all_of_the_time_is_shown_as_less_than_all() -> None:
    assert ">99 %" in _text(_count(1, Status.SCALED, running=0.9999))


@pytest.mark.parametrize(
    ("count", "rate"),
    [
        (_count(1_000), "500 /s"),
        (_count(3_000_000_000, unit="ns"), "1.5 CPUs"),
        (_count(10.0, unit="J"), "5 J/s"),
    ],
)
def test_the_rate_is_a_second_of_the_run(count: EventCount, rate: str) -> None:
    assert rate in _text(count)


def test_without_a_duration_there_is_no_rate_and_no_time_elapsed() -> None:
    text = _text(_count(1), seconds=0)
    assert "/s" not in text
    assert "elapsed" not in text


def test_several_runs_are_summed_up() -> None:
    runs = tuple(RunInfo(i, end=(i + 1) * 10**9) for i in range(3))
    text = _shown(CountResult((_count(1, spread=0.5),), runs, provenance=ORIGIN))
    assert "2 s elapsed on average over 3 runs, from 1 s to 3 s" in text
    assert "± 50 %" in text


def test_rows_for_scripts_keep_null_apart_from_zero() -> None:
    result = _result(_count(None, Status.NOT_COUNTED, running=None), _count(0, spread=0.0))
    missing, zero = result.to_json()["counts"]
    assert missing == {
        "event": "event",
        "value": None,
        "unit": "count",
        "status": "not-counted",
        "running": None,
        "scope": "process",
        "spread": None,
        "values": [],
    }
    assert (zero["value"], zero["status"], zero["spread"]) == (0, "counted", 0.0)


def test_large_counts_are_exact_in_json() -> None:
    [row] = json.loads(_result(_count(2**63 + 1)).text())["counts"]
    assert row["value"] == 2**63 + 1


def test_places_are_named_only_where_they_were_asked_for() -> None:
    assert "process" not in _text(_count(1))
    apart = CountResult((_count(1),), per_scope=True, provenance=ORIGIN)
    assert "process" in _shown(apart)


METRICS = (
    MetricValue("ipc", "Instructions per cycle", 1.23456, "instructions/cycle"),
    MetricValue("cpi", "Cycles per instruction", None, "", "needs 'cycles'"),
)


def test_a_metric_has_title_value_and_unit_or_the_reason_why_it_has_none() -> None:
    *_, good, gone = _shown(_result(_count(1), metrics=METRICS)).splitlines()
    assert good.split() == ["Instructions", "per", "cycle", "1.235", "instructions/cycle"]
    assert gone.split("  ")[0] == "Cycles per instruction"
    assert "not-counted" in gone
    assert gone.endswith("needs 'cycles'")


def test_without_metrics_there_is_no_table_of_them() -> None:
    assert set(tables(_result(_count(1)))) == {"events"}


def test_the_envelope_has_an_error_only_where_there_is_one() -> None:
    good = json.loads(envelope("count", [], source="perf", warnings=("ü",)))
    assert list(good) == ["gnomon", "command", "source", "simulated", "warnings", "results"]
    assert good["warnings"] == ["ü"]
    bad = json.loads(envelope("count", None, error="why"))
    assert bad["error"] == "why"
    assert bad["results"] is None


def test_the_envelope_refuses_what_is_no_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        envelope("count", float("nan"))
