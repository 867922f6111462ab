"""Giving recordings out to other tools: CSV, JSON lines, OpenMetrics.

Each format is one module with a function `lines` that yields the text piece by piece.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.recording._files import replacing_text, write_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gnomon.recording.reader import Recording

__all__ = ["FORMATS", "export", "free_name", "write_file"]

FORMATS = {"csv": "gnomon_csv", "jsonl": "gnomon_jsonl", "openmetrics": "openmetrics"}
"""The formats and their modules."""


def export(
    recording: Recording,
    format: str,  # noqa: A002
    destination: str | os.PathLike[str] | IO[str],
) -> None:
    """Write a recording in a format to a file or an open text stream.

    A file is there as a whole or not at all; one of that name is replaced.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format '{format}': choose from {', '.join(FORMATS)}.")
    lines: Iterator[str] = import_module(f"{__name__}.{FORMATS[format]}").lines(recording)
    if not isinstance(destination, str | os.PathLike):
        destination.writelines(lines)
        return
    write_file(destination, lines)


def write_file(file: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write a text file that is there as a whole or not at all; one of that name is replaced."""
    path = Path(file).absolute()
    try:
        with replacing_text(path) as stream:
            stream.writelines(lines)
    except OSError as error:
        raise write_error(path, error) from None


def free_name(path: str, *, force: bool) -> Path:
    """Return the path of a file to write; one that exists is an error unless forced."""
    if Path(path).exists() and not force:
        raise UsageError(f"'{path}' exists: give --force to replace it, or another name.")
    return Path(path)
