"""Readings as CSV: one line each, with what is needed to understand it alone."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from gnomon.recording.model import EventInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.recording.reader import Recording

COLUMNS = (
    "run",
    "batch",
    "time_ns",
    "event",
    "scope",
    "value",
    "status",
    "enabled_ns",
    "running_ns",
    "unit",
    "scale",
    "source",
    "simulated",
)
"""The columns; a missing value is an empty field, and value x scale is in unit."""


def lines(recording: Recording) -> Iterator[str]:
    """Yield the lines, the names of the columns first."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    events = {event.name: event for event in recording.events}
    source = recording.provenance.source
    simulated = str(recording.provenance.simulated).lower()
    writer.writerow(COLUMNS)
    for reading in recording.readings():
        event = events.get(reading.event) or EventInfo(reading.event)
        writer.writerow(
            (
                reading.run,
                reading.batch,
                reading.time,
                reading.event,
                reading.scope,
                reading.value,
                reading.status.value,
                reading.enabled,
                reading.running,
                event.unit,
                event.scale,
                source,
                simulated,
            )
        )
        if buffer.tell() > 1 << 16:
            yield _emptied(buffer)
    yield _emptied(buffer)


def _emptied(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text
