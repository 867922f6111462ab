"""Completion in real shells, and manual pages that groff reads without a warning."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.share.__main__ import write
from scripts.share.commands import Command, places, read
from scripts.share.man import man

from gnomon.cli import COMMANDS

PATIENCE = 60  # seconds for a shell on a busy machine; it is not waited for longer than it takes


@pytest.fixture(scope="module")
def gnomon() -> Command:
    return read()


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    write(folder)
    return folder


def _needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def _with_words(gnomon: Command) -> Command:
    return next(each for each in gnomon.words if each.words)


def _with_values(gnomon: Command) -> tuple[Command, str, tuple[str, ...]]:
    for command in gnomon.walk():
        for option in command.options:
            if len(option.values) > 1 and not option.is_open:
                return command, option.names[-1], option.values
    raise AssertionError("no option has a list of values")


def test_every_command_and_each_of_its_options_is_read_from_its_parser(gnomon: Command) -> None:
    assert [each.name for each in gnomon.words] == list(COMMANDS)
    for command in gnomon.walk():
        assert command.summary
        names = [name for option in command.options for name in option.names]
        assert "--help" in names
        assert all("%(" not in option.help for option in command.options)


class TestBash:
    def complete(self, share: Path, *words: str) -> list[str]:
        _needs("bash")
        script = (
            f"source {share}/bash-completion/completions/gnomon\n"
            'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gnomon\n'
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", script, "bash", "gnomon", *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        assert not done.stderr
        return done.stdout.split()

    def test_commands(self, share: Path) -> None:
        assert sorted(self.complete(share, "")) == sorted(COMMANDS)
        first = next(iter(COMMANDS))
        assert first in self.complete(share, first[:3])

    def test_words_of_a_command(self, share: Path, gnomon: Command) -> None:
        command = _with_words(gnomon)
        words = [word.path[-1] for word in command.words]
        assert self.complete(share, command.path[0], "") == words

    def test_options_of_every_command_and_word(self, share: Path, gnomon: Command) -> None:
        command = _with_words(gnomon).words[0]
        names = {name for option in command.options for name in option.names}
        assert set(self.complete(share, *command.path, "-")) == names

    def test_values_of_an_option_also_after_an_equals_sign(
        self, share: Path, gnomon: Command
    ) -> None:
        command, option, values = _with_values(gnomon)
        assert self.complete(share, *command.path, option, "") == list(values)
        assert self.complete(share, *command.path, option, "=", values[0]) == [values[0]]

    def test_where_to_measure_or_else_a_file(self, share: Path) -> None:
        assert self.complete(share, "count", "--on", "") == list(places())
        assert self.complete(share, "count", "--on", "./") == []  # bash then offers files

    def test_a_program_after_two_dashes(self, share: Path) -> None:
        assert "bash" in self.complete(share, "count", "--", "bas")

    def test_a_file_is_left_to_bash(self, share: Path) -> None:
        assert self.complete(share, "count", "--output", "") == []

    def test_it_is_registered_in_an_interactive_bash(self, share: Path) -> None:
        _needs("bash")
        script = f"source {share}/bash-completion/completions/gnomon"
        with _Terminal(["bash", "--norc", "-i"]) as terminal:
            terminal.send(f"PS1='> '; {script}; bind 'set bell-style none'\n")
            command = next(iter(COMMANDS))
            terminal.send(f"gnomon {command[:-1]}\t")
            terminal.expect(f"gnomon {command} ")


class TestFish:
    def complete(self, share: Path, line: str) -> list[str]:
        _needs("fish")
        script = f"source {share}/fish/vendor_completions.d/gnomon.fish; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", script],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        assert not done.stderr
        return [each.split("\t")[0] for each in done.stdout.splitlines()]

    def test_commands_and_nothing_else(self, share: Path) -> None:
        assert sorted(self.complete(share, "gnomon ")) == sorted(COMMANDS)

    def test_words_options_and_values(self, share: Path, gnomon: Command) -> None:
        command = _with_words(gnomon)
        words = {word.path[-1] for word in command.words}
        assert words <= set(self.complete(share, f"gnomon {command.name} "))
        word = command.words[0]
        names = {name for each in word.options for name in each.names if name.startswith("--")}
        assert names == set(self.complete(share, f"gnomon {word.name} --"))
        command, option, values = _with_values(gnomon)
        assert set(self.complete(share, f"gnomon {command.name} {option} ")) == set(values)

    def test_where_to_measure(self, share: Path) -> None:
        assert set(places()) <= set(self.complete(share, "gnomon count --on "))

    def test_a_program_after_two_dashes(self, share: Path) -> None:
        assert "bash" in self.complete(share, "gnomon count -- bas")


class TestZsh:
    def test_commands_words_options_values_and_programs(
        self, share: Path, gnomon: Command, tmp_path: Path
    ) -> None:
        _needs("zsh")
        several = _with_words(gnomon)
        word = several.words[0]
        command, option, values = _with_values(gnomon)
        setting = f"fpath=({share}/zsh/site-functions $fpath); autoload -Uz compinit"
        with _Terminal(["zsh", "-f", "-i"], HOME=str(tmp_path)) as terminal:
            terminal.send(f"PS1='> '; {setting}; compinit -u -D; unsetopt beep; print re''ady\n")
            terminal.expect("ready")
            for line, expected in (
                (f"gnomon {several.name[:-1]}\t", f"gnomon {several.name} "),
                (f"gnomon {several.name} \t", word.summary),
                (f"gnomon {word.name} --\t", _brief(word.options[0].help)),
                (f"gnomon {command.name} {option} \t", values[0]),
                ("gnomon count --on hos\t", "gnomon count --on host "),
                *((f"gnomon {each.name} {first[:-1]}\t", first) for each, first in _named(gnomon)),
                ("gnomon count -- /bin/bas\t", "base64"),
            ):
                terminal.send(line)
                terminal.expect(expected)
                terminal.send("\x15")  # forget the line


def _named(gnomon: Command) -> list[tuple[Command, str]]:
    """Return the commands with an argument whose values have names, and one of these."""
    return [(each, a.values[0]) for each in gnomon.walk() for a in each.arguments if a.values]


def _brief(text: str) -> str:
    return text[:12]


class _Terminal:
    """A program that believes to have a user."""

    def __init__(self, argv: list[str], **environment: str) -> None:
        self._argv, self._environment = argv, os.environ | {"TERM": "dumb"} | environment

    def __enter__(self) -> _Terminal:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            self._argv,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=self._environment,
            start_new_session=True,
        )
        os.close(theirs)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def send(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def expect(self, text: str) -> None:
        """Read until a text has been printed."""
        seen, until = "", time.monotonic() + PATIENCE
        while text not in seen:
            left = max(until - time.monotonic(), 0)
            ready, _, _ = select.select([self._ours], [], [], left)
            assert ready, f"{text!r} was not printed, but {seen!r}"
            seen += os.read(self._ours, 65536).decode(errors="replace").replace("\r", "")


@pytest.fixture(scope="module")
def pages(share: Path) -> Iterator[list[Path]]:
    yield sorted((share / "man/man1").iterdir())


def test_there_is_a_manual_page_for_each_command(pages: list[Path]) -> None:
    expected = {"gnomon.1", *(f"gnomon-{name}.1" for name in COMMANDS)}
    assert {page.name for page in pages} == expected


def test_a_manual_page_names_every_option_of_the_command_and_of_its_words(gnomon: Command) -> None:
    pages = man(gnomon)
    for command in gnomon.words:
        page = pages[f"gnomon-{command.name}.1"].replace("\\-", "-")
        for each in command.walk():
            for option in each.options:
                assert all(f"\\fB{name}\\fR" in page for name in option.names)


def test_groff_and_man_read_every_page_without_a_warning(pages: list[Path]) -> None:
    _needs("groff")
    told = subprocess.run(
        ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z", *pages],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert told.stderr == ""
    if shutil.which("man"):
        shown = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", *pages],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
            env=os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"},
        )
        assert shown.stderr == ""
        for name in COMMANDS:
            assert f"gnomon-{name} " in shown.stdout


def test_what_roff_would_take_for_its_own_is_printed_as_it_is(tmp_path: Path) -> None:
    _needs("groff")
    text = ".hidden request\n'another\nback\\slash, `code`, a-b, ~ ^ \" and é"
    command = Command((), "does \\fB nothing", "x [-y]", text, (".z",), (), (), ())
    page = tmp_path / "page.1"
    page.write_text(man(command)["gnomon.1"])
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-P-c", page],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stderr == ""
    plain = " ".join(done.stdout.replace("\b", "").split())
    for part in (".hidden request", "'another", "back\\slash", 'a-b, ~ ^ " and é', "\\fB nothing"):
        assert part in plain
