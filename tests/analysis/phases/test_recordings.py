"""Phases of recordings: series from readings, counts given to phases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import gnomon as gn
from gnomon.errors import GnomonError, UsageError
from gnomon.recording import EventInfo, Provenance, Reading, RunInfo, Status
from gnomon.sources.abilities import RSS

START = 5_000_000_000
TICK = 10_000_000


def _record(
    path: Path,
    footprint: Sequence[int],
    faults: Sequence[int | None],
    *,
    tick: int = TICK,
    running: int | None = None,
) -> Path:
    """Write a run with a footprint (levels) and page faults (counts), read at each tick."""
    infos = (EventInfo(RSS, unit="B"), EventInfo("page-faults:u"))
    with gn.RecordingWriter(path, Provenance("perf", command=("./p",)), events=infos) as writer:
        before = 0
        for i, level in enumerate(footprint, 1):
            change, before = level - before, level
            row = Reading(START + i * TICK, RSS, "process", change, TICK, TICK, Status.COUNTED)
            writer.append([row])
        for i, value in enumerate(faults, 1):
            status = Status.NOT_COUNTED if value is None else Status.COUNTED
            on = 0 if value is None else tick if running is None else running
            time = START + i * tick
            writer.append([Reading(time, "page-faults:u", "process", value, tick, on, status)])
        writer.add_run(RunInfo(0, 0, START, START + len(footprint) * TICK, 0))
    return path


def _ramp(points: int, at: int) -> list[int]:
    return [4096 * 100 * min(i, at) + 1_000_000 for i in range(1, points + 1)]


def test_a_footprint_is_the_running_sum_of_its_changes(tmp_path: Path) -> None:
    levels = [*_ramp(30, 30), *reversed(_ramp(30, 30))]
    result = gn.phases(_record(tmp_path / "r.gnomon", levels, []))
    assert result.series[0].values.tolist() == levels
    assert len(result) == 2
    assert result.phases[0].fits[0].slope == pytest.approx(40_960_000)
    assert result.phases[1].fits[0].slope == pytest.approx(-40_960_000)
    assert result.origin == START
    assert result.time_unit == "ns"
    assert result.phases[-1].end == 60 * TICK


def test_counts_go_to_the_phase_they_fall_into(tmp_path: Path) -> None:
    path = _record(tmp_path / "r.gnomon", _ramp(60, 20), [100] * 20 + [1] * 40)
    result = gn.phases(path)
    first, second = result.phases
    assert first.end == pytest.approx(20 * TICK)
    assert first.count("page-faults").value == pytest.approx(2000)
    assert second.count("page-faults:u").value == pytest.approx(40)
    assert second.count("page-faults").rate == pytest.approx(100)
    assert [count.event for count in first.counts] == ["page-faults:u"]
    with pytest.raises(KeyError):
        first.count("cycles")


def test_a_slice_across_a_break_is_shared_by_time(tmp_path: Path) -> None:
    """Counts read every 30 ms: the break at 200 ms lies two thirds into the seventh slice."""
    path = _record(tmp_path / "r.gnomon", _ramp(60, 20), [30] * 20, tick=3 * TICK)
    first, second = gn.phases(path).phases
    assert first.count("page-faults").value == pytest.approx(6 * 30 + 20)
    assert second.count("page-faults").value == pytest.approx(600 - 200)


def test_missing_slices_are_not_zeros(tmp_path: Path) -> None:
    faults: list[int | None] = [10] * 20 + [None] * 40
    first, second = gn.phases(_record(tmp_path / "a.gnomon", _ramp(60, 20), faults)).phases
    assert first.count("page-faults").covered == pytest.approx(1)
    gone = second.count("page-faults")
    assert (gone.value, gone.rate, gone.status) == (None, None, Status.NOT_COUNTED)
    faults = [10, None] * 30
    first, _ = gn.phases(_record(tmp_path / "b.gnomon", _ramp(60, 20), faults)).phases
    assert first.count("page-faults").covered == pytest.approx(0.5)
    assert first.count("page-faults").value == pytest.approx(100)
    assert first.count("page-faults").rate == pytest.approx(1000)


def test_counts_for_part_of_the_time_are_extrapolated_and_say_so(tmp_path: Path) -> None:
    path = _record(tmp_path / "r.gnomon", _ramp(60, 20), [10] * 60, running=TICK // 2)
    count = gn.phases(path).phases[0].count("page-faults")
    assert count.value == pytest.approx(400)
    assert count.status is Status.SCALED


def test_a_run_can_be_split_by_an_event(tmp_path: Path) -> None:
    faults = [100 + i % 3 for i in range(25)] + [5 + i % 2 for i in range(35)]
    path = _record(tmp_path / "r.gnomon", _ramp(60, 20), faults)
    result = gn.phases(path, by="page-faults")
    assert [found.index for found in result.breaks] == [25]
    assert result.breaks[0].time == 25 * TICK
    assert result.series[0].is_rate
    assert result.phases[0].fits[0].first == pytest.approx(10_100, rel=0.01)
    assert result.phases[0].count("page-faults").value == pytest.approx(sum(faults[:25]))


def test_a_run_can_be_split_by_several_series(tmp_path: Path) -> None:
    faults = [100 + i % 3 for i in range(40)] + [5 + i % 2 for i in range(20)]
    path = _record(tmp_path / "r.gnomon", _ramp(60, 20), faults)
    result = gn.phases(path, by=["footprint", "page-faults"])
    assert [found.index for found in result.breaks] == [20, 40]


def test_the_run_can_be_chosen(tmp_path: Path) -> None:
    with gn.Recording.open(_record(tmp_path / "r.gnomon", _ramp(60, 20), [])) as recording:
        assert len(gn.phases(recording, run=0)) == 2
        with pytest.raises(UsageError, match="no run 3 to split: the recording has 0"):
            gn.phases(recording, run=3)


def test_what_the_recording_lacks_is_said(tmp_path: Path) -> None:
    info = (EventInfo("page-faults"),)
    with gn.RecordingWriter(tmp_path / "r.gnomon", Provenance("perf"), events=info) as writer:
        writer.append([Reading(1, "page-faults", "process", 1, 1, 1, Status.COUNTED)])
    with pytest.raises(UsageError, match=r"no footprint: record one .* --by page-faults"):
        gn.phases(tmp_path / "r.gnomon")
    with pytest.raises(UsageError, match="'cycles' is not in the recording: it has page-faults"):
        gn.phases(tmp_path / "r.gnomon", by="cycles")
    with pytest.raises(GnomonError, match="too few to split"):
        gn.phases(tmp_path / "r.gnomon", by="page-faults")


def test_series_that_share_no_times_are_refused(tmp_path: Path) -> None:
    path = _record(tmp_path / "r.gnomon", _ramp(60, 20), [1] * 300, tick=TICK // 7)
    path2 = _record(tmp_path / "s.gnomon", _ramp(6, 6), [1] * 3, tick=TICK * 100)
    with pytest.raises(GnomonError, match=r"too few to split|not read at the same times"):
        gn.phases(path, by="footprint,page-faults")
    with pytest.raises(GnomonError, match="not read at the same times"):
        gn.phases(path2, by="footprint,page-faults")


def test_a_phase_has_one_rate(tmp_path: Path) -> None:
    """Ticks of different lengths: the rate of a phase is its count by its time, everywhere."""
    faults = [100 + i % 3 for i in range(25)] + [5 + i % 2 for i in range(35)]
    path = _record(tmp_path / "r.gnomon", _ramp(60, 20), faults)
    for phase in gn.phases(path, by="page-faults").phases:
        assert phase.fits[0].level == phase.count("page-faults").rate
