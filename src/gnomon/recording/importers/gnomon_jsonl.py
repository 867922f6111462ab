"""Our own JSON lines, as exported from a recording."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnomon.errors import RecordingError
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status
from gnomon.recording.exporters import JSONL_VERSION
from gnomon.recording.header import build
from gnomon.recording.importers.draft import Draft, ImportedData

TITLE = "gnomon JSON lines"


def sniff(head: str) -> bool:
    """Tell whether the first line is a header of ours."""
    return head.startswith('{"gnomon":')


def parse(text: str, file: str) -> ImportedData:
    """Take in the header and the readings; only the note of where they come from is new."""
    draft = Draft(file, TITLE)
    first, *rest = text.split("\n")
    header = _loads(first)
    if not isinstance(header, dict) or "gnomon" not in header:
        return draft.finish("gnomon")
    if header["gnomon"] != JSONL_VERSION:
        raise RecordingError(
            f"'{file}' has version {header['gnomon']} of {TITLE}, and this gnomon reads "
            f"{JSONL_VERSION}: install a newer gnomon."
        )
    readings = []
    for count, line in enumerate(rest, start=2):
        reading = _reading(_loads(line))
        if reading is not None:
            readings.append(reading)
        elif line.strip():
            draft.skip(count, line)
    notes = draft.finish("gnomon")
    path = Path(file)
    events, runs = header.get("events", []), header.get("runs", [])
    provenance = build(Provenance, header.get("provenance"), "provenance.", path)
    return ImportedData(
        replace(provenance, imported_from=notes.provenance.imported_from),
        tuple(build(EventInfo, event, "events.", path) for event in events),
        tuple(build(RunInfo, run, "runs.", path) for run in runs),
        tuple(readings),
        (*map(str, header.get("warnings", ())), *notes.warnings),
    )


def _loads(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _reading(content: Any) -> Reading | None:
    try:
        reading = Reading(**content)
        whole = (reading.time, reading.enabled, reading.running, reading.run, reading.batch)
        texts = (reading.event, reading.scope)
        if not all(type(number) is int for number in whole) or type(reading.value) is float:
            return None
        if not all(type(text) is str for text in texts):
            return None
        status = Status(reading.status)
        if status.has_value != (reading.value is not None):
            return None
        return reading._replace(status=status)
    except (TypeError, ValueError):
        return None
