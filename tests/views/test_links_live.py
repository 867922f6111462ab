"""The live screen of links: its keys on a simulated machine, and the whole in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest
from tests.cli.running import command_line, environment

from gnomon import units
from gnomon.analysis.links.simulated import SimulatedLoader
from gnomon.analysis.links.topology import machine_topology
from gnomon.machines import load_machine
from gnomon.stress.nodes import Channel
from gnomon.views.links_live import _KEYS, _NAMES, LinksScreen, Shown, channels_table
from gnomon.views.terminal import Screen, lines

_SGR = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")


def drive(*keys: str, machine: str = "ring-4") -> tuple[LinksScreen, SimulatedLoader]:
    """Press keys on the screen; returns it and what it loads."""
    described = load_machine(machine)
    loader = SimulatedLoader(described)
    screen = LinksScreen(loader, machine_topology(described))
    for key in keys:
        screen.press(key)
    return screen, loader


def picture(screen: LinksScreen, columns: int = 120, height: int = 60) -> list[str]:
    return list(lines(screen.blocks(columns, height), Screen(columns)))


def test_arrows_select_and_plus_adds_a_generator() -> None:
    screen, loader = drive("down", "+", "+")
    assert loader.loads == {Channel(0, 2): 2}
    assert screen.chosen.count == 2
    assert screen.chosen.rate > 1e9
    rate = units.number(screen.chosen.rate, "B/s", digits=3)
    assert f"gives {rate:>9}" in "\n".join(picture(screen))


def test_minus_removes_and_zero_clears() -> None:
    assert drive("+", "+", "-")[1].loads == {Channel(0, 1): 1}
    assert drive("+", "+", "0", "-")[1].loads == {}


def test_brackets_limit_what_generators_read() -> None:
    full, _ = drive("+")
    less, loader = drive("+", *"[[[[[")
    assert loader.loads == {Channel(0, 1): 1}
    assert less.chosen.rate == pytest.approx(0.5 * full.chosen.rate, rel=0.25)
    least, _ = drive("+", *["["] * 30, "]")
    assert least.chosen.tenths == 2


def test_more_than_fits_is_refused_and_said() -> None:
    screen, loader = drive("+", "+", "+")
    assert loader.loads == {Channel(0, 1): 2}
    assert screen.message
    assert screen.message.split()[0] in "\n".join(picture(screen))
    screen.press("-")
    assert not screen.message


def test_one_node_shows_its_local_channel() -> None:
    screen, loader = drive("+", machine="laptop")
    assert loader.loads == {Channel(0, 0): 1}
    assert [row.channel for row in screen.rows] == [Channel(0, 0)]


def test_a_channel_is_a_row_whose_bar_is_full_at_the_most() -> None:
    rows = [Shown(Channel(0, 1), 2, 5, 8e9), Shown(Channel(1, 0), 0, 10, 0.0)]
    head, first, second = lines([channels_table(rows, 8e9, 0)], Screen(100, colour=True))
    assert head.split()[1:4] == ["generators", "duty", "reads"]
    assert first.startswith("\x1b[7m")  # the cursor
    assert "█" * 12 in first
    for text in ("0->1", "50 %", "8 GB/s", "4 GB/s", "100 %"):
        assert text in first
    assert "1->0" in second
    assert "GB/s" not in second


def test_the_cursor_goes_far_at_once_and_stays_on_the_list() -> None:
    assert drive("end", "down", "+")[1].loads == {Channel(3, 2): 1}
    assert drive("end", "home", "up", "+")[1].loads == {Channel(0, 1): 1}
    assert drive("page down", "+")[1].loads == {Channel(3, 1): 1}


def test_a_click_chooses_the_channel_of_its_line() -> None:
    screen, loader = drive()
    screen.click("1->2           0")
    screen.click("")
    screen.press("+")
    assert loader.loads == {Channel(1, 2): 1}


@pytest.mark.parametrize(("columns", "height"), [(80, 24), (120, 60), (20, 5), (1, 1)])
@pytest.mark.parametrize("machine", ["ring-4", "haswell-ex-4s", "laptop"])
def test_the_cursor_is_in_sight_whatever_the_size(machine: str, columns: int, height: int) -> None:
    screen, _ = drive("end", machine=machine)
    shown = picture(screen, columns, height)
    assert all(len(line) <= columns for line in shown)
    if columns >= 20:
        assert any(line.startswith(str(screen.chosen.channel)) for line in shown)
    if height >= 24:
        assert len(shown) < height


def test_nodes_take_the_place_of_channels_where_both_have_no_room() -> None:
    screen, _ = drive()
    assert "node 3" in "\n".join(picture(screen, 120, 60))
    few = picture(screen, 80, 20)
    assert "node 3" not in "\n".join(few)
    screen.press("\t")
    assert "node 3" in "\n".join(picture(screen, 80, 20))


def test_keys_that_come_at_once_are_told_apart() -> None:
    found = _KEYS.findall("+\x1b[A\x1b[6~\x1b[<0;3;4M\x1bOB\x03")
    assert found == ["+", "\x1b[A", "\x1b[6~", "\x1b[<0;3;4M", "\x1bOB", "\x03"]
    names = [_NAMES.get(key, key) for key in found]
    assert (names[1], names[2], names[4], names[5]) == ("up", "page down", "down", "q")


class Terminal:
    """The command in a terminal of 80 x 24, and what it has written there."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        self.size(80, 24)
        words = command_line("links", "live", "--on", "ring-4")
        shown = {**environment(), "TERM": "xterm-256color"}
        for name in ("COLUMNS", "LINES"):
            shown.pop(name, None)
        self.process = subprocess.Popen(
            words,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=shown,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, words: str, seconds: float = 120) -> str:
        """Wait for words; return what was written since the last ones."""
        deadline = time.monotonic() + seconds
        while words not in _SGR.sub("", self.text):
            assert time.monotonic() < deadline, self.text
            assert self._more(), self.text
        found, self.text = self.text, ""
        return found

    def rest(self) -> str:
        while self._more():
            pass
        return self.text

    def _more(self) -> bool:
        if select.select([self._ours], [], [], 60)[0]:
            try:
                found = os.read(self._ours, 65536)
            except OSError:  # the command has ended
                return False
            self.text += found.decode(errors="replace")
            return bool(found)
        return False

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.mark.parametrize("leaving", ["q", "\x03"])
def test_the_screen_is_used_resized_and_left_in_a_terminal(leaving: str) -> None:
    terminal = Terminal()
    try:
        terminal.until("0 generators")
        for part in ("+\x1b", "[B", "+"):  # a key may come in pieces
            terminal.press(part)
        terminal.until("2 generators")
        terminal.size(60, 12)
        small = terminal.until("of 12 channels")
        last = small.rpartition("\x1b[H")[2]
        assert all(len(line) <= 60 for line in _SGR.sub("", last).split("\r\n"))
        terminal.press(leaving)
        rest = terminal.rest()
        assert terminal.process.wait(60) == 0
        assert "\x1b[?1049l" in rest  # what was there before
        assert "\x1b[?25h" in rest
        assert "Traceback" not in rest
    finally:
        terminal.close()
