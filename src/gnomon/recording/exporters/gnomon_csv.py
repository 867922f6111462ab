"""Readings as CSV: one line each, with what is needed to understand it alone."""

from __future__ import annotations

import re
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
    events = {event.name: event for event in recording.events}
    source = recording.provenance.source
    simulated = str(recording.provenance.simulated).lower()
    yield _line(COLUMNS)
    for reading in recording.readings():
        event = events.get(reading.event) or EventInfo(reading.event)
        yield _line(
            (
                reading.run,
                reading.batch,
                reading.time,
                reading.event,
                reading.scope,
                "" if reading.value is None else reading.value,
                reading.status.value,
                reading.enabled,
                reading.running,
                event.unit,
                event.scale,
                source,
                simulated,
            )
        )


def _line(cells: tuple[object, ...]) -> str:
    return ",".join([_cell(str(cell)) for cell in cells]) + "\n"


def _cell(text: str) -> str:
    # Not left to the csv module, which forgets to quote a carriage return alone.
    return f'"{text.replace(_QUOTE, _QUOTE * 2)}"' if _SPECIAL.search(text) else text


_QUOTE = '"'
_SPECIAL = re.compile(r'[",\r\n]')
