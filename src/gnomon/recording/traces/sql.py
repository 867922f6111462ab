"""Asking traces in SQL, by DuckDB over mapped segments and Parquet files alike, for reading only.

Every SQL text about traces is formed in this folder, and what is not a number in it goes through
`quoted_name` or `quoted_text`. A query of a user may be one SELECT: DuckDB tells the kind of a
statement, and its settings shut files, extensions and variables of Python away. The settings alone
would still allow COPY, CREATE and DROP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.traces.reader import Cold, Hot
from gnomon.recording.traces.types import (
    BUSY,
    CLASSES,
    COLUMNS,
    ECHOES,
    EXTENDED,
    EXTRA,
    FIXED,
    NO_VALUE,
    PAYLOAD,
    SCI,
    SENDS,
    TYPES,
    WITH_DATA,
    Column,
    class_table,
)

if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.recording.traces.reader import Part, Trace

KINDS = {
    "i8": "BIGINT",
    "u1": "UTINYINT",
    "u2": "USMALLINT",
    "u4": "UINTEGER",
    "u8": "UBIGINT",
    "d8": "UBIGINT",
}
LONGEST_TEXT = 100_000
"""The most characters of a query."""


def quoted_name(name: str) -> str:
    """Return an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Return a text of SQL."""
    if "\0" in text:
        raise UsageError("a text of SQL cannot have a null character.")
    return "'" + text.replace("'", "''") + "'"


def _in(types: frozenset[int]) -> str:
    return f"type IN ({', '.join(map(str, sorted(types)))})"


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query, and whether there would have been more than were asked for."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False


class TraceDatabase:
    """Traces as tables: `rows` as they are kept, `packets` with names, and those of the documents.

    Traces are numbered from 1, in the order given: the column `trace`, and `TraceId`.
    """

    def __init__(
        self, traces: Sequence[Trace], *, threads: int | None = None, locked: bool = True
    ) -> None:
        from gnomon.recording.parquet import connect

        self.traces = tuple(traces)
        self.connection = connect(threads)
        with suppress(Exception):
            self.connection.execute("SET python_enable_replacements = false")
        self._fill()
        if locked:
            self._lock()
            # A SELECT may have an INSERT in its WITH.
            self.connection.execute("BEGIN TRANSACTION READ ONLY")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(
        self, query: str, parameters: Mapping[str, Any] | None = None, most: int | None = None
    ) -> Answer:
        """Answer one SELECT, with at most so many rows; parameters stand in it as $name."""
        cursor = self._run(query, parameters)
        try:
            rows = cursor.fetchall() if most is None else cursor.fetchmany(most + 1)
            columns = tuple(str(each[0]) for each in cursor.description or ())
        except Exception as error:
            raise _refused(error) from None
        more = most is not None and len(rows) > most
        return Answer(columns, tuple(rows if most is None else rows[:most]), more)

    def arrays(self, query: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Answer one SELECT by an array for each column."""
        cursor = self._run(query, parameters)
        try:
            return dict(cursor.fetchnumpy())
        except Exception as error:
            raise _refused(error) from None

    def _run(self, query: str, parameters: Mapping[str, Any] | None) -> Any:
        import duckdb

        if len(query) > LONGEST_TEXT:
            raise UsageError(f"a query may have {LONGEST_TEXT:,} characters at most.")
        cursor = self.connection  # arrays are registered with it, and cursors do not see them
        try:
            cursor.execute("ROLLBACK; BEGIN TRANSACTION READ ONLY")
            statements = cursor.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError(
                    "a trace is only read: the query must be one SELECT, and nothing else."
                )
            given = {k: v for k, v in (parameters or {}).items() if k in _wanted(statements[0])}
            return cursor.execute(statements[0], given or None)
        except UsageError:
            raise
        except Exception as error:
            raise _refused(error) from None

    # ---- tables ------------------------------------------------------------------------------

    def _fill(self) -> None:
        run = self.connection.execute
        raw, named = [], []
        for number, trace in enumerate(self.traces, 1):
            run(f"SET VARIABLE names_{number} = $names", {"names": list(trace.names)})
            for at, part in enumerate(trace.parts):
                source = self._source(f"part_{number}_{at}", part)
                have = columns_of(part)
                raw.append(f"SELECT {number}::UTINYINT AS trace, {_raw(part, have)} FROM {source}")
                named.append(
                    f"SELECT {number}::UTINYINT AS trace, {_named(part, have, number)} "
                    f"FROM {source}"
                )
        run(f"CREATE VIEW rows AS {' UNION ALL '.join(raw) or _empty()}")
        run(f"CREATE VIEW packets AS {' UNION ALL '.join(named) or _empty(named=True)}")
        run("CREATE TABLE types (type UTINYINT, kind VARCHAR, family VARCHAR, class UTINYINT)")
        for each in TYPES:
            values = [each.number, each.name, each.family, each.overview]
            run("INSERT INTO types VALUES (?, ?, ?, ?)", values)
        run("CREATE TABLE traces (trace UTINYINT, path VARCHAR, source VARCHAR, created VARCHAR)")
        for number, trace in enumerate(self.traces, 1):
            origin = trace.manifest.provenance
            values = [number, str(trace.path), origin.source, origin.created]
            run("INSERT INTO traces VALUES (?, ?, ?, ?)", values)
        self.connection.create_function(
            "payload", self._payload, ["UTINYINT", "UBIGINT"], "BLOB", side_effects=False
        )
        for name, query in _DOCUMENTS.items():
            run(f"CREATE VIEW {quoted_name(name)} AS {query}")

    def _payload(self, trace: int, number: int) -> bytes:
        return self.traces[trace - 1].payload(number)

    def _source(self, name: str, part: Part) -> str:
        import numpy as np

        if isinstance(part, Cold):
            return f"read_parquet({quoted_text(str(part.path))})"
        numbers = np.arange(part.first, part.end, dtype="u8")
        self.connection.register(name, {"id": numbers, **part.columns})
        return quoted_name(name)

    def _lock(self) -> None:
        files = [str(p.path) for t in self.traces for p in t.parts if isinstance(p, Cold)]
        listed = ", ".join(map(quoted_text, files))
        self.connection.execute(f"SET allowed_paths = [{listed}]")
        for setting in (
            "enable_external_access = false",
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "lock_configuration = true",
        ):
            with suppress(Exception):
                self.connection.execute(f"SET {setting}")
        locked = self.connection.execute(
            "SELECT name FROM duckdb_settings() WHERE value = 'true' AND name IN "
            "('enable_external_access') OR value = 'false' AND name IN ('lock_configuration')"
        ).fetchall()
        if locked:
            raise RecordingError("this DuckDB cannot be told to leave files alone: update it.")


