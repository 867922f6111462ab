"""Recordings: what was measured, kept on disk, taken in from and given out to other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.recording.contents import (
        Estimate,
        EventInfo,
        Provenance,
        Reading,
        RunInfo,
        Sample,
        Status,
        Total,
    )
    from gnomon.recording.exporters import export
    from gnomon.recording.importers import ImportedData, import_file
    from gnomon.recording.reader import Recording
    from gnomon.recording.writer import RecordingWriter

__all__ = [
    "Estimate",
    "EventInfo",
    "ImportedData",
    "Provenance",
    "Reading",
    "Recording",
    "RecordingWriter",
    "RunInfo",
    "Sample",
    "Status",
    "Total",
    "export",
    "import_file",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Estimate": "contents",
        "EventInfo": "contents",
        "ImportedData": "importers",
        "Provenance": "contents",
        "Reading": "contents",
        "Recording": "reader",
        "RecordingWriter": "writer",
        "RunInfo": "contents",
        "Sample": "contents",
        "Status": "contents",
        "Total": "contents",
        "export": "exporters",
        "import_file": "importers",
    },
)
