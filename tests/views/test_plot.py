"""Pictures of dots in a terminal."""

from __future__ import annotations

from gnomon.views.plot import dot_plot, ruler


def test_a_ramp_goes_from_the_lower_left_to_the_upper_right() -> None:
    lines, low, high = dot_plot(range(100), range(100), start=0, end=100, columns=10, rows=4)
    assert (low, high) == (0, 99)
    assert [len(line) for line in lines] == [10] * 4
    blank = "\u2800"
    assert lines[0][:7] == blank * 7
    assert lines[0][9] != blank
    assert lines[3][0] != blank
    assert lines[3][3:] == blank * 7


def test_a_short_peak_is_not_lost() -> None:
    values = [0.0] * 1000
    values[500] = 9.0
    lines, _, _ = dot_plot(range(1000), values, start=0, end=1000, columns=10, rows=2)
    assert lines[0][5] != "\u2800"


def test_zero_is_shown_when_it_is_near() -> None:
    assert dot_plot([0, 1], [2, 10], start=0, end=1)[1] == 0
    assert dot_plot([0, 1], [9, 10], start=0, end=1)[1] == 9
    assert dot_plot([0, 1], [5, 5], start=0, end=1)[1:] == (5, 5)


def test_the_ruler_numbers_the_stretches() -> None:
    line = ruler([0, 50, 100], columns=21)
    assert len(line) == 21
    assert line[0] == "├"
    assert line[10] == "┼"
    assert line[-1] == "┤"
    assert line.index("1") < 10 < line.index("2")


def test_a_stretch_without_room_has_no_number() -> None:
    line = ruler([0, 1, 100], columns=20)
    assert "1" not in line
    assert "2" in line
