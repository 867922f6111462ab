"""What holds for every command: help, start-up, errors, and a reader that goes away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon import __version__
from gnomon.cli import COMMANDS

from .running import ENVELOPE, Run, as_program, command_line, environment

WRITE_BOTH = ("-o", "run", "--html", "page.html")
_HEAVY = ("numpy", "duckdb", "rich", "pandas", "pyarrow", "xarray")


def test_without_a_command_the_help_lists_every_command(gnomon: Run) -> None:
    outcome = gnomon()
    assert outcome.code == 0
    for command in COMMANDS:
        assert f"  {command} " in outcome.out


def test_help_is_the_same_as_no_command(gnomon: Run) -> None:
    assert gnomon("--help") == gnomon()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(gnomon: Run, command: str) -> None:
    outcome = gnomon(command, "--help")
    assert outcome.code == 0
    assert f"usage: gnomon {command}" in outcome.out
    assert "examples:" in outcome.out
    assert "--json" in outcome.out


def test_version_is_that_of_the_package(gnomon: Run) -> None:
    assert gnomon("--version") == (0, f"gnomon {__version__}\n", "")


def test_an_unknown_command_is_a_usage_error_with_the_nearest_name(gnomon: Run) -> None:
    outcome = gnomon("cuont")
    assert outcome.code == 2
    assert outcome.out == ""
    assert "unknown command 'cuont': did you mean count?" in outcome.err


def test_an_unknown_command_that_resembles_none_points_to_the_help(gnomon: Run) -> None:
    assert "`gnomon --help` lists them" in gnomon("xyzzy").err


def test_an_unknown_option_is_a_usage_error(gnomon: Run) -> None:
    outcome = gnomon("count", "--no-such-option", "--", "true")
    assert outcome.code == 2
    assert "--no-such-option" in outcome.err
    assert gnomon("--no-such-option").code == 2


RUN_PROGRAMS = {"compare", "count", "phases", "profile", "regions", "scale"}
RUN_PROGRAMS |= {"latency", "links", "locality", "estimate", "survey"}


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - RUN_PROGRAMS))
def test_commands_that_run_nothing_refuse_a_program(gnomon: Run, command: str) -> None:
    listed = {"sim": ["list"], "lab": ["study", "list"]}
    recordings = {"show": ["a"], "convert": ["a", "b"], "report": ["a"]}
    words = {"messages": ["bench"], "trace": ["list"]}
    needed = (recordings | listed | words).get(command, [])
    outcome = gnomon(command, *needed, "--", "true")
    assert outcome.code == 2
    assert "takes no program" in outcome.err


def test_an_error_with_json_is_also_in_the_json(gnomon: Run) -> None:
    outcome = gnomon("count", "--json", "-e", "cycels", "--", "true")
    assert outcome.code == 2
    assert set(outcome.json) == ENVELOPE | {"error"}
    assert outcome.json["results"] is None
    assert "cycels" in outcome.json["error"]
    assert outcome.err == f"gnomon: {outcome.json['error']}\n"


def test_json_after_the_double_dash_belongs_to_the_program(
    gnomon: Run, software_events: None
) -> None:
    outcome = gnomon("count", "--", "echo", "--json")
    assert outcome.code == 0
    assert outcome.out.startswith("--json\n")


def _loaded_by(*arguments: str) -> set[str]:
    """Return which of the heavy libraries a command has loaded when it is done."""
    script = (
        "import sys\n"
        "from gnomon.cli import main\n"
        "try:\n"
        f"    main({list(arguments)!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        f"print(*(m for m in {_HEAVY!r} if m in sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("count", "--help"), ("events", "page-faults")]
)
def test_looking_something_up_loads_no_heavy_library(arguments: tuple[str, ...]) -> None:
    assert _loaded_by(*arguments) == set()


def test_counting_loads_no_heavy_library(software_events: None) -> None:
    assert _loaded_by("count", "--", "true") == set()
    assert _loaded_by("count", "--json", "-e", "page-faults", "--", "true") == set()


@pytest.mark.parametrize(
    "arguments", [("events",), ("doctor",), ("doctor", "--json"), ("--help",), ("count", "--help")]
)
def test_a_reader_that_goes_away_is_no_error(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command_line(*arguments),
        stdout=writing,
        stderr=subprocess.PIPE,
        env=environment(),
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 0


def test_live_lines_into_head_end_silently(software_events: None) -> None:
    words = command_line("count", "-i", "10ms", "-e", "page-faults", "--", "sleep", "60")
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "page-faults" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (("links", "--on", "ring-4", "--html", "page.html"), ["page.html"]),
        (("links", "--on", "ring-4", "--json", "--html", "page.html"), ["page.html"]),
        (
            ("latency", "--on", "ring-4", *WRITE_BOTH, "--", "signal:loads", "duration=2s"),
            ["page.html", "run.gnomon"],
        ),
        (
            ("memory", "matrix", "--array", "1MiB", "--time", "1ms", "-o", "named.json"),
            ["named.json"],
        ),
    ],
)
def test_a_file_asked_for_is_written_though_the_reader_goes_away(
    arguments: tuple[str, ...], files: list[str], tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    # Unbuffered, so that the first line fails and not what is left at the end.
    done = subprocess.run(
        command_line(*arguments),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == files


def test_an_export_to_a_reader_that_goes_away_ends(tmp_path: Path, software_events: None) -> None:
    recording = str(tmp_path / "run.gnomon")
    words = ("count", "-i", "1ms", "-e", "page-faults", "-o", recording, "--", "sleep", "0.2")
    assert as_program(*words).code == 0
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*command_line("convert", recording, "-", "--to", "csv")],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        timeout=300,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr  # a busy machine leaves warnings of late ticks


def test_a_report_is_written_though_the_output_cannot_be(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    page = tmp_path / "page.html"
    with full.open("w") as stream:
        done = subprocess.run(
            command_line("links", "--on", "ring-4", "--html", str(page)),
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(PYTHONUNBUFFERED="1"),
            timeout=300,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "gnomon: the output cannot be written: No space left on device.\n"
    assert page.exists()


@pytest.mark.parametrize("arguments", [("doctor",), ("events", "--json")])
def test_output_that_cannot_be_written_is_one_sentence(arguments: tuple[str, ...]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    with full.open("w") as stream:
        done = subprocess.run(
            command_line(*arguments),
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "gnomon: the output cannot be written: No space left on device.\n"


def test_the_module_is_the_same_as_the_command() -> None:
    assert as_program("--version") == (0, f"gnomon {__version__}\n", "")
