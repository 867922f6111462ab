"""Running a command to find its phases: counters and footprint in one recording."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnomon.analysis.campaign import TIMED_OUT
from gnomon.analysis.count import count
from gnomon.recording import Recording
from gnomon.recording.contents import RunInfo
from gnomon.sources.abilities import TellsFootprint
from gnomon.sources.base import Command, Source
from gnomon.sources.registry import source
from gnomon.units import format_duration, parse_duration


@dataclass(frozen=True, slots=True)
class Watch:
    """How the command ended, and what is to be said about that."""

    exit_status: int
    interrupted: bool
    warnings: tuple[str, ...] = ()


@contextmanager
def watched(
    command: Command,
    events: str | None,
    *,
    interval: str | int,
    timeout: str | float | None = None,
    output: str | os.PathLike[str] | None,
    overwrite: bool,
    on: Source | str | None = None,
    on_run: Callable[[RunInfo], None] | None = None,
) -> Iterator[tuple[Recording, Watch]]:
    """Run the command and yield its recording, which without an output is kept for the block."""
    counting = source(on)
    seconds = parse_duration(timeout, "timeout") / 1e9 if isinstance(timeout, str) else timeout
    with tempfile.TemporaryDirectory(prefix="gnomon-phases-") as folder:
        place = Path(folder) / "run.gnomon" if output is None else output
        counted = count(
            command,
            events,
            interval=interval,
            duration=seconds,
            output=place,
            overwrite=overwrite,
            on=counting.with_footprint() if isinstance(counting, TellsFootprint) else counting,
            on_run=on_run,
        )
        ran = counted.runs[0]
        late = seconds is not None and ran.end - ran.start >= seconds * 1e9
        status = counted.exit_status or (TIMED_OUT if late else 0)
        with Recording.open(place) as recording:
            yield (
                recording,
                Watch(status, counted.interrupted, tuple(_doubts(status, seconds, late))),
            )


def _doubts(status: int, seconds: float | None, late: bool) -> Iterator[str]:
    if late and seconds is not None:
        yield (
            f"the command was stopped after {format_duration(round(seconds * 1e9))}: "
            "these are the phases of what it had done; allow more time with --timeout"
        )
    elif status:
        yield f"the command ended with status {status}: see whether it did its work"
