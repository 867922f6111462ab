"""Ctrl-C and TERM: an orderly end, with everything counted so far."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.stress.processes import children, running

from gnomon.recording import Recording

from .running import command_line, environment

pytestmark = pytest.mark.usefixtures("software_events")

_READY = "echo ready; exec sleep 600"


@contextmanager
def _running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a group of its own, as if no terminal sent it signals."""
    with subprocess.Popen(
        command_line(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _interrupted(process: subprocess.Popen[str], number: signal.Signals) -> tuple[str, str]:
    process.send_signal(number)
    return process.communicate(timeout=120)


def test_an_interrupted_program_is_shown_and_the_exit_status_is_130() -> None:
    with _running("count", "-e", "page-faults", "--", "sh", "-c", _READY) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        out, err = _interrupted(process, signal.SIGINT)
    assert process.returncode == 130
    assert "page-faults" in out
    assert "elapsed" in out
    assert all(line.startswith("warning: ") for line in err.splitlines())


def test_an_interrupted_json_is_still_one_object() -> None:
    with _running("count", "--json", "-e", "page-faults", "--", "sh", "-c", _READY) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        out, _ = _interrupted(process, signal.SIGINT)
    assert process.returncode == 130
    [row] = json.loads(out)["results"]["counts"]
    assert row["value"] > 0


def test_a_program_that_handles_the_interrupt_ends_in_its_own_way() -> None:
    script = "trap 'exit 3' INT; echo ready; while :; do sleep 0.02; done"
    with _running("count", "-e", "page-faults", "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        out, _ = _interrupted(process, signal.SIGINT)
    assert process.returncode == 3
    assert "page-faults" in out


def test_a_terminated_recording_is_complete(folder: Path) -> None:
    arguments = ("-i", "10ms", "-e", "page-faults", "-o", "run.gnomon")
    with _running("count", *arguments, "--", "sh", "-c", _READY) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        _interrupted(process, signal.SIGTERM)
    assert process.returncode == 143
    with Recording.open(folder / "run.gnomon") as recording:
        assert recording.complete
        [total] = recording.totals()
    assert total.value
    assert total.value > 0


def test_watching_a_process_ends_and_the_process_goes_on() -> None:
    with subprocess.Popen(["sleep", "600"]) as watched:
        arguments = ("-p", str(watched.pid), "-i", "10ms", "-e", "page-faults")
        with _running("count", *arguments) as process:
            assert process.stdout is not None
            assert "page-faults" in process.stdout.readline()
            out, _ = _interrupted(process, signal.SIGINT)
        assert process.returncode == 130
        assert "elapsed" in out
        assert watched.poll() is None
        watched.kill()


def test_a_second_interrupt_ends_a_program_that_ignores_the_first() -> None:
    script = "trap '' INT; echo ready; while :; do sleep 0.02; done"
    with _running("count", "-e", "page-faults", "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        programs = children(process.pid)
        # Signals of one kind that are sent at once may arrive as one.
        while running(programs):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        process.communicate(timeout=120)
    assert process.returncode == 137


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_estimate_keeps_readings_and_estimates(
    tmp_path: Path, number: signal.Signals
) -> None:
    events = ("-e", "page-faults,context-switches", "--registers", "1")
    program = ("--", "sh", "-c", _READY)
    with _running("estimate", *events, "-o", str(tmp_path / "r"), *program) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        out, _ = _interrupted(process, number)
    assert process.returncode == 128 + number
    assert "in 2 sets" in out
    with Recording.open(tmp_path / "r") as recording:
        assert recording.complete
        assert recording.count(event=["page-faults", "page-faults:u"]) > 0
        assert len(recording.columns("estimates")["mean"]) > 0
