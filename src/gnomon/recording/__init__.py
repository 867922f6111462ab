"""Recordings: what was measured, kept on disk, taken in from and given out to other tools."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
    "ImportedData": "importers",
    "Recording": "reader",
    "RecordingWriter": "writer",
    "export": "exporters",
    "import_file": "importers",
}


def __getattr__(name: str) -> Any:
    # Names are fetched on first use: the store needs DuckDB, most commands do not.
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'contents')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
