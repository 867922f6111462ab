"""Bars and live pictures on a terminal of 80 x 24: to their end, resized, and with Ctrl-C."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .terminal import SHOWN, Terminal

pytestmark = pytest.mark.usefixtures("software_events")

BRIEF = ("--", "sh", "-c", "sleep 0.05")
LONG = ("--", "sh", "-c", "sleep 60")
SENTENCES = ("gnomon: ", "warning: ")  # the terminal wraps them
CAMPAIGNS = {
    "count": ("count", "-r", "3", "-e", "page-faults"),
    "survey": ("survey", "-r", "2", "-e", "page-faults,task-clock", "--on", "host"),
    "compare": ("compare", "-r", "2", "-e", "page-faults", *BRIEF),
    "scale": ("scale", "--param", "n=1,2,3", "-r", "2", "-e", "page-faults"),
}
LATENCY = ("latency", "--on", "ring-4", "--", "workload:random", "placement=interleave")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _check(terminal: Terminal, *, columns: int = 80) -> list[str]:
    """Check what is true of every end, and return the lines that stand."""
    assert "Traceback" not in terminal.text
    assert terminal.text.count("\x1b[?25l") <= terminal.text.count(SHOWN)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.text)
    stand = [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]
    assert all(len(line) <= columns for line in stand if not line.startswith(SENTENCES)), stand
    return stand


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_campaign_shows_a_bar_to_its_end(name: str) -> None:
    terminal = Terminal(*CAMPAIGNS[name], *BRIEF, "name", "{n}")
    assert terminal.end() == 0, terminal.text
    assert "runs" in terminal.text
    assert any("page-faults" in line or " elapsed, " in line for line in _check(terminal))


@pytest.mark.parametrize("name", ["count", "survey", "scale"])
def test_a_campaign_is_resized_and_ended_with_control_c(name: str) -> None:
    terminal = Terminal(*CAMPAIGNS[name], *LONG, "name", "{n}")
    terminal.read(until=lambda: "0/" in terminal.text)
    terminal.resize(12, 40)
    before = len(terminal.text)
    terminal.read(until=lambda: len(terminal.text) > before)
    terminal.press("\x03")
    assert terminal.end() == 130, terminal.text
    _check(terminal)


def test_latency_is_drawn_while_it_runs_to_its_end() -> None:
    terminal = Terminal(*LATENCY, "size=64KiB")
    assert terminal.end() == 0, terminal.text
    assert any("Loads by latency" in line for line in _check(terminal))


def test_latency_is_resized_and_ended_with_control_c() -> None:
    terminal = Terminal(*LATENCY, "size=64MiB")
    terminal.read(until=lambda: "loads take" in terminal.text)
    terminal.resize(16, 60)
    before = len(terminal.text)
    terminal.read(until=lambda: "loads take" in terminal.text[before:])
    terminal.press("\x03")
    assert terminal.end() in (0, 130), terminal.text
    _check(terminal)


def test_ticks_of_a_count_end_with_control_c() -> None:
    terminal = Terminal("count", "-i", "50ms", "-e", "page-faults", *LONG)
    terminal.read(until=lambda: terminal.text.count("\n") > 3)
    terminal.press("\x03")
    assert terminal.end() == 130, terminal.text
    assert any("elapsed" in line for line in _check(terminal))
