"""Options that the words of `gnomon notify` share, and the progress bar of their sessions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gnomon.errors import UsageError

SPIN = "5us"  # named here, so that --help loads no more


def add_host_options(parser: argparse.ArgumentParser, duration: str) -> None:
    """Add what every measurement of this host can be told."""
    parser.add_argument(
        "-m", "--mechanisms", metavar="LIST", help="these mechanisms alone, as in futex,tcp"
    )
    parser.add_argument("--cpus", metavar="LIST", help="use these CPUs, as in 0,1")
    parser.add_argument(
        "-d", "--duration", metavar="TIME", default=duration, help=f"of all of it ({duration})"
    )
    parser.add_argument(
        "--spin", metavar="TIME", default=SPIN, help=f"how long spin-block spins ({SPIN})"
    )


def listed(text: str | None, option: str) -> list[str] | None:
    """Return the words of a list, or None when there is no such option."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError(f"{option} is empty: name something, or leave the option away.")
    return words


def listed_cpus(text: str | None) -> list[int] | None:
    """Return the CPUs of a list, in the order in which they are named."""
    from gnomon.events.sysfs import parse_cpu_list

    words = listed(text, "--cpus")
    if words is None:
        return None
    return [cpu for word in words for cpu in parse_cpu_list(word)]


@contextmanager
def session_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar on a terminal and yield what is told of each session: done, all, what is next."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("messages"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("messages", now="")

        def show(done: int, total: int, now: str) -> None:
            progress.update(task, completed=done, total=total, now=now)

        yield show
