"""Ways to run `gnomon` in a test, and what comes back."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gnomon.cli import main

NOBODY = 65534

ENVELOPE = {"gnomon", "command", "source", "simulated", "warnings", "results"}
ROW = {"event", "value", "unit", "status", "running", "scope", "spread", "values"}


class Outcome(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The object on stdout, which must hold nothing else."""
        content = json.loads(self.out)
        assert isinstance(content, dict)
        return content

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """The rows of `count --json`, by event."""
        return {row["event"]: row for row in self.json["results"]["counts"]}


Run = Callable[..., Outcome]


def in_process(arguments: Sequence[str], capture: pytest.CaptureFixture[str]) -> Outcome:
    """Call `main` as the installed command does."""
    capture.readouterr()
    code = exit_code(arguments)
    out, err = capture.readouterr()
    return Outcome(code, out, err)


def exit_code(arguments: Sequence[str]) -> int:
    """Return the exit code of a call of `main`, whether it returns or leaves."""
    try:
        return main(arguments)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)


def command_line(*arguments: str) -> list[str]:
    """Return the words that start `gnomon` as a program of its own."""
    return [sys.executable, "-m", "gnomon", *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return the environment as users have it: with Python's output buffered in a pipe."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | more


def as_program(*arguments: str, **options: Any) -> Outcome:
    """Run `gnomon` as a program of its own."""
    done = subprocess.run(
        command_line(*arguments),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
        check=False,
        **options,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def wait_for_children(pid: int, least: int = 1, seconds: float = 120) -> list[int]:
    """Return the children of a process once it has so many, or whoever there is when it has not."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    deadline = time.monotonic() + seconds
    while len(found := children.read_text().split()) < least and time.monotonic() < deadline:
        time.sleep(0.01)
    return [int(each) for each in found]


def still_running(pids: Iterable[int], seconds: float = 120) -> list[int]:
    """Return which of these processes have not ended in time."""
    deadline = time.monotonic() + seconds
    while left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return left


def as_nobody(arguments: Sequence[str]) -> Outcome:
    """Run `main` in a fork that has given up all rights.

    A program of its own could not be started: nobody may not read this environment.
    """
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                if os.geteuid() == 0:
                    _become_nobody()
                sys.stdout = os.fdopen(1, "w", encoding="utf-8")
                sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
                code = exit_code(arguments)
                sys.stdout.flush()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return Outcome(os.waitstatus_to_exitcode(status), texts[0], texts[1])


def _become_nobody() -> None:
    # Loaded before the rights are gone, since nobody may not read the files of root's Python.
    import mmap  # noqa: F401
    import resource  # noqa: F401

    import numpy  # noqa: F401

    import gnomon.recording.writer  # noqa: F401

    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    # Who gave up rights hides from other processes, its own children included; exec, which
    # usually follows, would end that.
    set_dumpable = 4
    ctypes.CDLL(None).prctl(set_dumpable, 1, 0, 0, 0)


def one_sentence(text: str) -> bool:
    """Whether a message is a single line from gnomon that ends as a sentence does."""
    lines = text.splitlines()
    return len(lines) == 1 and lines[0].startswith("gnomon: ") and lines[0].endswith((".", "?"))
