"""Taking in what other tools have measured.

Each format is one module with three names: `TITLE` says what it is, `sniff` tells from the
beginning of a text whether it may be that, and `parse` takes it in.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.files import read_error
from gnomon.recording.importers.draft import ImportedData

if TYPE_CHECKING:
    import os

__all__ = ["FORMATS", "ImportedData", "import_file"]

FORMATS = {
    "gnomon-jsonl": "gnomon_jsonl",
    "gnomon-csv": "gnomon_csv",
    "likwid-csv": "likwid_csv",
    "papi-json": "papi_json",
    "perf-json": "perf_json",
    "perf-text": "perf_text",
    "perf-csv": "perf_csv",
}
"""The formats and their modules, in the order they are tried: the clearest signs first."""

_SNIFFED = 1 << 16


class Importer(Protocol):
    """What a module of a format provides."""

    TITLE: str

    def sniff(self, head: str) -> bool:
        """Tell from the beginning of a text whether it may be of this format."""

    def parse(self, text: str, file: str) -> ImportedData:
        """Take in a text; without any reading in the result, it was not of this format."""


def import_file(path: str | os.PathLike[str], format: str | None = None) -> ImportedData:  # noqa: A002
    """Take in a file of another tool, of the named format or of the one that it looks like.

    A path of `-` is the standard input.
    """
    read_input = path == "-"
    path = Path("the standard input" if read_input else path)
    if format is not None and format not in FORMATS:
        raise UsageError(f"unknown format '{format}': choose from {', '.join(FORMATS)}.")
    text = _decoded(sys.stdin.buffer.read() if read_input else _content(path))
    for name in [format] if format else FORMATS:
        importer = _importer(name)
        if format or importer.sniff(text[:_SNIFFED]):
            data = importer.parse(text, path.name)
            if data.readings:
                return data
    tried = f"as {format}" if format else f"in any of the formats {', '.join(FORMATS)}"
    what = "the standard input" if read_input else f"'{path}'"
    raise RecordingError(
        f"{what} holds no reading that could be understood {tried}: check that it is the "
        "output of such a tool" + (" and of this format." if format else ".")
    )


def _importer(name: str) -> Importer:
    return cast("Importer", import_module(f"{__name__}.{FORMATS[name]}"))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise read_error(path, error) from None


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Old locales write the space between thousands as one byte that is not UTF-8.
        return content.decode("latin-1")
