"""Options of the commands that make several runs, their progress, and how they go on."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.measure.campaign import OnProgress, Progress


@contextmanager
def campaign_progress(
    given: argparse.Namespace, *, bar: bool = True
) -> Iterator[OnProgress | None]:
    """Show how many runs are done and how long the rest takes, on a terminal only; notes always."""
    words = given.command_line
    if not bar or given.json or not sys.stderr.isatty():
        yield lambda progress: _say_note(progress, words)
        return
    from gnomon.views.progress import steps_bar

    with steps_bar("runs", timed=False) as update:

        def show(progress: Progress) -> None:
            if progress.note:
                update.note(_worded(progress, words))
            else:
                label = progress.task.label if progress.task is not None else ""
                update(progress.done, progress.total, label, progress.left)

        yield show


def _say_note(progress: Progress, words: list[str]) -> None:
    if progress.note:
        from gnomon.views.show import say

        say(_worded(progress, words), sys.stderr)


def _worded(progress: Progress, words: list[str]) -> str:
    if not progress.places:
        return f"gnomon: {progress.note}"
    return f"gnomon: {progress.note}; to go on: {resume_command(words)}"


def resume_command(words: list[str]) -> str:
    """Return the command line that goes on with the campaign of this one."""
    at = words.index("--") if "--" in words else len(words)
    own = [word for word in words[:at] if word not in ("--resume", "--force")]
    # After the words of a command, as in `gnomon lab study NAME --resume`.
    first = next((place for place, word in enumerate(own) if word.startswith("-")), len(own))
    return shlex.join(["gnomon", *own[:first], "--resume", *own[first:], *words[at:]])
