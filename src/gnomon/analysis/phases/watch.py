"""Running a command to find its phases: counters and footprint in one recording."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gnomon.analysis.count import count
from gnomon.analysis.summary import CountResult
from gnomon.recording import Recording
from gnomon.recording.model import RunInfo
from gnomon.sources.base import Command, Source
from gnomon.sources.perf.footprint import FootprintSource


@contextmanager
def watched(
    command: Command,
    events: str | None,
    *,
    interval: str | int,
    output: str | os.PathLike[str] | None,
    overwrite: bool,
    source: Source | None = None,
    on_run: Callable[[RunInfo], None] | None = None,
) -> Iterator[tuple[Recording, CountResult]]:
    """Run the command and yield its recording, which without an output is kept for the block."""
    with tempfile.TemporaryDirectory(prefix="gnomon-phases-") as folder:
        place = Path(folder) / "run.gnomon" if output is None else output
        counted = count(
            command,
            events,
            interval=interval,
            output=place,
            overwrite=overwrite,
            source=source or FootprintSource(),
            on_run=on_run,
        )
        with Recording.open(place) as recording:
            yield recording, counted
