"""The importers understand whatever the perf of this machine prints."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gnomon.recording.contents import Status
from gnomon.recording.importers import import_file

EVENTS = ("task-clock", "page-faults", "context-switches")


@pytest.fixture(scope="module", autouse=True)
def perf() -> None:
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    command = ["perf", "stat", "-e", "page-faults", "true"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("perf may not count here")


@pytest.mark.parametrize("form", [[], ["-x,"], ["-x", ";"], ["-j"]], ids=" ".join)
@pytest.mark.parametrize("way", [[], ["-r", "2"], ["-I", "10"], ["-a", "-A"]], ids=" ".join)
def test_this_perf(tmp_path: Path, form: list[str], way: list[str]) -> None:
    path = tmp_path / "out"
    options = [*form, *way, "-e", ",".join(EVENTS), "-o", str(path)]
    done = subprocess.run(
        ["perf", "stat", *options, "--", "sleep", "0.02"], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"perf does not know {' '.join(options)} or may not do it")
    data = import_file(path)
    assert tuple(event.name for event in data.events) == EVENTS
    assert {event.name: event.unit for event in data.events}["task-clock"] == "ns"
    faults = [r.value for r in data.readings if r.event == "page-faults" and r.value is not None]
    assert sum(faults) > 0
    assert all((r.value is None) == (r.status is Status.NOT_COUNTED) for r in data.readings)
    assert [text for text in data.warnings if "not understood" in text] == []
