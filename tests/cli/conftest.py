"""Fixtures of the command line's tests: running a command here, in a process, or as nobody."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gnomon.events.event import Request
from gnomon.sources.perf.source import PerfSource

from .running import Outcome, Run, as_nobody, in_process


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gnomon(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, where that is fast and can be watched."""

    def run(*arguments: str) -> Outcome:
        return in_process(arguments, capfd)

    return run


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can reach, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="gnomon-test-") as name:
        path = Path(name)
        path.chmod(0o777)
        yield path


@pytest.fixture
def unprivileged() -> Run:
    """Run a command as a user without rights, in a fork of this process when we are root."""

    def run(*arguments: str) -> Outcome:
        return as_nobody(arguments)

    return run


@pytest.fixture(scope="session")
def _countable() -> Callable[[str], str]:
    """Return why an event cannot be counted here, empty when it can."""
    source = PerfSource()
    known: dict[str, str] = {}

    def why_not(name: str) -> str:
        if name not in known:
            [verdict] = source.availability([Request(source.resolve(name)[0])])
            known[name] = "" if verdict.countable else f"{name}: {verdict.reason}"
        return known[name]

    return why_not


@pytest.fixture
def software_events(_countable: Callable[[str], str]) -> None:
    """Skip, visibly, where not even the kernel's own events can be counted."""
    if reason := _countable("task-clock"):
        pytest.skip(reason)


@pytest.fixture
def whole_cpus(software_events: None) -> None:
    """Skip, visibly, where this user may not count on whole CPUs."""
    host = PerfSource().host
    if not host.may_measure and (host.paranoid or 0) > 0:
        pytest.skip(f"perf_event_paranoid is {host.paranoid}: whole CPUs need rights")


@pytest.fixture
def ghost_unit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An event of a unit that sysfs describes and no kernel drives: it can never be counted."""
    unit = folder / "devices" / "ghost"
    (unit / "format").mkdir(parents=True)
    (unit / "type").write_text("4294967\n")
    (unit / "format" / "event").write_text("config:0-7\n")
    monkeypatch.setattr(PerfSource.__init__, "__defaults__", (folder / "devices",))
    return "ghost/event=0x1/"


@pytest.fixture
def root() -> None:
    """Skip, visibly, for users who are not root."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
