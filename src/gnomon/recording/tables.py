"""The tables that a recording holds, and the buffers that gather their rows."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from gnomon.errors import RecordingError
from gnomon.recording.contents import Bin, Estimate, Flush, Reading, Sample, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Kind(Enum):
    """What a column holds; the value is its type in DuckDB."""

    INTEGER = "BIGINT"
    ADDRESS = "UBIGINT"
    REAL = "DOUBLE"
    TEXT = "VARCHAR"


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column of a table."""

    name: str
    kind: Kind = Kind.INTEGER
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A named table: its columns in the order of the fields of its row type.

    `check` returns what is wrong with the columns of some rows, or nothing.
    """

    name: str
    columns: tuple[Column, ...]
    check: Callable[[Sequence[Sequence[Any]]], str] = lambda _: ""


_SENSIBLE = {(status, not status.has_value) for status in Status if status is not Status.ESTIMATED}


def _check_readings(columns: Sequence[Sequence[Any]]) -> str:
    fields = dict(zip(Reading._fields, columns, strict=True))
    missing = [value is None for value in fields["value"]]
    for status, is_missing in set(zip(fields["status"], missing, strict=True)) - _SENSIBLE:
        if status not in set(Status):
            return f"'{status}' is not a status"
        # A count that is not there must never be taken for one that is, nor the reverse.
        return f"a reading with status '{status}' has {'no' if is_missing else 'a'} value"
    return ""


READINGS = Table(
    "readings",
    (
        Column("time"),
        Column("event", Kind.TEXT),
        Column("scope", Kind.TEXT),
        Column("value", optional=True),
        Column("enabled"),
        Column("running"),
        Column("status", Kind.TEXT),
        Column("run"),
        Column("batch"),
    ),
    _check_readings,
)
SAMPLES = Table(
    "samples",
    (
        Column("time"),
        Column("event", Kind.TEXT),
        Column("pid"),
        Column("tid"),
        Column("cpu"),
        Column("ip", Kind.ADDRESS, optional=True),
        Column("address", Kind.ADDRESS, optional=True),
        Column("weight", optional=True),
        Column("source", Kind.TEXT),
        Column("period"),
        Column("run"),
    ),
)


def _check_estimates(columns: Sequence[Sequence[Any]]) -> str:
    import numpy as np

    fields = dict(zip(Estimate._fields, columns, strict=True))
    for name in ("mean", "deviation", "low", "high"):
        cells = np.asarray(fields[name], dtype=np.float64)
        if not np.all((cells >= 0) & np.isfinite(cells)):
            return f"a {name} is not a finite number from 0 on"
    return ""


ESTIMATES = Table(
    "estimates",
    (
        Column("time"),
        Column("event", Kind.TEXT),
        Column("mean", Kind.REAL),
        Column("deviation", Kind.REAL),
        Column("low", Kind.REAL),
        Column("high", Kind.REAL),
        Column("run"),
        Column("batch"),
    ),
    _check_estimates,
)
FLUSHES = Table(
    "flushes",
    (
        Column("time"),
        Column("event", Kind.TEXT),
        Column("begin"),
        Column("start", Kind.ADDRESS),
        Column("bytes"),
        Column("accesses"),
        Column("writes"),
        Column("node"),
        Column("home"),
        Column("run"),
    ),
)
HISTOGRAMS = Table(
    "histograms",
    (
        Column("time"),
        Column("event", Kind.TEXT),
        Column("low", Kind.REAL),
        Column("high", Kind.REAL),
        Column("occurrences"),
        Column("run"),
        Column("batch"),
    ),
)


def _number(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)


def _address(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Kind.ADDRESS) for name in names)


def _text(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Kind.TEXT) for name in names)


# The record of a run's wall time (gnomon.recording.wall), each with the run that it is of.
_OF_RUN = _number("run", "batch")
WALL_TABLES = (
    Table(
        "wall_moments",
        _number("time", "kind", "flags", "cpu", "pid", "tid", "what", "a", "b") + _OF_RUN,
    ),
    Table(
        "wall_waits",
        _address("args_0", "args_1", "args_2", "args_3", "pc", "sp")
        + _number("timeout", "words_0", "words_1", "words_2", "words_3", "nr", "wchan", "links")
        + _number("place", "stack", "holder", "holder_stack", "took", "timed", "ending")
        + _OF_RUN,
    ),
    Table(
        "wall_frames",
        _address("address", "function") + _number("object", "name", "quality", "exact") + _OF_RUN,
    ),
    Table("wall_stacks", _number("end") + _OF_RUN),
    Table("wall_stack_frames", _number("frame") + _OF_RUN),
    Table("wall_objects", _text("path", "build_id") + _OF_RUN),
    Table("wall_functions", _text("name", "file") + _number("line") + _OF_RUN),
    Table("wall_texts", _text("text") + _OF_RUN),
    Table("wall_facts", _text("facts") + _OF_RUN),
)
TABLES = {
    table.name: table for table in (READINGS, SAMPLES, ESTIMATES, FLUSHES, HISTOGRAMS, *WALL_TABLES)
}

assert tuple(column.name for column in READINGS.columns) == Reading._fields
assert tuple(column.name for column in SAMPLES.columns) == Sample._fields
assert tuple(column.name for column in ESTIMATES.columns) == Estimate._fields
assert tuple(column.name for column in FLUSHES.columns) == Flush._fields
assert tuple(column.name for column in HISTOGRAMS.columns) == Bin._fields


class Buffer:
    """Rows of one table, kept as columns until they are written.

    Rows count once `_rows` says so: a signal that stops an `append` half-way leaves the
    buffer as it was.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._rows = 0
        self._data = [array(_TYPECODES[column.kind]) for column in table.columns]
        self._missing = [bytearray() for _ in table.columns]
        self._codes: dict[str, int] = {}  # every text seen so far, over all text columns
        self._texts: list[str] = []

    def __len__(self) -> int:
        return self._rows

    def append(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows: all of them, or none if one of them does not fit."""
        if not rows:
            return
        try:
            columns = list(zip(*rows, strict=True))
        except (TypeError, ValueError) as error:
            raise self._refusal(f"a row does not fit the table ({error})") from None
        self.append_columns(columns, len(rows))

    def append_columns(self, columns: Sequence[Sequence[Any]], rows: int) -> None:
        """Add rows that come as columns, which may be numpy arrays: all of them, or none."""
        try:
            problem = self.table.check(columns)
            converted = [
                self._convert(column, cells)
                for column, cells in zip(self.table.columns, columns, strict=True)
            ]
        except OverflowError:
            problem = "a number does not fit in 64 bits"
        except (TypeError, ValueError) as error:
            problem = f"a row does not fit the table ({error})"
        if problem:
            raise self._refusal(problem)
        for number, (data, missing) in enumerate(converted):
            del self._data[number][self._rows :]
            del self._missing[number][self._rows :]
            self._data[number].extend(data)
            self._missing[number].extend(missing)
        self._rows += rows

    def _refusal(self, problem: str) -> RecordingError:
        return RecordingError(f"cannot record {self.table.name}: {problem}; nothing was added.")

    def arrays(self) -> dict[str, Any]:
        """Return the columns as numpy arrays; where NAME may lack values, NAME? says so."""
        import numpy as np

        texts = np.array(self._texts, dtype=object)
        arrays: dict[str, Any] = {}
        for column, data, missing in zip(
            self.table.columns, self._data, self._missing, strict=True
        ):
            # Copied, since an array that lends its memory could not grow any more.
            cells = np.array(np.frombuffer(data, dtype=data.typecode)[: self._rows])
            arrays[column.name] = texts[cells] if column.kind is Kind.TEXT else cells
            if column.optional:
                flags = np.frombuffer(missing, dtype=np.bool_)[: self._rows]
                arrays[f"{column.name}?"] = np.array(flags)
        return arrays

    def texts(self, name: str) -> list[str]:
        """Return the different texts of a text column, in the order of first use."""
        number = next(n for n, column in enumerate(self.table.columns) if column.name == name)
        return [self._texts[code] for code in dict.fromkeys(self._data[number][: self._rows])]

    def _convert(self, column: Column, cells: Sequence[Any]) -> tuple[array[Any], bytes]:
        # array, unlike numpy, refuses a float instead of cutting it off.
        if column.kind is Kind.TEXT:
            return array("q", [self._code(cell) for cell in cells]), b""
        code = _TYPECODES[column.kind]
        if not column.optional:
            kind = getattr(cells, "dtype", None)
            if kind is not None:  # a numpy array, which must be of the kind already
                if kind.char != _NUMPY_CODES[code]:
                    raise TypeError(f"{column.name} is an array of {kind}")
                return array(code, cells.tobytes()), b""  # type: ignore[attr-defined]
            return array(code, cells), b""
        return (
            array(code, [0 if cell is None else cell for cell in cells]),
            bytes([cell is None for cell in cells]),
        )

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            if not isinstance(text, str):
                raise TypeError(f"{text!r} is not a text")
            code = self._codes[str(text)] = len(self._texts)
            self._texts.append(clean(text))
        return code


_NUMPY_CODES = {"q": "l", "Q": "L", "d": "d"}
_TYPECODES = {Kind.INTEGER: "q", Kind.ADDRESS: "Q", Kind.REAL: "d", Kind.TEXT: "q"}


def clean(text: str) -> str:
    """Return a text that can be stored: bytes that were not UTF-8 are written as escapes.

    Python hands such bytes, in a command or a file name, on as lone surrogates.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
