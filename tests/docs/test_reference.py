"""The reference names everything there is."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
from collections.abc import Iterator

import pytest

import gnomon
from gnomon import errors
from gnomon.cli import COMMANDS
from gnomon.events.event import Kind
from gnomon.events.syntax import _LETTERS
from gnomon.recording.contents import (
    Estimate,
    EventInfo,
    Provenance,
    Reading,
    RunInfo,
    Sample,
    Status,
)
from gnomon.recording.converting import EXPORTS
from gnomon.recording.exporters import CSV_COLUMNS
from gnomon.recording.exporters import FORMATS as EXPORTED
from gnomon.recording.importers import FORMATS as IMPORTED
from gnomon.sources.base import Source, Verdict

from .commands import parser_of
from .pages import DOCS


def _page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_that_names_every_option(command: str) -> None:
    page = _page(f"reference/{command}.md")
    assert page.startswith(f"# gnomon {command}\n")
    for option in _options(parser_of(command)):
        assert re.search(rf"`{re.escape(option)}[ `]", page), f"{option} of {command}"


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options of a command and of the words that it knows."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for word in action.choices.values():
                yield from _options(word)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_documents_its_json_and_its_exit_code(command: str) -> None:
    page = _page(f"reference/{command}.md")
    assert "## JSON\n" in page
    assert "## Exit code\n" in page


def test_every_status_is_explained() -> None:
    for status in Status:
        assert f"| `{status}` |" in _page("reference/status.md")


def test_every_verdict_is_explained() -> None:
    for verdict in Verdict:
        assert f"| `{verdict}` |" in _page("reference/events.md")


def test_every_kind_of_event_of_the_kernel_is_explained() -> None:
    for kind in Kind:
        if kind is not Kind.SYNTHETIC:  # counted from inside a program only
            assert f"| `{kind}` |" in _page("reference/events.md")


def test_every_modifier_is_explained() -> None:
    page = _page("reference/event-syntax.md")
    for letter in _LETTERS:
        assert re.search(rf"^\| `{letter}`", page, re.MULTILINE), letter


def test_every_format_is_explained() -> None:
    page = _page("reference/convert.md")
    assert set(EXPORTS) == set(EXPORTED)
    for name in (*IMPORTED, *EXPORTED):
        assert f"| `{name}` |" in page
    for column in CSV_COLUMNS:
        assert f"`{column}`" in page


def test_every_column_of_a_recording_is_explained() -> None:
    page = _page("reference/recording-format.md")
    for column in (*Reading._fields, *Sample._fields, *Estimate._fields):
        assert f"`{column}`" in page


def test_the_example_of_a_header_has_every_key() -> None:
    page = _page("reference/recording-format.md")
    header = page.partition("```toml\n")[2].partition("```")[0]
    optional = {"seed", "environment", "campaign"}  # null here, and tables of their own
    assert "[provenance.campaign]" in header
    for kind in (Provenance, RunInfo, EventInfo):
        for field in dataclasses.fields(kind):
            if field.name not in optional:
                assert re.search(rf"^{field.name} = ", header, re.MULTILINE), field.name


def test_every_public_name_is_explained() -> None:
    page = _page("reference/python.md")
    for name in gnomon.__all__:
        assert f"`{name}`" in page


def test_every_error_is_explained() -> None:
    page = _page("reference/python.md")
    for name, value in inspect.getmembers(errors, inspect.isclass):
        if issubclass(value, errors.GnomonError):
            assert f"| `{name}` | {value.exit_code}" in page


def test_every_method_of_a_recording_is_explained() -> None:
    page = _page("reference/python.md")
    own = {"close"}  # what leaving the block does
    for name in vars(gnomon.Recording):
        if not name.startswith("_") and name not in own:
            assert re.search(rf"`(Recording\.)?{name}[(`]", page), name


def test_every_argument_of_count_is_explained() -> None:
    page = _page("reference/python.md")
    for name in inspect.signature(gnomon.count).parameters:
        assert f"`{name}" in page, name


def test_every_method_of_a_source_is_explained() -> None:
    page = _page("architecture.md")
    for name, value in vars(Source).items():
        if inspect.isfunction(value) and not name.startswith("_"):
            assert f"`{name}(" in page, name
