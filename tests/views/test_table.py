"""Tables: aligned whatever they hold, plain in a pipe."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.views.table import Column, Table
from gnomon.views.terminal import width


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def _table(*rows: tuple[str, str], title: str = "") -> Table:
    table = Table((Column("name"), Column("count", right=True)), title=title)
    for row in rows:
        table.add(*row)
    return table


def test_texts_go_left_and_numbers_right() -> None:
    assert _table(("a", "1"), ("long name", "12,345")).lines() == [
        "  name        count",
        "  a               1",
        "  long name  12,345",
    ]


def test_a_column_without_any_content_is_left_out() -> None:
    assert _table(("a", ""), ("b", "")).lines() == ["  name", "  a", "  b"]


def test_lines_have_no_blanks_at_their_end() -> None:
    table = Table((Column("a"), Column("b")))
    table.add("x", "")
    table.add("y", "long")
    assert all(line == line.rstrip() for line in table.lines())


def test_a_table_without_rows_has_only_a_heading_line_without_columns() -> None:
    assert _table().lines() == [""]


def test_a_title_stands_above() -> None:
    assert _table(("a", "1"), title="Title").lines()[0] == "Title"


def test_a_row_of_the_wrong_length_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="3 cells"):
        _table().add("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("µs", 2),
        ("–", 1),
        ("漢字", 4),
        ("ｶﾅ", 2),
        ("e\u0301", 1),
        ("▁█", 2),
        ("🙂", 2),
    ],
)
def test_the_width_is_that_on_a_terminal(text: str, columns: int) -> None:
    assert width(text) == columns


def test_wide_characters_do_not_push_the_next_column() -> None:
    lines = _table(("漢字", "1"), ("abcd", "22")).lines()
    assert {width(line) for line in lines[1:]} == {width(lines[0])}


_CELL = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12
)


@given(st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=8))
def test_the_right_edge_of_a_right_column_is_straight(rows: list[tuple[str, str]]) -> None:
    lines = _table(*rows).lines()
    assert len({width(line) for line in lines}) == 1


def test_headings_stand_out_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = _table(("a", "1"), title="Title")
    pipe, screen = io.StringIO(), Terminal()
    table.print(pipe)
    table.print(screen)
    assert "\x1b" not in pipe.getvalue()
    title, heading, row = screen.getvalue().splitlines()
    assert heading == "\x1b[1m  name  count\x1b[0m"
    assert "\x1b" not in title + row


def test_no_colour_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Terminal()
    _table(("a", "1")).print(screen)
    assert "\x1b" not in screen.getvalue()
