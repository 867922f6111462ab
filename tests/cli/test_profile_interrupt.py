"""Ctrl-C during a profile."""

from __future__ import annotations

import signal
import subprocess
import sys

_BUSY = "import sys\nprint('ready', flush=True)\nwhile True: pass"


def test_ctrl_c_shows_what_was_sampled_and_ends_the_program() -> None:
    command = [sys.executable, "-m", "gnomon", "profile", "-e", "cpu-clock"]
    with subprocess.Popen(
        [*command, "--", sys.executable, "-c", _BUSY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert "samples of cpu-clock" in out
    assert running.returncode == 130
