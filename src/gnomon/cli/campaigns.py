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


def add_campaign_options(parser: argparse.ArgumentParser, *, resume: bool = True) -> None:
    """Add what commands that make several runs have in common."""
    parser.add_argument("--timeout", metavar="TIME", help="stop a run after TIME, as in 30s")
    parser.add_argument(
        "--warmup", metavar="N", type=int, default=0, help="run N times first, not counted (0)"
    )
    if resume:
        add_resume_option(parser)


def add_resume_option(parser: argparse.ArgumentParser) -> None:
    """Add --resume for commands that go on with unfinished runs of theirs."""
    parser.add_argument(
        "--resume", action="store_true", help="only go on with what was interrupted before"
    )


def campaign_options(options: argparse.Namespace) -> dict[str, object]:
    """Return the options of campaigns that were given, None for those that were not."""
    return {
        "-r": options.repeat if options.repeat != 1 else None,
        "--timeout": options.timeout,
        "--warmup": options.warmup or None,
        "--resume": options.resume or None,
    }


@contextmanager
def campaign_progress(
    options: argparse.Namespace, *, bar: bool = True
) -> Iterator[OnProgress | None]:
    """Show how many runs are done and how long the rest takes, on a terminal only; notes always."""
    if not bar or options.json or not sys.stderr.isatty():
        yield lambda progress: _print_note(progress, options.command_line)
        return
    from gnomon.views.progress import campaign_bar

    with campaign_bar() as update:

        def show(progress: Progress) -> None:
            if progress.note:
                update.note(_worded(progress, options.command_line))
            else:
                label = progress.task.label if progress.task is not None else ""
                update(progress.done, progress.total, progress.left, label)

        yield show


def _print_note(progress: Progress, words: list[str]) -> None:
    if progress.note:
        print(_worded(progress, words), file=sys.stderr, flush=True)


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
