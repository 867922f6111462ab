"""Progress bars for work that takes a while, with the time left."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gnomon.views.terminal import Screen

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr, on a terminal only, and yield a function that moves it on by one."""
    with steps_bar(what) as show:
        show(0, total)
        done = itertools.count(1)
        yield lambda: show(next(done), total)


@contextmanager
def steps_bar(what: str) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr, on a terminal only, and yield what sets it.

    It takes the number of steps that are done and of all steps, and may take what is next.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total, _now="": None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}", markup=False),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(what, total=None, now="")
        yield lambda done, total, now="": progress.update(
            task, completed=done, total=total, now=Screen().clean(now)
        )


class CampaignBar:
    """A bar of runs, with lines above it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("runs", left="", label="")

    def __call__(self, done: int, total: int, left: float | None, label: str) -> None:
        """Show how many runs are done, the seconds that the rest takes, and what runs now."""
        text = "" if left is None else f"{int(left) // 60}:{int(left) % 60:02d} left"
        clean = Screen().clean(label)
        self._progress.update(self._task, completed=done, total=total, left=text, label=clean)

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        text = Screen().clean(text)
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def campaign_bar() -> Iterator[CampaignBar]:
    """Show the bar of a campaign on stderr and yield what sets it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[label]}", markup=False),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        yield CampaignBar(progress)
