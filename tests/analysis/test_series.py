"""The course of events over time, from recordings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from gnomon.analysis.recorded import Course
from gnomon.analysis.series import slices_over_time
from gnomon.recording import Provenance, Reading, Recording, RecordingWriter, RunInfo, Status

from .readings import counted, missing

SECOND = 10**9


def _course(
    path: Path,
    readings: Iterable[Reading],
    *,
    runs: Iterable[RunInfo] = (),
    run: int | None = None,
    events: Iterable[str] = ("a",),
) -> Course:
    with RecordingWriter(path / "r.gnomon", Provenance("test")) as writer:
        writer.append(readings)
        for info in runs:
            writer.add_run(info)
    with Recording.open(path / "r.gnomon") as recording:
        return slices_over_time(recording, set(events), run=run)


def _slice(value: int, end: int, **more: int | str) -> Reading:
    return counted(value, time=end * SECOND, enabled=SECOND, **more)  # type: ignore[arg-type]


def test_values_become_rates_by_the_time_since_the_slice_before(tmp_path: Path) -> None:
    readings = [_slice(10, 11), _slice(10, 13), _slice(10, 14)]
    course = _course(tmp_path, readings, runs=[RunInfo(0, start=10 * SECOND, end=14 * SECOND)])
    assert course.series["a"].rates == (10.0, 5.0, 10.0)
    assert course.ticks == 3
    assert course.span == 4 * SECOND


def test_without_a_known_start_the_first_slice_is_as_long_as_the_second(tmp_path: Path) -> None:
    course = _course(tmp_path, [_slice(10, 11), _slice(10, 13)])
    assert course.series["a"].rates == (5.0, 5.0)
    assert course.span == 4 * SECOND


def test_the_mean_is_over_time_and_the_peak_is_the_highest_rate(tmp_path: Path) -> None:
    readings = [_slice(30, 11), _slice(10, 13)]
    course = _course(tmp_path, readings, runs=[RunInfo(0, start=10 * SECOND)])
    assert course.series["a"].mean == pytest.approx(40 / 3)
    assert course.series["a"].peak == 30


def test_places_are_added_up(tmp_path: Path) -> None:
    readings = [
        _slice(value, end, scope=f"cpu/{cpu}") for end in (1, 2) for cpu, value in enumerate((3, 4))
    ]
    assert _course(tmp_path, readings).series["a"].rates == (7.0, 7.0)


def test_a_slice_without_a_value_is_a_gap_and_not_zero(tmp_path: Path) -> None:
    readings = [_slice(5, 1), missing(Status.NOT_COUNTED, time=2 * SECOND), _slice(5, 3)]
    series = _course(tmp_path, readings).series["a"]
    assert series.rates == (5.0, None, 5.0)
    assert series.mean == 5.0


def test_a_counted_zero_is_no_gap(tmp_path: Path) -> None:
    assert _course(tmp_path, [_slice(5, 1), _slice(0, 2)]).series["a"].rates == (5.0, 0.0)


def test_an_event_that_was_never_counted_has_no_mean(tmp_path: Path) -> None:
    readings = [missing(Status.NOT_COUNTED, time=end * SECOND) for end in (1, 2)]
    series = _course(tmp_path, readings).series["a"]
    assert series.rates == (None, None)
    assert (series.mean, series.peak) == (None, None)


def test_a_slice_counted_in_part_stands_for_all_of_it(tmp_path: Path) -> None:
    half = counted(5, time=SECOND, enabled=SECOND, running=SECOND // 2)
    assert _course(tmp_path, [half, _slice(10, 2)]).series["a"].rates == (10.0, 10.0)


def test_a_slice_that_another_tool_scaled_is_not_scaled_again(tmp_path: Path) -> None:
    half = counted(5, time=SECOND, enabled=SECOND, running=SECOND // 2, status=Status.SCALED)
    assert _course(tmp_path, [half, _slice(5, 2)]).series["a"].rates == (5.0, 5.0)


def test_the_first_run_is_shown_unless_another_is_asked_for(tmp_path: Path) -> None:
    readings = [_slice(run + 1, end, run=run) for run in (0, 1) for end in (1, 2)]
    runs = [RunInfo(0), RunInfo(1)]
    assert _course(tmp_path, readings, runs=runs).series["a"].rates == (1.0, 1.0)
    (tmp_path / "second").mkdir()
    second = _course(tmp_path / "second", readings, runs=runs, run=1)
    assert second.series["a"].rates == (2.0, 2.0)


def test_only_the_events_asked_for_are_returned(tmp_path: Path) -> None:
    readings = [_slice(1, end, event=event) for end in (1, 2) for event in ("a", "b")]
    assert set(_course(tmp_path, readings, events=["b"]).series) == {"b"}


def test_a_single_reading_has_no_course(tmp_path: Path) -> None:
    course = _course(tmp_path, [_slice(1, 1)])
    assert course.series == {}
    assert course.ticks == 1


def test_an_empty_recording_has_no_course(tmp_path: Path) -> None:
    assert _course(tmp_path, []) == Course({}, 0)


def test_a_footprint_is_what_was_there_at_each_time(tmp_path: Path) -> None:
    changes = [(4096, 11), (8192, 12), (-4096, 13)]
    readings = [_slice(value, end)._replace(event="footprint:rss") for value, end in changes]
    course = _course(tmp_path, readings, events=["footprint:rss"])
    level = course.series["footprint:rss"]
    assert level.level
    assert (level.rates, level.peak) == ((4096.0, 12288.0, 8192.0), 12288.0)
