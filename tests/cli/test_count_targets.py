"""`gnomon count` on running processes and whole CPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.sources.perf.source import PerfSource

from .running import Run, one_sentence

pytestmark = pytest.mark.usefixtures("software_events")


@pytest.fixture
def busy() -> Iterator[int]:
    """A process that computes until it is ended."""
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        yield process.pid
        process.kill()


def test_a_running_process_is_counted_for_a_while(gnomon: Run, busy: int) -> None:
    outcome = gnomon("count", "--json", "-p", str(busy), "-d", "200ms", "-e", "task-clock")
    assert outcome.code == 0
    [row] = outcome.json["results"]["counts"]
    assert row["value"] > 0
    assert row["scope"] == f"thread/{busy}"


def test_a_process_that_ends_ends_the_counting(gnomon: Run) -> None:
    with subprocess.Popen(["sleep", "0.2"]) as process:
        outcome = gnomon("count", "-p", str(process.pid), "-e", "page-faults")
    assert outcome.code == 0
    assert f"process {process.pid}: counted by host" in outcome.out


def test_per_scope_has_a_line_for_each_thread(gnomon: Run, busy: int) -> None:
    outcome = gnomon("count", "--per-scope", "-p", str(busy), "-d", "50ms", "-e", "page-faults")
    assert outcome.code == 0
    assert f"thread/{busy}" in outcome.out
    assert "scope" in outcome.out


def test_whole_cpus_are_counted_for_a_while(gnomon: Run, whole_cpus: None, busy: int) -> None:
    outcome = gnomon("count", "--json", "-a", "-d", "200ms", "-e", "context-switches,cpu-clock")
    assert outcome.code == 0
    clock = outcome.rows["cpu-clock"]
    assert clock["value"] > 0
    cpus = PerfSource().host.online_cpus
    assert clock["scope"] == ("system" if len(cpus) > 1 else f"cpu/{cpus[0]}")


def test_per_scope_has_a_line_for_each_cpu(gnomon: Run, whole_cpus: None) -> None:
    outcome = gnomon("count", "--json", "--per-scope", "-a", "-d", "50ms", "-e", "context-switches")
    scopes = [row["scope"] for row in outcome.json["results"]["counts"]]
    assert scopes == [f"cpu/{cpu}" for cpu in PerfSource().host.online_cpus]


def test_chosen_cpus_only_are_counted(gnomon: Run, whole_cpus: None) -> None:
    first = PerfSource().host.online_cpus[0]
    outcome = gnomon("count", "--json", "-C", str(first), "-d", "50ms", "-e", "context-switches")
    assert [row["scope"] for row in outcome.json["results"]["counts"]] == [f"cpu/{first}"]
    assert f"CPUs {first}: counted" in gnomon("count", "-C", str(first), "-d", "10ms").out


def test_whole_cpus_while_a_program_runs_forward_its_status(gnomon: Run, whole_cpus: None) -> None:
    outcome = gnomon("count", "-a", "-e", "page-faults", "--", "sh", "-c", "exit 9")
    assert outcome.code == 9
    assert outcome.out.startswith("sh -c exit 9: counted by host")


def test_whole_cpus_without_an_end_are_refused_where_nobody_can_interrupt(
    gnomon: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(os.devnull) as stream:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", stream)
        outcome = gnomon("count", "-a", "-e", "page-faults")
    assert outcome.code == 2
    assert "--duration" in outcome.err
    assert one_sentence(outcome.err)


def test_a_process_is_surveyed_and_the_survey_shown_again(
    gnomon: Run, busy: int, tmp_path: Path
) -> None:
    out = str(tmp_path / "s")
    words = ("-p", str(busy), "-d", "50ms", "-r", "2", "-e", "task-clock", "-o", out)
    done = gnomon("survey", *words)
    assert done.code == 0, done.err
    assert f"process {busy}: 1 events in 2 runs" in done.out
    assert f"process {busy}: 1 events in 2 runs" in gnomon("survey", out).out


def test_whole_cpus_are_surveyed(gnomon: Run, whole_cpus: None, busy: int, tmp_path: Path) -> None:
    words = ("-a", "-d", "50ms", "-r", "1", "-e", "cpu-clock", "-o", str(tmp_path / "s"))
    done = gnomon("survey", "--json", *words)
    assert done.code == 0, done.err
    rows = {row["event"]: row for row in done.json["results"]["rows"]}
    assert rows["cpu-clock"]["mean"] > 0


def test_an_unfinished_survey_of_a_process_goes_on_by_the_whole_command(
    gnomon: Run, busy: int, tmp_path: Path
) -> None:
    out = str(tmp_path / "s.gnomon")
    words = ("-p", str(busy), "-d", "50ms", "-r", "2", "-e", "task-clock", "-o", out)
    assert gnomon("survey", *words).code == 0
    header = Path(out, "header.toml")
    header.write_text(header.read_text().replace("complete = true", "complete = false"))
    without = gnomon("survey", "--resume", out)
    assert without.code == 2
    assert one_sentence(without.err)
    assert "repeat the whole command" in without.err
    done = gnomon("survey", "--resume", *words)
    assert done.code == 0, done.err


@pytest.mark.parametrize("repeat", ["1", "2"])
def test_the_footprint_of_a_process_is_split(gnomon: Run, repeat: str, tmp_path: Path) -> None:
    code = (
        "import time\nwhile 1: x = bytearray(30_000_000); time.sleep(.02); del x; time.sleep(.02)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        words = ("-p", str(process.pid), "-d", "400ms", "-r", repeat, "-i", "5ms")
        done = gnomon("phases", "--json", *words)
        process.kill()
    assert done.code == 0, done.err
    [series] = done.json["results"]["series"]
    assert series["name"] == "footprint:rss"
    assert max(series["values"]) > 5_000_000


def test_whole_cpus_have_phases_by_events_and_no_footprint(gnomon: Run, whole_cpus: None) -> None:
    refused = gnomon("phases", "-a", "-d", "100ms")
    assert refused.code == 2
    assert one_sentence(refused.err)
    assert "no footprint" in refused.err
    done = gnomon("phases", "-a", "-d", "300ms", "--by", "context-switches")
    assert done.code == 0, done.err


@pytest.mark.parametrize("command", ["count", "profile", "latency", "survey", "phases", "estimate"])
def test_an_input_without_a_program_is_refused(gnomon: Run, busy: int, command: str) -> None:
    refused = gnomon(command, "-p", str(busy), "-d", "50ms", "--input", "/etc/passwd")
    assert refused.code == 2
    assert "--input is for a command" in refused.err
