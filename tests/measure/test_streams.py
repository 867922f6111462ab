"""What programs read and print when they run several times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

GNOMON = [sys.executable, "-m", "gnomon"]
LINES = 5
PROGRAM = "echo read $(wc -l); echo said >&2"

SHELL = ["--", "sh", "-c", PROGRAM]

# What makes several runs, and how many of them: each command has its own loop around the campaign.
COMMANDS = {
    "count": (["-r", "3", "-e", "task-clock", *SHELL], 3),
    "survey": (["--on", "host", "-r", "2", *SHELL], 3),  # a plain run first
    "compare": (["-r", "2", "-e", "task-clock", *SHELL, *SHELL], 4),
    "scale": (["-e", "task-clock", "-r", "2", "--param", "N=1,2,3", *SHELL, "{N}"], 6),
}
every_command = pytest.mark.parametrize("name", COMMANDS)


def _run(
    folder: Path, name: str, *options: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    command = [*GNOMON, name, *options, *COMMANDS[name][0]]
    done = subprocess.run(
        command, cwd=folder, input=given, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


@every_command
def test_repeated_runs_read_nothing_of_ours_and_a_note_says_so(name: str, tmp_path: Path) -> None:
    done = _run(tmp_path, name, given="line\n" * LINES)
    assert "read 0" in done.stderr
    assert "use --input FILE" in done.stderr


@every_command
def test_what_is_printed_is_shown_once_and_never_mixed_with_the_report(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "given").write_text("line\n" * LINES)
    done = _run(tmp_path, name, "--input", "given")
    assert done.stderr.count(f"read {LINES}") == 1
    assert done.stderr.count("said\n") == 1
    assert f"read {LINES}" not in done.stdout
    assert "--input FILE" not in done.stderr


@every_command
def test_all_of_it_is_shown_on_request(name: str, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("line\n" * LINES)
    done = _run(tmp_path, name, "--show-output", "--input", "given")
    assert done.stderr.count(f"read {LINES}\n") == COMMANDS[name][1]
    assert done.stderr.count("said\n") == COMMANDS[name][1]


def test_a_single_run_has_our_streams(tmp_path: Path) -> None:
    command = [*GNOMON, "count", "-e", "task-clock", "--", "sh", "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=tmp_path, input="line\n" * LINES, capture_output=True, text=True, check=True
    )
    assert f"read {LINES}\n" in done.stdout
    assert "said\n" in done.stderr
