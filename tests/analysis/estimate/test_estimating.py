"""Whole runs: sets take turns, everything is recorded, and nothing wrong spreads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.analysis.estimate import State, stored_estimates
from gnomon.analysis.estimate.estimating import Moment
from gnomon.errors import GnomonError, UsageError
from gnomon.recording import Recording
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Command, Turn
from gnomon.sources.machine.source import MachineSource

from .series import in_turn, program

EVENTS = "branches,branch-misses,L1-dcache-loads,cache-misses,dTLB-load-misses,page-faults"
WORK = ["workload:bfs", "size=1024"]


def _estimate(tmp_path: Path | None = None, **options: Any) -> State:
    settings: dict[str, Any] = {
        "interval": "2us",
        "registers": 2,
        "on": MachineSource("laptop"),
    }
    output = None if tmp_path is None else tmp_path / "state"
    return gn.estimate(WORK, EVENTS, output=output, **(settings | options))


def _truth() -> dict[str, float]:
    source = MachineSource("laptop")
    wide = MachineSource("laptop", pmu=replace(source.pmu, general=32, uncore=32))
    found = gn.count(Command(tuple(WORK)), f"instructions,cycles,{EVENTS}", on=wide)
    return {line.event: float(line.value or 0) for line in found.counts}


def test_what_is_always_counted_is_exact_and_the_rest_is_near() -> None:
    state = _estimate()
    truth = _truth()
    assert len(state.readings.layout.sets) == 3
    for name in ("instructions", "cycles"):
        assert state[name].total == truth[name]
        assert not state[name].estimated
    line = state["branches"]
    assert line.total is not None
    assert line.total == pytest.approx(truth["branches"], rel=0.2)
    assert line.estimated
    assert 0.2 < line.read < 0.5


def test_where_an_event_was_read_the_estimate_is_what_was_read() -> None:
    state = _estimate()
    read = np.isfinite(state.readings.counts)
    assert np.array_equal(state.estimates.mean[read], state.readings.counts[read])
    assert not state.estimates.deviation[read].any()
    assert np.isfinite(state.estimates.mean).all()
    assert (state.estimates.low <= state.estimates.mean).all()
    assert (state.estimates.mean <= state.estimates.high).all()


def test_a_recording_gives_the_same_state_back(tmp_path: Path) -> None:
    state = _estimate()
    recorded = _estimate(tmp_path)
    assert np.array_equal(recorded.estimates.high, state.estimates.high)
    assert recorded.run.exit_status == state.run.exit_status == 0
    again = gn.estimate(tmp_path / "state")
    assert again.ends == state.ends
    assert np.array_equal(again.readings.counts, state.readings.counts, equal_nan=True)
    assert np.array_equal(again.estimates.mean, state.estimates.mean)
    assert np.allclose(again.totals.mean, state.totals.mean)
    assert again.provenance.always == ("instructions", "cycles")
    smooth = gn.estimate(tmp_path / "state", smooth=True)
    assert smooth.smoothed
    assert smooth.estimates.mean.shape == state.estimates.mean.shape
    assert "workload:bfs" in smooth._repr_html_()
    assert not gn.estimate(tmp_path / "state", model="hold").smoothed


def test_raw_readings_stand_for_the_whole_run(tmp_path: Path) -> None:
    state = _estimate(tmp_path)
    span = state.ends[-1]
    with Recording.open(tmp_path / "state") as recording:
        totals = [t for t in recording.totals() if t.event == "branches"]
        raw = sum(t.value or 0 for t in totals)
        estimates = recording.columns("estimates", event="branches")
    assert raw == np.nansum(state.readings.counts[:, state.names.index("branches") - 2])
    for total in totals:
        assert total.enabled == pytest.approx(span, rel=0.01)
        assert 0.2 < total.running / total.enabled < 0.5
    assert len(estimates["mean"]) == len(state)


def test_a_recording_that_was_cut_short_is_estimated_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gnomon.recording import RecordingWriter

    monkeypatch.setattr(RecordingWriter, "append_estimate_columns", lambda *_: None)
    _estimate(tmp_path)
    stored = stored_estimates(tmp_path / "state")
    assert "have no stored estimates" in stored.warnings[-1]
    again = gn.estimate(tmp_path / "state")
    assert not any("no stored estimates" in text for text in again.warnings)
    assert np.allclose(again.estimates.mean, _estimate().estimates.mean, rtol=1e-6)


def test_what_is_recorded_is_not_kept_in_memory_as_well(tmp_path: Path) -> None:
    kept: list[int] = []
    state = _estimate(tmp_path, on_tick=lambda moment: kept.append(len(moment.gathered.readings)))
    assert len(state) > 20
    assert max(kept) <= len(state.readings.layout.sets) + 1


def test_what_is_only_watched_is_not_kept() -> None:
    kept: list[int] = []
    state = _estimate(on_tick=lambda m: kept.append(len(m.gathered.readings)), keep=False)
    assert len(kept) > 20
    assert max(kept) <= len(state.readings.layout.sets) + 1
    assert len(state) == 0
    assert state["branches"].total is None


def test_metrics_have_intervals() -> None:
    found = {metric.name: metric for metric in _estimate().metrics}
    assert found["ipc"].low == found["ipc"].high
    rate = found["branch_misprediction_rate"]
    assert rate.low is not None
    assert rate.value is not None
    assert rate.high is not None
    assert rate.low <= rate.value <= rate.high
    assert len(rate.values) == len(rate.lows) > 10


def test_one_event_and_more_sets_than_ticks() -> None:
    source = MachineSource("laptop")
    one = gn.estimate(WORK, "branches", on=source, interval="5us")
    assert not one["branches"].estimated
    few = gn.estimate(WORK, EVENTS, on=source, registers=1, interval="40us")
    assert len(few) < len(few.readings.layout.sets) + 2
    unread = [line for line in few.events if line.total is None]
    assert all(line.read == 0 for line in unread)


def test_weights_are_of_events_or_metrics_that_take_turns() -> None:
    heavy = _estimate(weights={"branch-misses": 50.0})
    plain = _estimate()
    assert heavy["branch-misses"].read > plain["branch-misses"].read
    _estimate(weights={"branch_misprediction_rate": 3.0})
    with pytest.raises(UsageError, match="'cycles' takes no turns"):
        _estimate(weights={"cycles": 2.0})
    with pytest.raises(UsageError, match="takes no weights"):
        _estimate(weights={"branches": 2.0}, order="shuffled")


def test_a_valgrind_source_has_no_turns() -> None:
    with pytest.raises(UsageError, match="valgrind counts whole runs only"):
        gn.estimate(["true"], "valgrind::Ir,valgrind::Dr", on="valgrind")


def _with_turns(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Iterator[Turn]], Iterator[Turn]]
) -> None:
    from gnomon.sources.simulated.counting import MachineRotation

    original = MachineRotation.turns
    monkeypatch.setattr(
        MachineRotation, "turns", lambda self, *arguments: change(original(self, *arguments))
    )


def test_a_source_that_dies_leaves_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(turns: Iterator[Turn]) -> Iterator[Turn]:
        for number, turn in enumerate(turns):
            if number == 9:
                raise GnomonError("the machine is on fire.")
            yield turn

    _with_turns(monkeypatch, dying)
    state = _estimate(tmp_path)
    assert len(state) == 9
    assert state.failed
    assert any("on fire" in text for text in state.warnings)
    assert len(gn.estimate(tmp_path / "state")) == 9


def test_wrong_readings_of_one_event_leave_the_others_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = _estimate(order="shuffled")

    def wrong(turns: Iterator[Turn]) -> Iterator[Turn]:
        for number, turn in enumerate(turns):
            readings = tuple(_spoiled(r, number) for r in turn.readings)
            yield turn._replace(readings=readings)

    _with_turns(monkeypatch, wrong)
    state = _estimate(order="shuffled")
    assert any("readings of branch-misses" in text for text in state.warnings)
    place = state.readings.layout.events.index("branch-misses")
    others = np.arange(len(state.readings.layout)) != place
    assert np.array_equal(state.estimates.mean[:, others], plain.estimates.mean[:, others])
    assert np.isfinite(state.estimates.mean).all()


def _spoiled(reading: Reading, number: int) -> Reading:
    if reading.event != "branch-misses" or number < 6:
        return reading
    match number % 3:
        case 0:
            return reading._replace(value=-(2**40))
        case 1:
            return reading._replace(value=None, status=Status.NOT_COUNTED)
    return reading


@pytest.mark.parametrize("recorded", [False, True])
def test_late_and_missing_ticks_are_taken_as_they_are(
    recorded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gaps(turns: Iterator[Turn]) -> Iterator[Turn]:
        for number, turn in enumerate(turns):
            if number == 5:
                yield turn._replace(time=turn.start)  # time stands still
            elif number != 7:  # and a tick is lost altogether
                yield turn

    plain = _estimate(order="shuffled")
    _with_turns(monkeypatch, gaps)
    state = _estimate(tmp_path if recorded else None, order="shuffled")
    assert len(state) == len(plain) - 2
    assert np.isfinite(state.estimates.mean).all()
    assert any("time did not pass" in text for text in state.warnings)


def test_software_events_take_turns_on_this_host(tmp_path: Path) -> None:
    work = [sys.executable, "-c", "[bytearray(4096) for _ in range(30000)]"]
    names = "page-faults,minor-faults,context-switches"
    state = gn.estimate(work, names, registers=1, interval="5ms", output=tmp_path / "s")
    assert len(state.readings.layout.sets) == 3
    assert state.run.exit_status == 0
    faults = next(line for line in state.events if line.event.startswith("page-faults"))
    assert faults.total is not None
    assert faults.read < 0.7
    assert state.cost is not None


def test_the_interval_must_make_sense() -> None:
    with pytest.raises(UsageError, match="at least 1 ns"):
        _estimate(interval=0)


def test_watching_sees_every_tick() -> None:
    moments: list[Moment] = []
    state = _estimate(on_tick=moments.append)
    assert len(moments) == len(state)
    now = moments[-1].now()
    assert now.simulated
    assert now.metrics.keys() >= {"ipc"}
    assert not moments[-1].now(metrics=False).metrics


def test_readings_that_are_arrays_are_estimated_as_those_of_a_recording_are() -> None:
    state = _estimate()
    for smooth in (False, True):
        again = gn.estimate(state.readings, model="hold", smooth=smooth)
        assert again.smoothed is smooth
        assert again.ends[-1] == pytest.approx(state.ends[-1], rel=1e-9)
        assert again["cycles"].total == state["cycles"].total
        assert np.isfinite(again.estimates.mean).all()


def test_what_changed_its_name_says_so() -> None:
    for name in ("observe", "state_of"):
        with pytest.raises(AttributeError, match=r"now gnomon\.estimate"):
            getattr(gn, name)


def test_ticks_to_come_are_expected_within_intervals_that_grow() -> None:
    readings = in_turn(*program(240, 4))
    found = gn.estimate(readings, ahead="8s")  # a tick of arrays lasts a second
    assert [each.event for each in found.ahead] == list(readings.layout.events)
    for each in found.ahead:
        assert len(each.rates) == 8
        assert all(
            low <= rate <= high
            for low, rate, high in zip(each.lows, each.rates, each.highs, strict=True)
        )
    widths = [sum(e.highs[at] - e.lows[at] for e in found.ahead) for at in (0, 7)]
    assert widths[1] > widths[0]
    assert not gn.estimate(readings).ahead
    for wrong, said in (("0s", "longer than zero"), ("2000s", "at most 1,000")):
        with pytest.raises(UsageError, match=said):
            gn.estimate(readings, ahead=wrong)


def test_what_cannot_be_true_is_left_out_of_arrays_and_named() -> None:
    readings = in_turn(*program(240, 4))
    rows = np.flatnonzero(np.isfinite(readings.counts[:, 1]))
    counts, fixed, seconds = (
        each.copy() for each in (readings.counts, readings.fixed, readings.seconds)
    )
    counts[rows[20:23], 1] = [np.inf, -3.0, -(2.0**48)]  # a counter that was reset, or wrapped
    fixed[100, 0] = -1.0
    seconds[[50, 51]] = [0.0, -2.0]
    bad = replace(readings, counts=counts, fixed=fixed, seconds=seconds)
    found, usual = gn.estimate(bad), gn.estimate(readings)
    assert len(found) == len(usual) - 2
    said = " ".join(found.warnings)
    assert "2 ticks in which time did not pass" in said
    assert "3 readings of event1 were negative or infinite" in said
    assert "1 readings of instructions" in said
    assert np.isfinite(found.estimates.mean[20:]).all()
    kept = np.delete(np.arange(240), [50, 51])
    same = found.estimates.mean[:48, 2], usual.estimates.mean[kept][:48, 2]
    assert np.array_equal(*same)  # nothing wrong has happened yet
    late = np.abs(found.estimates.mean - usual.estimates.mean[kept])[150:, [0, 2, 3]].sum()
    assert late < 0.2 * usual.estimates.mean[kept][150:, [0, 2, 3]].sum()
    assert not usual.warnings
