"""Slices printed as they come."""

from __future__ import annotations

import io

from gnomon.recording.contents import Reading, Status
from gnomon.views.live import SlicePrinter

MS = 10**6


def _reading(time: int, event: str, value: int | None, scope: str = "process") -> Reading:
    status = Status.COUNTED if value is not None else Status.NOT_COUNTED
    return Reading(time * MS, event, scope, value, 10, 10, status)


def _printed(*slices: list[Reading]) -> list[str]:
    stream = io.StringIO()
    printer = SlicePrinter(stream, 50 * MS)
    for readings in slices:
        printer.take(readings)
    return stream.getvalue().splitlines()


def test_a_heading_comes_once_and_a_line_for_each_slice() -> None:
    lines = _printed([_reading(100, "a", 1)], [_reading(150, "a", 2)])
    assert [line.split() for line in lines[1:]] == [["0.050s", "1"], ["0.100s", "2"]]
    assert lines[0].split() == ["time", "a"]


def test_places_are_added_up() -> None:
    _, line = _printed([_reading(1, "a", 1, "cpu/0"), _reading(1, "a", 2, "cpu/1")])
    assert line.split()[1:] == ["3"]


def test_a_missing_value_is_a_dash_and_not_zero() -> None:
    _, line = _printed([_reading(1, "a", None), _reading(1, "b", 0)])
    assert line.split()[1:] == ["–", "0"]


def test_a_place_without_a_value_does_not_hide_the_others() -> None:
    _, line = _printed([_reading(1, "a", None, "cpu/0"), _reading(1, "a", 5, "cpu/1")])
    assert line.split()[1:] == ["5"]


def test_an_event_that_is_missing_from_a_slice_is_a_dash() -> None:
    *_, line = _printed([_reading(1, "a", 1), _reading(1, "b", 1)], [_reading(2, "b", 3)])
    assert line.split()[1:] == ["–", "3"]


def test_columns_line_up_under_long_names_and_large_numbers() -> None:
    name = "a-rather-long-name-of-an-event"
    lines = _printed(
        [_reading(1, name, 999_999_999), _reading(1, "b", 5)],
        [_reading(2, name, 12_345_678_901), _reading(2, "b", 6)],
    )
    assert len({len(line) for line in lines}) == 1
    assert "12.3 G" in lines[2]


def test_nothing_is_printed_for_nothing() -> None:
    assert _printed([]) == []


def test_a_new_run_is_marked_and_starts_from_zero() -> None:
    again = _reading(900, "a", 3)._replace(run=1)
    lines = _printed([_reading(100, "a", 1)], [again])
    assert lines[2] == "run 2"
    assert lines[4].split() == ["0.050s", "3"]
