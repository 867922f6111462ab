"""The header of a recording: what it is about and which of its files count."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from gnomon.errors import RecordingError
from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.recording.files import read_error, replacing
from gnomon.recording.tables import clean

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
HEADER = "header.toml"
SUFFIX = ".gnomon"
PART_NAME = re.compile(r"([a-z_]+)-(\d{6,})\.parquet")

_T = TypeVar("_T", EventInfo, Provenance, RunInfo, "Part")


@dataclass(frozen=True, slots=True)
class Part:
    """A Parquet file that counts; its size and checksum tell whether it is whole."""

    file: str
    rows: int
    size: int
    crc32: int


@dataclass(slots=True)
class Header:
    """All that a recording knows besides its tables.

    A file that `tables` does not list is no part of the recording: it is left from a
    process that was killed before it could list the file, or after it had merged it.
    """

    provenance: Provenance
    events: dict[str, EventInfo] = field(default_factory=dict)
    runs: dict[tuple[int, int], RunInfo] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    tables: dict[str, list[Part]] = field(default_factory=dict)
    complete: bool = False

    def text(self) -> str:
        """Return the header as TOML."""
        plain = {"format": FORMAT, "complete": self.complete, "warnings": self.warnings}
        rest = {
            "provenance": asdict(self.provenance),
            "tables": {name: [asdict(part) for part in self.tables[name]] for name in self.tables},
            "runs": [asdict(run) for run in self.runs.values()],
        }
        events = _events_toml(tuple(self.events.values()))
        pieces = [_toml(plain), events, _toml(rest)]
        if events.startswith("["):
            # Long events are tables, and what follows a table would belong to it.
            pieces = [_toml(plain), _toml(rest), events]
        return "\n".join(pieces)

    def write(self, folder: Path) -> None:
        """Put the header in its folder, in place of the one there is; OSErrors pass through."""
        with replacing(folder / HEADER) as temporary:
            temporary.write_text(self.text(), encoding="utf-8", newline="")


def read_header(folder: Path) -> Header:
    """Read and check the header of the recording in `folder`."""
    path = folder / HEADER
    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise _not_a_recording(folder) from None
    except OSError as error:
        raise read_error(path, error) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecordingError(
            f"'{path}' is not valid TOML ({error}): restore the file from a copy."
        ) from None
    return _checked(document, path)


def _not_a_recording(folder: Path) -> RecordingError:
    if not folder.exists():
        return RecordingError(f"'{folder}' does not exist: check the path of the recording.")
    if not folder.is_dir():
        return RecordingError(
            f"'{folder}' is a file, not a recording: import it first if another tool wrote it."
        )
    return RecordingError(
        f"'{folder}' is not a recording, as it has no {HEADER}: name a folder NAME{SUFFIX}."
    )


def _checked(document: dict[str, Any], path: Path) -> Header:
    version = _need(document, "format", int, path)
    if version > FORMAT:
        raise RecordingError(
            f"'{path.parent}' has format {version}, which is newer than the format {FORMAT} "
            "that this gnomon reads: install a newer gnomon."
        )
    tables = {
        name: [
            build(Part, table, f"tables.{name}[{number}].", path)
            for number, table in enumerate(_as(list, parts, f"tables.{name}", path))
        ]
        for name, parts in _need(document, "tables", dict, path).items()
    }
    for part in (part for parts in tables.values() for part in parts):
        if not PART_NAME.fullmatch(part.file):
            raise RecordingError(
                f"'{path}' is damaged: '{part.file}' is not the name of a part; "
                "restore the file from a copy."
            )
    events = [
        build(EventInfo, table, f"events[{number}].", path)
        for number, table in enumerate(_need(document, "events", list, path))
    ]
    runs = [
        build(RunInfo, table, f"runs[{number}].", path)
        for number, table in enumerate(_need(document, "runs", list, path))
    ]
    return Header(
        provenance=build(
            Provenance, _need(document, "provenance", dict, path), "provenance.", path
        ),
        events={event.name: event for event in events},
        runs={(run.run, run.batch): run for run in runs},
        warnings=[
            _as(str, text, "warnings", path) for text in _need(document, "warnings", list, path)
        ],
        tables=tables,
        complete=_need(document, "complete", bool, path),
    )


@lru_cache(maxsize=4)
def _events_toml(events: tuple[EventInfo, ...]) -> str:
    # Kept, since a header is written with every flush and hundreds of events take long.
    return _toml({"events": [asdict(event) for event in events]})


def _toml(document: dict[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps(_storable(document))


def _storable(value: Any) -> Any:
    # TOML has no null: what is None is left out and read back as the default.
    if isinstance(value, dict):
        return {clean(key): _storable(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def build(cls: type[_T], table: Any, where: str, path: Path) -> _T:
    """Make a dataclass of a TOML table; keys that it does not know are ignored."""
    table = _as(dict, table, where.rstrip("."), path)
    values: dict[str, Any] = {}
    for item in fields(cls):
        if item.name not in table:
            if item.default is MISSING and item.default_factory is MISSING:
                raise _lacks(where + item.name, path)
            continue
        value, key = table[item.name], where + item.name
        match str(item.type):
            case "tuple[str, ...]":
                value = tuple(_as(str, cell, key, path) for cell in _as(list, value, key, path))
            case "dict[str, str]":
                for cell in _as(dict, value, key, path).values():
                    _as(str, cell, key, path)
            case kind:
                value = _as(_TYPES[kind.removesuffix(" | None")], value, key, path)
        values[item.name] = value
    return cls(**values)


_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_WORDS = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}
_WORDS |= {list: "a list", dict: "a table"}


def _need(table: dict[str, Any], key: str, kind: type, path: Path) -> Any:
    if key not in table:
        raise _lacks(key, path)
    return _as(kind, table[key], key, path)


def _as(kind: type, value: Any, key: str, path: Path) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise RecordingError(
            f"'{path}' is damaged: its key '{key}' should be {_WORDS[kind]}; "
            "restore the file from a copy."
        )
    return value


def _lacks(key: str, path: Path) -> RecordingError:
    return RecordingError(
        f"'{path}' is damaged: it lacks the key '{key}'; restore the file from a copy."
    )
