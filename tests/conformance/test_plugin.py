"""A source of another package is found by its entry point and used by its name like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_TOY = """
from gnomon.errors import UnknownEventError
from gnomon.events.event import Event, Kind
from gnomon.events.planner import plan_together
from gnomon.recording.contents import Provenance, Reading, RunInfo, Status
from gnomon.sources.base import (
    Availability, Capabilities, Closing, Registered, Snapshot, Verdict,
)

EVENT = Event("toy::words", "words of the command", Kind.SYNTHETIC)


class ToyCounting(Closing):
    def __init__(self, groups, target):
        self.requests = tuple(request for group in groups for request in group)
        self.refused, self.warnings, self.exit_status = (), [], None
        self._words = len(target.argv)

    def _read(self, value):
        return Snapshot(value, tuple(
            Reading(value, request.label, "process", value, 1, 1, Status.COUNTED)
            for request in self.requests
        ))

    def start(self): pass
    def read(self): return self._read(self._words)
    def stop(self): self.exit_status = 0; return self._read(self._words)
    def wait(self, timeout=None): return True
    def interrupt(self, signal): pass
    def close(self): pass
    def ticks(self, interval, until): yield self.stop()


class ToySource:
    name = "toy"

    def events(self): return iter((EVENT,))
    def resolve(self, name):
        if name.lower() not in ("toy::words", "words"):
            raise UnknownEventError(name, ("toy::words",))
        return (EVENT,)
    def availability(self, requests):
        return [Availability(request.event, Verdict.COUNTS, value=1) for request in requests]
    def default_events(self):
        from gnomon.events.event import Request
        return ((Request(EVENT),),)
    def plan(self, requests, *, anchors=()): return plan_together((*anchors, *requests), self.name)
    def anchors(self): return ()
    def open(self, groups, target, *, exact=False): return ToyCounting(groups, target)
    def provenance(self, target): return Provenance(self.name, command=target.argv)


SOURCE = Registered(
    name="toy",
    title="a toy",
    capabilities=Capabilities(exact=True, event_prefix="toy::"),
    make=lambda choice: ToySource(),
)
ToySource.capabilities = SOURCE.capabilities
"""


class Packages:
    """Packages in a folder, as if they were installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def install(self, package: str, code: str, name: str = "toy") -> None:
        """Put a package there that says it has a source of this name."""
        (self._folder / f"{package}.py").write_text(code)
        info = self._folder / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[gnomon.sources]\n{name} = {package}:SOURCE\n")

    def gnomon(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run gnomon where they are installed."""
        return subprocess.run(
            [sys.executable, "-m", "gnomon", *words],
            env={**os.environ, "PYTHONPATH": str(self._folder)},
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages(tmp_path)


def test_a_source_of_a_plugin_counts_by_its_name_and_by_its_prefix(packages: Packages) -> None:
    packages.install("toy_counters", _TOY)
    for words in (("--on", "toy"), ("-e", "toy::words")):
        done = packages.gnomon("count", "--json", *words, "--", "one", "two", "three")
        assert done.returncode == 0, done.stderr
        content = json.loads(done.stdout)
        assert (content["source"], content["simulated"]) == ("toy", False)
        assert [(row["event"], row["value"]) for row in content["results"]["counts"]] == [
            ("toy::words", 3)
        ]
    listed = packages.gnomon("events", "--on", "toy")
    assert "words of the command" in listed.stdout


def test_a_survey_takes_it_and_is_shown_again(packages: Packages) -> None:
    packages.install("toy_counters", _TOY)
    done = packages.gnomon("survey", "--on", "toy", "-o", "s", "--json", "--", "one", "two")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"]["origins"] == {"toy": 1}
    assert "from a toy" in packages.gnomon("survey", "s.gnomon").stdout


def test_a_plugin_that_fails_to_import_is_one_sentence_and_harms_nobody_else(
    packages: Packages,
) -> None:
    packages.install("toy_counters", "import no_such_module\n")
    refused = packages.gnomon("count", "--on", "toy", "--", "true")
    assert refused.returncode == 1
    assert refused.stderr == (
        "gnomon: the source 'toy' of the package toy_counters cannot be imported "
        "(ModuleNotFoundError: No module named 'no_such_module'): repair or uninstall it.\n"
    )
    assert packages.gnomon("events", "--on", "laptop", "cycles").returncode == 0
    assert "no_such_module" in packages.gnomon("doctor").stdout


@pytest.mark.parametrize("name", ["toy", "host"])
def test_two_sources_of_one_name_are_one_sentence(packages: Packages, name: str) -> None:
    packages.install("toy_counters", _TOY, name)
    if name == "toy":
        packages.install("other_counters", _TOY)
    refused = packages.gnomon("count", "--on", name, "--", "true")
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"gnomon: 2 sources are called '{name}', of the packages ")
    assert refused.stderr.count("\n") == 1


def test_what_is_registered_as_something_else_is_one_sentence(packages: Packages) -> None:
    packages.install("toy_counters", "SOURCE = 3\n")
    refused = packages.gnomon("count", "--on", "toy", "--", "true")
    assert refused.returncode == 1
    assert "must refer to a gnomon.sources.base.Registered that is called 'toy'" in refused.stderr
