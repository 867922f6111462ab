"""Progress bars for work that takes a while, with the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr, on a terminal only, and yield a function that moves it on by one."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def survey_bar() -> Iterator[Callable[[int, int, float | None, str], None]]:
    """Show a bar on stderr and yield what sets it: runs done, all runs, seconds left, source."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[origin]}"),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("runs", left="", origin="")

        def show(done: int, total: int, left: float | None, origin: str) -> None:
            text = "" if left is None else f"{int(left) // 60}:{int(left) % 60:02d} left"
            progress.update(task, completed=done, total=total, left=text, origin=origin)

        yield show
