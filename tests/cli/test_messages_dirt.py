"""`gnomon messages dirt`: pictures, sweeps, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .running import ENVELOPE, Run, one_sentence, still_running, wait_for_children

_SMALL = ("--volume", "32", "--brick", "8", "--cache", "2048", "--image", "32", "--frames", "1")


def test_a_picture_and_what_it_took(gnomon: Run, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    outcome = gnomon("messages", "dirt", *_SMALL, "-o", str(picture))
    assert outcome.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    for word in ("misses", "wrong wakes", "CPU time", "cache_down", "handle_request"):
        assert word in outcome.out
    again = gnomon("messages", "dirt", *_SMALL, "-o", str(picture))
    assert again.code == 2
    assert "already exists" in again.err


def test_wakes_by_line_and_by_request_as_json(gnomon: Run) -> None:
    content = gnomon("messages", "dirt", *_SMALL, "--sweep", "wakes", "--json").json
    assert set(content) == ENVELOPE
    assert content["simulated"] is False
    line, request = content["results"]["runs"]
    assert [run["settings"]["wakes"] for run in (line, request)] == ["line", "request"]
    assert content["results"]["sweep"] == "wakes"
    assert request["wrong_wakes"] == 0
    assert line["cpu_seconds"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nodes", "99"], "nodes must be 1 to 16, not 99"),
        (["--cache", "5"], "holds no brick"),
        (["--sweep", "wakes", "-o", "x.png"], "omit the output"),
        (["-o", "nowhere/x.png"], "no folder"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_mistakes_are_told_in_a_sentence(gnomon: Run, words: list[str], said: str) -> None:
    outcome = gnomon("messages", "dirt", *words)
    assert outcome.code == 2
    assert said in outcome.err
    assert one_sentence(outcome.err)


def test_nothing_is_left_after_an_interrupt(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gnomon", "messages", "dirt", "--image", "512"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [*command, "--frames", "100"], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        nodes = wait_for_children(process.pid, 2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert len(nodes) == 2
    # One that was being started just then ends itself, since nobody is at the other end.
    assert not still_running(nodes)
    assert not list(tmp_path.iterdir())