def _wanted(statement: Any) -> set[str]:
    return set(map(str, statement.named_parameters))


def _refused(error: Exception) -> Exception:
    import duckdb

    if isinstance(error, duckdb.InterruptException):
        return KeyboardInterrupt()  # type: ignore[return-value]
    if isinstance(error, duckdb.Error):
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = lines[0].rstrip(".!") if lines else "it gives no reason"
        hint = next((line for line in lines[1:] if line.startswith("Did you mean")), "")
        return UsageError(f"the query cannot be answered: {text}. {hint}".rstrip())
    return error


def expressions(part: Part) -> dict[str, str]:
    """Return how each column of a part is written in SQL."""
    return {name: _value(part, name) for name in columns_of(part)}


def columns_of(part: Part) -> set[str]:
    """Return the columns that a part has."""
    if isinstance(part, Hot):
        return set(part.columns)
    found = set(part.ask("SELECT * FROM file LIMIT 0"))
    return (found | {"addr"}) & COLUMNS.keys()


def _value(part: Part, name: str) -> str:
    cold = isinstance(part, Cold) and name == "addr"
    return '("page"::UBIGINT << 12 | "off")' if cold else quoted_name(name)


def _raw(part: Part, have: set[str]) -> str:
    found = ["id"]
    for each in (*FIXED, *EXTRA):
        value = _value(part, each.name) if each.name in have else f"NULL::{KINDS[each.kind]}"
        found.append(f"{value} AS {quoted_name(each.name)}")
    return ", ".join(found)


def _named(part: Part, have: set[str], trace: int) -> str:
    found = ["id"]
    for each in (*FIXED, *EXTRA):
        found.append(f"{_seen(part, each, have, trace)} AS {quoted_name(each.name)}")
        if each.name == "type":
            cases = " ".join(f"WHEN {t.number} THEN {quoted_text(t.name)}" for t in TYPES)
            found.append(f'CASE "type" {cases} END AS kind')
    return ", ".join(found)


def _seen(part: Part, column: Column, have: set[str], trace: int) -> str:
    """Return a field for readers: NULL where a record does not have it, texts for their numbers."""
    kind = "VARCHAR" if column.names else KINDS[column.kind]
    if column.name not in have:
        return f"NULL::{kind}"
    value = _value(part, column.name)
    if column in FIXED[:3]:
        return value
    test = _in(column.types)
    if column.missing is not None:
        test = f"{test} AND {value} <> {column.missing}"
    if column.names:
        value = f"getvariable('names_{trace}')[{value} + 1]"
    return f"CASE WHEN {test} THEN {value} END"


def _empty(*, named: bool = False) -> str:
    found = ["NULL::UTINYINT AS trace", "NULL::UBIGINT AS id"]
    for each in (*FIXED, *EXTRA):
        kind = "VARCHAR" if named and each.names else KINDS[each.kind]
        found.append(f"NULL::{kind} AS {quoted_name(each.name)}")
        if named and each.name == "type":
            found.append("NULL::VARCHAR AS kind")
    return f"SELECT {', '.join(found)} WHERE false"


