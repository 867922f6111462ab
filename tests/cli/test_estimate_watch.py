"""`gnomon estimate --watch` on a terminal: it draws, follows the window, and ends cleanly."""

from __future__ import annotations

import pytest

from .terminal import SHOWN, Terminal

LAPTOP = ("--on", "laptop", "-e", "branches,branch-misses,cache-misses", "--registers", "1")
SLEEP = ("-e", "page-faults,context-switches", "--registers", "1", "--", "sleep", "60")


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (12, 60), (50, 200)])
def test_a_run_is_drawn_to_its_end(rows: int, columns: int) -> None:
    terminal = Terminal(
        *("estimate", "--watch", *LAPTOP, "-i", "3us", "--", "workload:bfs", "size=1024"),
        rows=rows,
        columns=columns,
    )
    assert terminal.end() == 0, terminal.text
    assert "Traceback" not in terminal.text
    assert terminal.text.rstrip().endswith(SHOWN)
    last = terminal.pictures()[-1]
    assert last[0].startswith("SIMULATED 62.4")
    assert len(last) < rows
    assert max(map(len, last)) <= columns
    assert any(line.startswith("branches") and "~" in line for line in last)
    assert any("more lines" in line for line in last) == (rows == 12)


def test_it_follows_the_window_and_ends_with_control_c() -> None:
    terminal = Terminal("estimate", "--watch", *SLEEP)
    terminal.read(until=lambda: terminal.text.count("\x1b[J") >= 2)
    terminal.resize(16, 60)
    terminal.read(until=lambda: "\x1b[2J" in terminal.text)
    before = len(terminal.pictures())
    terminal.read(until=lambda: len(terminal.pictures()) > before + 1)
    terminal.press("\x03")
    assert terminal.end() == 130, terminal.text
    assert "Traceback" not in terminal.text
    assert SHOWN in terminal.text
    last = terminal.pictures()[-1]
    assert len(last) < 16
    assert max(map(len, last)) <= 60
