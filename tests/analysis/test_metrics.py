"""Metrics over counts, and counts under portable names."""

from __future__ import annotations

import pytest

from gnomon.analysis.count import CountResult
from gnomon.analysis.count.counting import answer
from gnomon.analysis.count.metrics import derive, parse_names
from gnomon.analysis.summary import summarise
from gnomon.errors import UsageError
from gnomon.events.event import Event, Kind
from gnomon.events.syntax import ask
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status

from .readings import counted, missing

SECOND = 10**9


def _result(*readings: Reading, seconds: float = 2.0) -> CountResult:
    infos = [EventInfo(name, unit="ns") for name in ("task-clock", "task-clock:u")]
    runs = (RunInfo(0, end=round(seconds * SECOND)),)
    return CountResult(summarise(readings, infos), runs, provenance=Provenance("test", cpus=4))


def _resolve(name: str) -> tuple[Event, ...]:
    return (Event(name, kind=Kind.HARDWARE),)


def test_a_metric_is_computed_from_the_counts() -> None:
    result = _result(counted(300, event="instructions"), counted(200, event="cycles"))
    [ipc] = derive(result, ("ipc",))
    assert (ipc.value, ipc.unit) == (1.5, "instructions/cycle")


def test_time_is_that_of_a_run() -> None:
    [utilisation] = derive(_result(counted(SECOND, event="task-clock")), ("cpu_utilisation",))
    assert utilisation.value == pytest.approx(50.0)


def test_a_missing_count_makes_a_missing_metric_with_a_reason() -> None:
    gone = missing(Status.NOT_COUNTED, event="cycles")
    [ipc] = derive(_result(counted(300, event="instructions"), gone), ("ipc",))
    assert ipc.value is None
    assert "cycles" in ipc.reason or "PAPI_TOT_CYC" in ipc.reason


def test_counts_of_user_mode_alone_serve_as_well() -> None:
    result = _result(counted(300, event="instructions:u"), counted(200, event="cycles:u"))
    assert derive(result, ("ipc",))[0].value == 1.5


def test_a_mixture_of_modes_makes_no_ratio() -> None:
    result = _result(counted(300, event="instructions:u"), counted(200, event="cycles"))
    assert derive(result, ("ipc",))[0].value is None


def test_all_metrics_are_those_with_all_their_events() -> None:
    names = {metric.name for metric in derive(_result(counted(SECOND, event="task-clock")))}
    assert "cpu_utilisation" in names
    assert "ipc" not in names


def test_names_are_checked_and_the_nearest_is_suggested() -> None:
    assert parse_names(" ipc , cpi ") == ("ipc", "cpi")
    assert parse_names("all") is None
    with pytest.raises(UsageError, match="did you mean ipc"):
        parse_names("ipcc")


def test_a_preset_stands_where_it_was_asked_for() -> None:
    asked = ask("task-clock,PAPI_TOT_INS,PAPI_TOT_CYC", _resolve)
    counts = summarise(
        [counted(value, event=name) for name, value in (("cycles", 2), ("instructions", 3))]
        + [counted(1, event="task-clock")],
        [],
    )
    lines = answer(asked, counts)
    assert [(line.event, line.value) for line in lines] == [
        ("task-clock", 1),
        ("PAPI_TOT_INS", 3),
        ("PAPI_TOT_CYC", 2),
    ]


def test_a_preset_of_a_missing_count_is_missing() -> None:
    asked = ask("PAPI_TOT_INS", _resolve)
    [line] = answer(asked, summarise([missing(Status.NOT_PERMITTED, event="instructions")], []))
    assert (line.event, line.value, line.status) == ("PAPI_TOT_INS", None, Status.NOT_PERMITTED)


def test_a_preset_of_an_extrapolated_count_is_extrapolated() -> None:
    asked = ask("PAPI_TOT_INS", _resolve)
    half = counted(5, event="instructions", enabled=100, running=50)
    [line] = answer(asked, summarise([half], []))
    assert (line.value, line.status, line.running) == (10, Status.SCALED, 0.5)
