"""The package of the how-to is what the page shows, is small, and works; mistakes are told."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .pages import DOCS, blocks, examples

_FILE = DOCS / "how-to" / "extend.md"
_PAGE = _FILE.read_text(encoding="utf-8")
_FILES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', _PAGE, re.MULTILINE | re.DOTALL))
_PROJECT = tomllib.loads(_FILES.pop("pyproject.toml"))["project"]


class Installed:
    """Packages in a folder, as if they were installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.add(_PROJECT["name"], _FILES, _PROJECT["entry-points"])

    def add(
        self, name: str, files: dict[str, str], entry_points: dict[str, dict[str, str]]
    ) -> None:
        """Put the files of a package there, and what it adds."""
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        text = ""
        for group, entries in entry_points.items():
            text += f"[{group}]\n" + "".join(f"{key} = {to}\n" for key, to in entries.items())
        (info / "entry_points.txt").write_text(text)
        for file, content in files.items():
            (self.folder / file).write_text(content)

    def gnomon(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run gnomon where they are installed."""
        return subprocess.run(
            [sys.executable, "-m", "gnomon", *words],
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def saved(self) -> Path:
        """Return a result of the command as a file."""
        done = self.gnomon("cost", "--json", "--", "true")
        assert done.returncode == 0, done.stderr
        path = self.folder / "cost.json"
        path.write_text(done.stdout)
        return path


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def _refused(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one sentence with which a command was refused."""
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert done.stderr.startswith("gnomon: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_the_package_is_three_files_of_less_than_80_lines() -> None:
    assert set(_FILES) == {"toy_source.py", "toy_result.py", "toy_command.py"}
    assert sum(len(text.splitlines()) for text in _FILES.values()) < 80


def test_the_source_counts_like_any_other(installed: Installed) -> None:
    done = installed.gnomon("count", "--on", "kernel", "--", "sh", "-c", "true & wait")
    assert done.returncode == 0, done.stderr
    assert "kernel::forks" in done.stdout
    assert "context switches" in installed.gnomon("events", "--on", "kernel").stdout


def test_the_result_is_shown_in_a_terminal_as_a_page_and_as_json(installed: Installed) -> None:
    done = installed.gnomon("cost", "--html", "cost.html", "-r", "2", "--", "true")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("true costs the kernel ")
    assert "least of a run" in done.stdout
    page = (installed.folder / "cost.html").read_text()
    assert "true costs the kernel" in page
    assert "kernel::forks" in page
    content = json.loads(installed.saved().read_text())
    assert (content["command"], content["source"]) == ("cost", "kernel")
    assert content["results"]["kind"] == "kernel-cost"
    assert [row["event"] for row in content["results"]["rows"]][1] == "kernel::forks"


def test_a_saved_result_is_shown_again(installed: Installed) -> None:
    path = installed.saved()
    shown = installed.gnomon("show", path.name)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("true costs the kernel ")
    table = installed.gnomon("show", path.name, "--csv").stdout
    assert table.startswith("event,mean,least of a run\nkernel::switches,")
    again = json.loads(installed.gnomon("show", path.name, "--json").stdout)
    assert again["results"] == json.loads(path.read_text())["results"]


def test_the_commands_of_the_page_print_about_what_it_shows(installed: Installed) -> None:
    [shown] = [block for block in blocks(_FILE) if block.text.startswith("$ gnomon")]
    for example in examples(shown):
        done = subprocess.run(
            ["sh", "-c", example.command.replace("gnomon", f"'{sys.executable}' -m gnomon", 1)],
            env={**os.environ, "PYTHONPATH": str(installed.folder)},
            cwd=installed.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for line in example.output:
            first = next(iter(line.split()), "...")
            assert first == "..." or first in done.stdout, example.command


@pytest.mark.parametrize(
    ("file", "words", "what"),
    [
        ("toy_source.py", ("count", "--on", "kernel", "--", "true"), "source 'kernel'"),
        ("toy_command.py", ("cost", "--", "true"), "command 'cost'"),
        ("toy_result.py", ("show", "cost.json"), "kind of result 'kernel-cost'"),
    ],
)
def test_what_cannot_be_imported_is_named(
    installed: Installed, file: str, words: tuple[str, ...], what: str
) -> None:
    installed.saved()
    (installed.folder / file).write_text("import no_such_module\n")
    said = _refused(installed.gnomon(*words))
    assert f"the {what} of the package toy cannot be imported" in said
    assert "(ModuleNotFoundError: No module named 'no_such_module')" in said
    assert said.endswith("repair or uninstall it.\n")


@pytest.mark.parametrize(
    ("group", "name", "words"),
    [
        ("sources", "kernel", ("count", "--on", "kernel", "--", "true")),
        ("commands", "cost", ("cost", "--", "true")),
        ("results", "kernel-cost", ("show", "cost.json")),
        ("describe", "kernel-cost", ("show", "cost.json")),
    ],
)
def test_two_of_one_name_are_named_with_their_packages(
    installed: Installed, group: str, name: str, words: tuple[str, ...]
) -> None:
    installed.saved()
    group = f"gnomon.{group}"
    installed.add("other", {}, {group: {name: _PROJECT["entry-points"][group][name]}})
    said = _refused(installed.gnomon(*words))
    assert f"'{name}'" in said
    assert re.search(r"packages (other and toy|toy and other): uninstall one of them\.\n", said)


def test_a_result_of_another_version_or_of_no_known_kind_is_named(installed: Installed) -> None:
    path = installed.saved()
    content = json.loads(path.read_text())
    content["results"]["version"] = 7
    path.write_text(json.dumps(content))
    said = _refused(installed.gnomon("show", path.name))
    assert "'kernel-cost' is of version 7, and this gnomon reads 1: measure again" in said
    content["results"] |= {"version": 1, "kind": "kernel-costs"}
    path.write_text(json.dumps(content))
    said = _refused(installed.gnomon("show", path.name))
    assert "'kernel-costs' is not a kind of result that this gnomon knows: install" in said


def test_a_command_that_is_no_module_of_one_is_named(installed: Installed) -> None:
    (installed.folder / "toy_command.py").write_text("")
    said = _refused(installed.gnomon("cost", "--", "true"))
    assert "'cost' of a plugin is no module with configure and run" in said