# The relational schema of the documents (Manzke, Listing 4.1). They print the names of tables and
# keys, and no columns but those that the listing shows; the others are ours.
_KEY = "trace AS TraceId, id AS PacketId"
_DOCUMENTS = {
    "SCI_Packets": f"SELECT {_KEY}, type AS Packet_Type_Id, dst AS targetId, src AS sourceId, "
    f"time AS absolute_Time, dt AS relative_Time, lc AS probe FROM packets WHERE {_in(SCI)}",
    "SCI_Packet_Type_Id": "SELECT type AS Packet_Type_Id, kind AS Packet_Type_Description "
    "FROM types WHERE family = 'sci'",
    "SCI_Trace_Information": "SELECT trace AS TraceId, path AS Trace_Path, source AS "
    "Trace_Source, created AS Trace_Date FROM traces",
    "SCI_Cmd": f"SELECT {_KEY}, type AS command, flags FROM packets WHERE {_in(SENDS | ECHOES)}",
    "SCI_Control": f"SELECT {_KEY}, tx AS transactionId, control FROM packets WHERE {_in(SENDS)}",
    "SCI_AddressOffset": f"SELECT {_KEY}, addr AS addressOffset FROM packets WHERE {_in(SENDS)}",
    "SCI_Extended": f"SELECT {_KEY}, extended AS extendedHeader FROM packets WHERE {_in(EXTENDED)}",
    "SCI_FlowControl": f"SELECT {_KEY}, flow AS flowControl, idles AS idlesBefore FROM packets "
    f"WHERE {_in(SENDS | ECHOES)}",
    "SCI_CRC": f"SELECT {_KEY}, crc FROM packets WHERE {_in(SENDS | ECHOES)}",
    "SCI_Echo": f"SELECT {_KEY}, tx AS transactionId, (flags & {BUSY} > 0) AS busy FROM packets "
    f"WHERE {_in(ECHOES)}",
    "SCI_Data": f"SELECT {_KEY}, payload(trace, id) AS data FROM packets WHERE {_in(WITH_DATA)}",
    "SCI_Idle": f"SELECT {_KEY}, 19::UTINYINT AS Packet_Type_Id, lc AS probe, idles AS symbols, "
    f"time AS before_Time FROM packets WHERE {_in(SENDS | ECHOES)} AND idles > 0",
}


def overview_of_files(parts: Sequence[Cold], start: int, stop: int, pixels: int) -> Any:
    """Count the records of each class in equal stretches of time, by reading the files."""
    import numpy as np

    from gnomon.recording.parquet import connect

    total = np.zeros((pixels, CLASSES), "i8")
    wanted = [p for p in parts if p.file.t_last >= start and p.file.t_first < stop]
    if not wanted:
        return total
    # The edges are those of segments: start + floor(span * pixel / pixels).
    span = stop - start
    edges = np.array([start + span * p // pixels for p in range(pixels + 1)], "i8")
    files = ", ".join(quoted_text(str(each.path)) for each in wanted)
    connection = connect()
    try:
        found = connection.execute(
            f"SELECT time, type, count(*) AS n FROM read_parquet([{files}]) "
            "WHERE time >= $start AND time < $stop GROUP BY time, type",
            {"start": start, "stop": stop},
        ).fetchnumpy()
    finally:
        connection.close()
    where = np.searchsorted(edges, np.asarray(found["time"]), side="right") - 1
    classes = np.frombuffer(class_table(), "u1")[np.asarray(found["type"])]
    np.add.at(total, (where, classes), np.asarray(found["n"], "i8"))
    return total


# ---- compaction ---------------------------------------------------------------------------------

_COPY = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, PARQUET_VERSION v2"


def write_parquet(parts: Sequence[Hot], path: Path, *, row_group: int = 122_880) -> int:
    """Write mapped segments to one Parquet file, as compaction keeps them; return its rows."""
    import numpy as np

    from gnomon.recording.parquet import connect

    connection = connect()
    names = {name for part in parts for name, _ in part.segment.columns() if name in COLUMNS}
    selects = []
    for at, part in enumerate(parts):
        own = {name for name, _ in part.segment.columns()}
        arrays = {"id": np.arange(part.first, part.end, dtype="u8"), **part.columns}
        if PAYLOAD.name in own:
            arrays[PAYLOAD.name] = part.segment.column(PAYLOAD.name)[: part.rows]
        connection.register(f"part_{at}", arrays)
        found = ["id"]
        for each in (*FIXED, *EXTRA, PAYLOAD):
            if each.name == "addr":  # one column of 8 bytes would not use a dictionary
                found.append("(addr >> 12) AS page, (addr & 4095)::USMALLINT AS off")
            elif each.name in own:
                found.append(quoted_name(each.name))
            elif each.name in names:
                lacking = 0 if each.name == PAYLOAD.name else (each.missing or 0)
                assert lacking <= NO_VALUE
                found.append(f"{lacking}::{KINDS[each.kind]} AS {quoted_name(each.name)}")
        selects.append(f"SELECT {', '.join(found)} FROM part_{at}")
    options = f"{_COPY}, ROW_GROUP_SIZE {row_group:d}, USE_TMP_FILE false"
    target = quoted_text(str(path))
    try:
        query = f"COPY ({' UNION ALL '.join(selects)}) TO {target} ({options})"
        written = connection.execute(query).fetchall()
    finally:
        connection.close()
    return int(written[0][0])
