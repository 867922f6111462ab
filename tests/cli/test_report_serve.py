"""A served report follows its recording while it is being written."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gnomon.recording import RecordingWriter
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status


def _add_run(writer: RecordingWriter, run: int) -> None:
    time = 1_000 * (run + 1)
    writer.append(
        Reading(time, event, "process", 100 + run, 10, 10, Status.COUNTED, run)
        for event in ("first", "second")
    )
    writer.add_run(RunInfo(run, 0, time - 1_000, time, 0))
    writer.flush()


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[RecordingWriter]:
    origin = Provenance(
        "perf", command=("./program",), plan=("perf first,second",), repeat=3, target="command"
    )
    infos = [EventInfo("first"), EventInfo("second")]
    with RecordingWriter(tmp_path / "run.gnomon", origin, infos) as opened:
        _add_run(opened, 0)
        yield opened


@pytest.fixture
def served(writer: RecordingWriter) -> Iterator[str]:
    """The address of `gnomon report --serve`, a program of its own as users have it."""
    words = [sys.executable, "-m", "gnomon", "report", "--serve", str(writer.path)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield line.partition("http://")[2].partition(" ")[0]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def _get(address: str) -> str:
    with urlopen(f"http://{address}", timeout=60) as answer:
        text: str = answer.read().decode()
        return text


def test_the_page_follows_a_recording_that_grows(served: str, writer: RecordingWriter) -> None:
    before = _get(served + "version")
    page = _get(served)
    assert "data-follow" in page
    assert "2 events in 1 run" in page
    assert _get(served + "version") == before
    _add_run(writer, 1)
    assert _get(served + "version") != before
    assert "2 events in 2 runs" in _get(served)


def test_there_is_one_page_only(served: str) -> None:
    with pytest.raises(HTTPError) as failure:
        urlopen(f"http://{served}elsewhere", timeout=60)
    assert failure.value.code == 404
    failure.value.close()


def test_a_reader_that_goes_away_is_no_error(
    capfd: pytest.CaptureFixture[str], served: str
) -> None:
    assert "data-follow" in _get(served)  # what is asked for next is there at once
    host, _, port = served.rstrip("/").partition(":")
    for _ in range(8):
        with socket.create_connection((host, int(port))) as connection:
            linger = struct.pack("ii", 1, 0)  # says at once that nobody listens
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.sendall(b"GET /version HTTP/1.0\r\n\r\n")
        _get(served + "version")
    assert "Traceback" not in capfd.readouterr().err
