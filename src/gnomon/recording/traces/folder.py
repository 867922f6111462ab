"""The folder of a trace: its manifest, its names, its segments and its Parquet files.

capture.trace/
  trace.json               where it comes from, and which Parquet files hold which records
  names                    texts that records have numbers of, one JSON string a line
  000000000000.seg         records 0 and on, as they come: a mapped file
  000000000000.seg.data    their payloads
  000008388608.parquet     records that were compacted
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.contents import Provenance
from gnomon.recording.files import read_error, replacing_text, write_error

SUFFIX = ".trace"
MANIFEST = "trace.json"
NAMES = "names"
FORMAT = 1
SEGMENT = re.compile(r"(\d{12})\.seg")
PARQUET = re.compile(r"(\d{12})\.parquet")
_LARGEST = 1 << 22  # bytes of a manifest: some 10,000 files


@dataclass(frozen=True, slots=True)
class Interface:
    """Where records were seen: its name, and the link type of captures."""

    name: str
    link: int | None = None


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A file of records that were compacted."""

    file: str
    first: int
    rows: int
    t_first: int
    t_last: int
    size: int

    @property
    def end(self) -> int:
        """The number of the record behind its last."""
        return self.first + self.rows


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of a trace besides its records.

    `closed` says that its writer ended it. `cut` is how many records an interrupted one lost.
    """

    provenance: Provenance
    closed: bool = False
    cut: int = 0
    interfaces: tuple[Interface, ...] = ()
    files: tuple[ParquetFile, ...] = ()
    notes: tuple[str, ...] = ()
    format: int = field(default=FORMAT)

    def write(self, folder: Path) -> None:
        """Put it into a folder, in place of the one that is there."""
        try:
            with replacing_text(folder / MANIFEST) as stream:
                json.dump(asdict(self), stream, indent=1)
        except OSError as error:
            raise write_error(folder / MANIFEST, error) from None

    def changed(self, **values: Any) -> Manifest:
        """Return one with other values."""
        return replace(self, **values)


def trace_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a trace: absolute, and with `.trace` added where it lacks."""
    result = Path(path)
    if result.name in ("", ".."):
        raise UsageError(f"'{path}' is no name for a trace: write one such as run1{SUFFIX}.")
    if result.suffix != SUFFIX:
        result = result.with_name(result.name + SUFFIX)
    return result.absolute()


def is_trace(path: Path) -> bool:
    """Whether there is a trace at a path."""
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a trace; what it says is checked, as it may come from anyone."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as stream:
            text = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        where = f"'{folder}' is no trace: it has no {MANIFEST}"
        raise RecordingError(f"{where}; `gnomon trace import` makes one.") from None
    except OSError as error:
        raise read_error(path, error) from None
    try:
        if len(text) > _LARGEST:
            raise ValueError("it is too long")
        return _checked(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecordingError(
            f"'{path}' is damaged ({error}): restore it from a copy, or import the trace again."
        ) from None


def _checked(content: Any) -> Manifest:
    if not isinstance(content, dict):
        raise ValueError("it is no object")
    if content.get("format") != FORMAT:
        raise ValueError(f"its format is {content.get('format')!r}, not {FORMAT}")
    known = {each.name for each in fields(Provenance)}
    given = {k: v for k, v in content["provenance"].items() if k in known}
    for each in fields(Provenance):
        if each.name in given and isinstance(given[each.name], list):
            given[each.name] = tuple(given[each.name])
    _text(given["source"])
    if not isinstance(given.get("simulated", False), bool):
        raise ValueError("simulated is neither true nor false")
    files = tuple(_file(each) for each in content["files"])
    if any(a.end > b.first for a, b in pairwise(files)):
        raise ValueError("its files overlap")
    interfaces = tuple(
        Interface(_text(each["name"]), None if each["link"] is None else _whole(each["link"]))
        for each in content["interfaces"]
    )
    return Manifest(
        Provenance(**given),
        content["closed"] is True,
        _whole(content["cut"]),
        interfaces,
        files,
        tuple(map(_text, content["notes"])),
    )


def _file(content: Any) -> ParquetFile:
    numbers = {each.name: content[each.name] for each in fields(ParquetFile)}
    name = _text(numbers.pop("file"))
    match = PARQUET.fullmatch(name)
    if match is None or int(match[1]) != numbers["first"]:
        raise ValueError(f"'{name}' is no name of a file of records")
    times = {key: _whole(numbers.pop(key), least=-(2**63)) for key in ("t_first", "t_last")}
    return ParquetFile(name, **{k: _whole(v) for k, v in numbers.items()}, **times)


def _whole(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 2**63:
        raise ValueError(f"{value!r:.40} is no number of this kind")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def read_names(folder: Path) -> tuple[str, ...]:
    """Return the texts that records have numbers of; a line that is not whole was never used."""
    path = folder / NAMES
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ("",)
    except OSError as error:
        raise read_error(path, error) from None
    found = [""]
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            found.append(_text(json.loads(line)))
        except (ValueError, TypeError, RecursionError):
            raise RecordingError(
                f"'{path}' is damaged at line {number}: restore it from a copy."
            ) from None
    return tuple(found)


def segment_path(folder: Path, first: int) -> Path:
    """Return the path of the segment that begins with a record."""
    return folder / f"{first:012d}.seg"


def segment_firsts(folder: Path) -> list[int]:
    """Return the first record of each segment in a folder, in order."""
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError as error:
        raise read_error(folder, error) from None
    return sorted(int(match[1]) for name in names if (match := SEGMENT.fullmatch(name)))


def is_ours(name: str) -> bool:
    """Whether a file is one of a trace."""
    bare = name.removesuffix(".lost").removesuffix(".data")
    return name in (MANIFEST, NAMES) or bool(SEGMENT.fullmatch(bare) or PARQUET.fullmatch(name))
