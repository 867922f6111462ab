"""The table of counts and its JSON."""

from __future__ import annotations

import io
import json

import pytest

from gnomon.analysis.summary import CountResult, EventCount
from gnomon.recording.contents import Provenance, RunInfo, Status
from gnomon.views.counts import print_counts, rows_as_json
from gnomon.views.envelope import envelope

ORIGIN = Provenance("perf", command=("./a", "b"), host="box", cpu="Some CPU", cpus=4)


def _count(
    value: float | None,
    status: Status = Status.COUNTED,
    *,
    unit: str = "",
    running: float | None = 1.0,
    spread: float | None = None,
) -> EventCount:
    return EventCount("event", value, unit, status, running, "process", spread)


def _text(*counts: EventCount, origin: Provenance = ORIGIN, seconds: float = 2.0) -> str:
    stream = io.StringIO()
    runs = (RunInfo(0, end=round(seconds * 1e9)),) if seconds else ()
    print_counts(CountResult(origin, counts, runs), stream)
    return stream.getvalue()


def test_the_headline_tells_what_was_counted_by_what_and_where() -> None:
    assert _text(_count(1)).splitlines()[0] == ("./a b: counted by perf on box (Some CPU, 4 CPUs)")


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
    origin = Provenance("machine", simulated=True, target="a run", machine="t2")
    assert _text(_count(1), origin=origin).startswith("SIMULATED a run: counted by machine (t2)")


@pytest.mark.parametrize("status", [Status.NOT_COUNTED, Status.NOT_SUPPORTED, Status.NOT_PERMITTED])
def test_a_missing_count_shows_its_status_and_no_number(status: Status) -> None:
    text = _text(_count(None, status, running=None), seconds=0)
    row = text.splitlines()[3]
    assert row.split() == ["event", str(status)]
    assert "0" not in row


def test_an_extrapolated_count_is_marked_and_explained() -> None:
    text = _text(_count(100, Status.SCALED, running=0.25))
    assert "~ 25%" in text
    assert "extrapolated" in text
    assert "extrapolated" not in _text(_count(100))


def test_nearly_all_of_the_time_is_shown_as_less_than_all() -> None:
    assert "100%" in _text(_count(1, running=0.9999))
    assert "~ 99%" in _text(_count(1, Status.SCALED, running=0.99))


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
    unknown = io.StringIO()
    print_counts(CountResult(ORIGIN, (_count(1),), (RunInfo(0),)), unknown)
    for text in (_text(_count(1), seconds=0), unknown.getvalue()):
        assert "/s" not in text
        assert "elapsed" not in text


def test_several_runs_are_summed_up_below() -> None:
    stream = io.StringIO()
    runs = tuple(RunInfo(i, end=(i + 1) * 10**9) for i in range(3))
    print_counts(CountResult(ORIGIN, (_count(1, spread=0.5),), runs), stream)
    assert "2 s elapsed on average over 3 runs, from 1 s to 3 s" in stream.getvalue()
    assert "± 50.0%" in stream.getvalue()


def test_rows_for_scripts_keep_null_apart_from_zero() -> None:
    missing, zero = rows_as_json(
        (_count(None, Status.NOT_COUNTED, running=None), _count(0, spread=0.0))
    )
    assert missing == {
        "event": "event",
        "value": None,
        "unit": "count",
        "status": "not-counted",
        "running": None,
        "scope": "process",
        "spread": None,
    }
    assert (zero["value"], zero["status"], zero["spread"]) == (0, "counted", 0.0)


def test_large_counts_are_exact_in_json() -> None:
    [row] = json.loads(json.dumps(rows_as_json((_count(2**63 + 1),))))
    assert row["value"] == 2**63 + 1


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
