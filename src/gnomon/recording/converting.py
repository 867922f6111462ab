"""Other tools' files into recordings, and recordings into files for other tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.recording.exporters import export
from gnomon.recording.files import check_new
from gnomon.recording.importers import import_file
from gnomon.recording.reader import Recording
from gnomon.recording.writer import RecordingWriter

EXPORTS = ("csv", "jsonl", "openmetrics")
_SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".prom": "openmetrics", ".txt": "openmetrics"}


def convert(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    input_format: str | None = None,
    to: str | None = None,
    overwrite: bool = False,
) -> tuple[int, list[str]]:
    """Convert a file to a recording, or a recording to a file; return its readings and warnings.

    `input_format` and `to` are for what content and name do not tell. A `-` is the standard input
    or output.

    >>> counted = gn.count(["true"], "page-faults", output="there.gnomon")
    >>> readings, warnings = gn.convert("there.gnomon", "there.csv")
    >>> readings > 0
    True
    """
    source, output = os.fspath(source), os.fspath(output)
    if source != "-" and Path(source).is_dir():
        return _exported(source, output, to, overwrite=overwrite)
    if to or output == "-" or not output.endswith(".gnomon"):
        raise UsageError(
            f"'{source}' is not a recording, so the output must be one: name it *.gnomon."
        )
    data = import_file(source, input_format)
    readings = list(data.readings)
    with RecordingWriter(output, data.provenance, data.events, overwrite=overwrite) as writer:
        writer.append(readings)
        for info in data.runs:
            writer.add_run(info)
        for text in data.warnings:
            writer.warn(text)
    return len(readings), list(data.warnings)


def _exported(
    source: str, output: str, to: str | None, *, overwrite: bool
) -> tuple[int, list[str]]:
    form = to or _SUFFIXES.get(Path(output).suffix)
    if form is None:
        raise UsageError(
            f"the format of '{output}' is not clear: end it in .csv, .jsonl or .prom, or give --to."
        )
    with Recording.open(source) as recording:
        if output != "-":
            check_new(Path(output), "the export", force=overwrite)
        export(recording, form, sys.stdout if output == "-" else output)
        return len(recording), list(recording.warnings)
