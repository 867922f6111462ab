"""The package as a whole: its public names, its version, its laziness."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import gnomon


def test_the_public_names_are_these() -> None:
    assert sorted(gnomon.__all__) == [
        "Command",
        "Cpus",
        "EventSet",
        "GnomonError",
        "PhaseSeries",
        "Process",
        "PythonProfile",
        "Recording",
        "RecordingWriter",
        "Thread",
        "advise",
        "compare",
        "convert",
        "count",
        "doctor",
        "estimate",
        "events",
        "lab",
        "latency",
        "latency_of",
        "links",
        "locality",
        "memory",
        "messages",
        "phases",
        "profile",
        "region",
        "regions",
        "report",
        "scale",
        "scale_models",
        "show",
        "sim",
        "source",
        "survey",
        "trace",
    ]


@pytest.mark.parametrize("name", gnomon.__all__)
def test_every_public_name_can_be_had_and_says_what_it_is(name: str) -> None:
    value = getattr(gnomon, name)
    assert value.__doc__
    assert name in dir(gnomon)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = gnomon.no_such_name


def test_a_name_that_was_replaced_tells_the_new_one() -> None:
    with pytest.raises(AttributeError, match=r"gnomon\.source\('host'\)"):
        _ = gnomon.PerfSource
    with pytest.raises(AttributeError, match=r"gnomon\.doctor\(\)"):
        _ = gnomon.diagnose


def test_importing_a_package_does_not_hide_the_function_of_its_name() -> None:
    importlib.import_module("gnomon.events.event")
    assert callable(gnomon.events)
    assert gnomon.sim.list("workloads").rows


def test_the_version_is_that_of_the_installed_package() -> None:
    assert gnomon.__version__ == metadata.version("gnomon")


def test_the_command_is_installed_under_its_name() -> None:
    [command] = metadata.entry_points(group="console_scripts", name="gnomon")
    assert command.value == "gnomon.__main__:run"


def test_the_module_is_the_command() -> None:
    for words, said in (
        (("sim", "list"), "ring-4"),
        (("events", "page-faults"), "page faults"),
        (("profile", "--help"), "usage: gnomon profile"),
    ):
        command = [sys.executable, "-m", "gnomon", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert said in done.stdout


def test_importing_the_package_loads_nothing_else_of_it() -> None:
    script = "import gnomon, sys; print(*sorted(m for m in sys.modules if 'gnomon.' in m))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    # An editable install brings a module of its own that finds the others.
    assert [name for name in done.stdout.split() if not name.startswith("_")] == []


def test_the_types_are_part_of_the_package() -> None:
    files = metadata.files("gnomon") or []
    installed = any(str(file).endswith("gnomon/py.typed") for file in files)
    from importlib.resources import files as resources

    assert installed or resources("gnomon").joinpath("py.typed").is_file()


@pytest.mark.parametrize(
    "package",
    [
        "events",
        "instrument",
        "machines",
        "messaging",
        "recording",
        "sources",
        "stress",
        *(f"analysis.{name}" for name in ("estimate", "latency", "links", "locality", "messages")),
        "analysis.study",
    ],
)
def test_the_names_that_a_package_exports_can_be_had(package: str) -> None:
    module = importlib.import_module(f"gnomon.{package}")
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


def test_the_program_ends_in_silence(tmp_path: Path) -> None:
    text = "\n Performance counter stats for 'true':\n\n  1,234      page-faults\n\n"
    text += "       0.001 seconds time elapsed\n"
    run = [sys.executable, "-m", "gnomon"]
    for words in (["convert", "-", "there.gnomon"], ["show", "there.gnomon"]):
        done = subprocess.run(
            [*run, *words], input=text, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
