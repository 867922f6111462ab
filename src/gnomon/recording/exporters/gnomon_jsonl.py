"""A recording as JSON lines: the header in the first one, then one reading each."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.recording.reader import Recording

VERSION = 1


def lines(recording: Recording) -> Iterator[str]:
    """Yield the lines; whatever a recording tells about its readings is in the first one."""
    yield _line(
        {
            "gnomon": VERSION,
            "complete": recording.complete,
            "provenance": _without_none(asdict(recording.provenance)),
            "events": [_without_none(asdict(event)) for event in recording.events],
            "runs": [_without_none(asdict(run)) for run in recording.runs],
            "warnings": list(recording.warnings),
        }
    )
    for reading in recording.readings():
        yield _line(reading._asdict())


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"


def _without_none(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if value is not None}
