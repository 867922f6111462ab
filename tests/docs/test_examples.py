"""Every example of the documentation runs and prints about what it shows."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gnomon.errors import RecordingError
from gnomon.events.event import Request
from gnomon.sources.perf.source import PerfSource

from .pages import PAGES, REPOSITORY, Example, blocks, examples, name_of

_RUNNABLE = ("console", "python")
_WORD = re.compile(r"[A-Za-z][\w-]+")
_NOT_COMPARED = ("...", "warning:")


def _with_examples(pages: Iterable[Path]) -> list[Path]:
    return [p for p in pages if any(b.language in _RUNNABLE for b in blocks(p))]


@pytest.fixture(scope="module")
def _countable() -> None:
    source = PerfSource()
    [verdict] = source.availability([Request(source.resolve("task-clock")[0])])
    if not verdict.countable:
        pytest.skip(f"task-clock: {verdict.reason}")


@pytest.mark.usefixtures("_countable")
@pytest.mark.parametrize("page", _with_examples(PAGES), ids=name_of)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.language == "console":
            for example in examples(block):
                _run_command(example, name_of(page))
        elif block.language == "python":
            _run_python(block.text, f"{name_of(page)}:{block.line}", names)


def _run_command(example: Example, page: str) -> None:
    if reason := _why_not_here(example.command):
        pytest.skip(f"{page}:{example.line}: {reason}")
    code, printed = _in_shell(example.command)
    where = f"{page}:{example.line}: $ {example.command}\n{printed}"
    assert (code != 0) == example.fails, f"exit code {code}\n{where}"
    # A user without rights counts user mode only, and the names tell.
    found = set(_WORD.findall(re.sub(r":u\b|_u(?=_)", "", printed)))
    for line in example.output:
        word = _WORD.search(line)
        if word is None or line.strip().startswith(_NOT_COMPARED):
            continue
        assert word[0] in found, f"'{word[0]}' is shown but was not printed\n{where}"


def _run_python(text: str, where: str, names: dict[str, Any]) -> None:
    try:
        exec(compile(text, where, "exec"), names)
    except (ImportError, RecordingError) as error:
        if "not installed" not in str(error) and not isinstance(error, ImportError):
            raise
        pytest.skip(f"{where}: {error}")


def _in_shell(command: str) -> tuple[int, str]:
    """Return the exit code and all output; what was left in the background is ended."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    # A file rather than a pipe: a program in the background would keep a pipe open.
    with Path("printed.txt").open("w+", encoding="utf-8") as stream:
        process = subprocess.Popen(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=60)
        finally:
            _end_group(process.pid)
        stream.seek(0)
        return code, stream.read()


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # nothing was left
        os.killpg(leader, signal.SIGKILL)


def _why_not_here(command: str) -> str:
    tool = command.split(maxsplit=1)[0]
    if tool != "gnomon" and shutil.which(tool) is None:
        return f"{tool} is not installed"
    host = PerfSource().host
    restricted = not host.may_measure and (host.paranoid or 0) > 0
    if restricted and re.search(r"\bcount (.* )?-[aC]\b", command):
        return "whole CPUs may not be counted"
    return ""


def test_every_console_block_has_a_command_and_every_fence_is_closed() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = re.findall(r"^```", text, re.MULTILINE)
        assert len(fences) == 2 * len(blocks(page)), f"{name_of(page)} has an open fence"
        for block in blocks(page):
            assert block.language, f"{name_of(page)}:{block.line}: a block without a language"
            if block.language == "console":
                assert examples(block)
