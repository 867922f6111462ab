"""`gnomon trace`, from a capture or a file to figures and to other tools."""

from __future__ import annotations

import csv
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import Outcome
from tests.recording.traces.captures import frame, pcap

from gnomon.cli import main

START = 1_700_000_000 * 10**9
TOOLS = ("tcpdump", "redis-server", "redis-benchmark", "tshark")
_FIELDS = ("frame.time_epoch", "frame.len", "ip.src", "tcp.srcport", "tcp.seq_raw", "tcp.payload")


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A capture of 40 packets in the current folder."""
    monkeypatch.chdir(tmp_path)
    frames = [
        (START + 1000 * n, frame("tcp", (1 + n % 2, 2 - n % 2), (80, 9), n, 0).data)
        for n in range(40)
    ]
    path = tmp_path / "dump.pcap"
    path.write_bytes(pcap(frames))
    return path


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> Outcome:
    try:
        code = main(["trace", *words])
    except SystemExit as ended:
        code = int(ended.code or 0)
    return Outcome(code, *capsys.readouterr())


def test_a_capture_is_imported_listed_asked_and_given_on(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = _run(capsys, "import", "dump.pcap", "-o", "d", "--compact")
    assert made.code == 0
    assert "40 records in" in made.out
    assert "0 segments, 1 Parquet files" in made.out
    listed = _run(capsys, "list", "d", "--filter", "ip.src == 10.0.0.2", "-n", "3", "--json")
    assert [row[0] for row in listed.json["results"]["rows"]] == [1, 3, 5]
    asked = _run(capsys, "query", "SELECT count(*) FROM packets WHERE sport = $p", "d",
                 "--param", "p=80", "--csv")  # fmt: skip
    assert asked.out.split()[1] == "40"
    told = _run(capsys, "latency", "d", "--from", "ip.src == 10.0.0.1", "--to",
                "ip.src == 10.0.0.2", "--by", "thread")  # fmt: skip
    assert "20 latencies by thread" in told.out
    assert "10.0.0.1:80 with 10.0.0.2:9" in _run(capsys, "chain", "0", "d").out
    assert "40 records in" in _run(capsys, "info", "d", "--verify").out
    given = _run(capsys, "export", "d", "out.pcap", "--filter", "frame.time > 0")
    assert "40 records in" in given.out
    again = _run(capsys, "import", "out.pcap", "-o", "again", "--json")
    assert again.json["results"]["records"] == 40


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("list", "d", "--filter", "tcp.port = 80"), "unexpected '=' at position 10"),
        (("query", "DROP VIEW rows", "d"), "must be one SELECT"),
        (("query", "types"), "needs a query and a trace"),
        (("query", "types", "d", "--param", "x"), "is not NAME=VALUE"),
        (("chain", "x", "d"), "'x' is no number of a record"),
        (("chain", "99", "d"), "there is no record 99: the trace has 0 to 39"),
        (("info", "none"), "is no trace"),
        (("info", "d", "--sort"), "--sort is for import, not info"),
        (("list", "d", "--as", "pcap"), "--as is for export, not list"),
        (("import", "dump.pcap"), "name the new trace"),
        (("import", "dump.pcap", "-o", "d"), "already exists"),
        (("import", "none.pcap", "-o", "e"), "there is no such file"),
        (("export", "d", "dump.pcap"), "already exists: choose another name, or --force"),
        (("export", "d", "x.doc"), "does not say which format"),
        (("latency", "d", "--from", "tcp"), "two points are needed"),
        (("list", "d", "-n", "0"), "--top must be at least 1"),
        (("capture", "-o", "c"), "say how long to capture"),
        (("capture", "-o", "c", "--duration", "1s", "--interface", "no0"), "tcpdump|permi"),
        (("info", "d", "--", "true"), "takes no program"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    dump: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], complaint: str
) -> None:
    assert _run(capsys, "import", "dump.pcap", "-o", "d").code == 0
    found = _run(capsys, *words)
    assert found.code in (1, 2)
    assert found.err.count("\n") == 1
    assert re.search(complaint, found.err)
    assert sorted(each.name for each in dump.parent.iterdir()) == ["d.trace", "dump.pcap"]


@pytest.fixture
def redis() -> Iterator[int]:
    """A Redis server on a port of its own."""
    for tool in TOOLS:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    words = ["--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    server = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield port
    server.terminate()
    server.wait()


@pytest.mark.slow
def test_a_server_under_load_is_captured_followed_and_read_back_by_tshark(
    redis: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    load = ["redis-benchmark", "-p", str(redis), "-n", "2000", "-c", "4", "-t", "set,get", "-q"]
    original = subprocess.Popen(
        ["tcpdump", "-i", "lo", "-B", "65536", "-w", "whole.pcap", f"port {redis}"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert original.stderr is not None
    if "listening" not in (said := original.stderr.readline()):
        pytest.skip(f"tcpdump cannot capture here: {said.strip()}")
    made = _run(capsys, "capture", "-o", "redis", "--interface", "lo", "--packets",
                f"port {redis}", "--json", "--", *load)  # fmt: skip
    time.sleep(0.3)
    original.terminate()
    original.communicate()
    assert made.code == 0
    records = made.json["results"]["records"]
    assert records >= 2000 * 2 * 2  # each command asks and answers

    # The same load, as tcpdump wrote it: imported, exported, and read back by tshark.
    assert _run(capsys, "import", "whole.pcap", "-o", "whole", "--sort").code == 0
    assert _run(capsys, "export", "whole", "back.pcap").code == 0
    before, after = _tshark("whole.pcap"), _tshark("back.pcap")
    assert len(after) > 8000
    assert after == sorted(before, key=lambda row: row[0])
    chosen = f"tcp.port == {redis} and frame.len > 100"
    count = _run(capsys, "export", "whole", "some.pcap", "--filter", chosen, "--json")
    assert count.json["results"]["records"] == len(_tshark("whole.pcap", chosen))

    told = _run(capsys, "latency", "redis", "--from", f"tcp.dstport == {redis} and tcp.flags == 24",
                "--to", f"tcp.srcport == {redis} and tcp.flags == 24", "--json")  # fmt: skip
    answered = told.json["results"]
    assert answered["pairs"] >= 0.98 * 4000
    worst = answered["slowest"][0]
    chain = _run(capsys, "chain", str(worst["begin"]), "redis", "--json").json["results"]
    follow = [step["record"] for step in chain["steps"]]
    assert worst["begin"] in follow
    assert worst["end"] in follow


def _tshark(path: str, chosen: str = "") -> list[Any]:
    fields = [word for each in _FIELDS for word in ("-e", each)]
    only = ["-Y", chosen] if chosen else []
    done = subprocess.run(
        ["tshark", "-r", path, "-T", "fields", "-E", "separator=,", *fields, *only],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [*csv.reader(done.stdout.splitlines())]
