"""Commands in help texts and pages are commands that exist, with options that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.cli import COMMANDS
from gnomon.events.syntax import ask
from gnomon.sources.registry import source_for

from .commands import gnomon_commands, parse, parser_of
from .pages import PAGES, blocks, name_of

_SHELLS = ("console", "shell")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_in_the_help_can_be_parsed(command: str) -> None:
    help_text = parser_of(command).epilog or ""
    calls = gnomon_commands(help_text)
    assert len(calls) >= 2
    for words in calls:
        assert words[0] == command
        options = parse(words)
        if command == "count" and options.events:
            assert ask(options.events, source_for(options.events).resolve).groups


def test_the_examples_in_the_main_help_can_be_parsed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from gnomon.cli import main

    main([])
    calls = gnomon_commands(capsys.readouterr().out)
    assert len(calls) >= 4
    for words in calls:
        parse(words)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_of_a_page_can_be_parsed(page: Path) -> None:
    for block in blocks(page):
        if block.language in _SHELLS:
            for words in gnomon_commands(block.text):
                parse(words)


def test_calls_are_found_wherever_they_stand() -> None:
    text = "sudo x \\\n  .venv/bin/gnomon count -a\nperf stat && gnomon convert a b | grep c > d\n"
    assert gnomon_commands(text) == [["count", "-a"], ["convert", "a", "b"]]
