"""A bar for work that takes a while, with the time left: on stderr, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gnomon.views.terminal import Screen

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """A bar of steps, with lines above it; without a terminal it shows nothing."""

    def __init__(self, progress: Progress | None, what: str) -> None:
        self._progress = progress
        self._task = progress.add_task(what, total=None, left="", now="") if progress else None

    def __call__(self, done: int, total: int, now: str = "", left: float | None = None) -> None:
        """Show how many steps are done, which goes on, and the seconds that the rest takes."""
        if self._progress is not None and self._task is not None:
            text = "" if left is None else f"{int(left) // 60}:{int(left) % 60:02d} left"
            clean = Screen().clean(now)
            self._progress.update(self._task, completed=done, total=total, left=text, now=clean)

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        if self._progress is not None:
            text = Screen().clean(text)
            self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def steps_bar(what: str, *, timed: bool = True) -> Iterator[Bar]:
    """Show a bar and yield what sets it; `timed` where nobody tells it how long the rest takes."""
    if not sys.stderr.isatty():
        yield Bar(None, what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    left = Left() if timed else TextColumn("{task.fields[left]}")
    now = TextColumn("{task.fields[now]}", markup=False)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), left, now)
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        yield Bar(progress, what)
