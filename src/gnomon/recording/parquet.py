"""Parquet files written and read by DuckDB, each part whole or not at all.

A `Snapshot` is the files of a recording as they were at one moment, held open for queries.
"""

from __future__ import annotations

import errno
import os
import re
import weakref
import zlib
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import RecordingError
from gnomon.recording.files import read_error, replacing, write_error
from gnomon.recording.header import Part, read_header
from gnomon.recording.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from gnomon.recording.header import Header
    from gnomon.recording.tables import Buffer, Column

_OPTIONS = "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, USE_TMP_FILE false"
_CHUNK = 1 << 20


def connect(threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB of its own, in memory, that prints nothing."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {}
    if threads is not None:
        config["threads"] = threads
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("SET enable_progress_bar = false")
    # We name files by descriptors, which are used again: nothing may be cached by name.
    # DuckDB before 1.3 had no such cache.
    with suppress(duckdb.Error):
        connection.execute("SET enable_external_file_cache = false")
    return connection


def write_part(connection: duckdb.DuckDBPyConnection, path: Path, buffer: Buffer) -> Part:
    """Write the rows of a buffer to a new Parquet file."""
    connection.register("buffer", buffer.arrays())
    try:
        columns = ", ".join(_stored(column) for column in buffer.table.columns)
        return _copy(connection, f"SELECT {columns} FROM buffer", path, len(buffer))
    finally:
        connection.unregister("buffer")


def _stored(column: Column) -> str:
    # Not left to masked arrays: DuckDB 1 takes a masked zero for a counted one.
    name = f'"{column.name}"'
    value = f'CASE WHEN "{column.name}?" THEN NULL ELSE {name} END' if column.optional else name
    return f"CAST({value} AS {column.kind.value}) AS {name}"


def merge_parts(connection: duckdb.DuckDBPyConnection, path: Path, parts: Sequence[Part]) -> Part:
    """Write the rows of several parts of a folder, in their order, to one new Parquet file."""
    with ExitStack() as stack:
        files = [stack.enter_context(OpenPart(path.parent, part)) for part in parts]
        for file in files:
            file.verify()
        rows = sum(part.rows for part in parts)
        return _copy(connection, f"SELECT * FROM {scan(files)}", path, rows)


def _copy(connection: duckdb.DuckDBPyConnection, query: str, path: Path, rows: int) -> Part:
    import duckdb

    try:
        with replacing(path) as temporary:
            target = f"{_quoted(str(temporary))} ({_OPTIONS})"
            written = connection.execute(f"COPY ({query}) TO {target}").fetchall()
            if written != [(rows,)]:
                raise RecordingError(f"cannot write '{path}': DuckDB wrote {written} rows.")
            with temporary.open("rb") as stream:
                size, crc32 = _checksum(stream.fileno())
    except OSError as error:
        raise write_error(path, error) from None
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        raise write_error(path, _as_os_error(error)) from None
    return Part(path.name, rows, size, crc32)


class OpenPart:
    """A part held open, so that it stays readable even when its name is taken away."""

    def __init__(self, folder: Path, part: Part) -> None:
        self.part = part
        self.path = folder / part.file
        self._descriptor = os.open(self.path, os.O_RDONLY)
        root = "/proc/self/fd" if Path("/proc/self/fd").exists() else "/dev/fd"
        self.link = f"{root}/{self._descriptor}"

    def __enter__(self) -> OpenPart:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def verify(self) -> None:
        """Raise an error unless the file is, byte for byte, the one that was written."""
        size = os.fstat(self._descriptor).st_size
        if size < self.part.size:
            raise damaged(self.path, f"it was cut off at {size:,} of {self.part.size:,} bytes")
        if (size, self.part.crc32) != _checksum(self._descriptor):
            raise damaged(self.path, "its content has changed since it was written")


def damaged(path: Path, how: str) -> RecordingError:
    """Return the error to show for a part that cannot be used."""
    return RecordingError(
        f"'{path}' is damaged, {how}: restore it from a copy, or open the recording with "
        "salvage=True to read the other parts."
    )


def scan(files: Sequence[OpenPart]) -> str:
    """Return the SQL that reads the rows of some parts in order."""
    return f"read_parquet([{', '.join(_quoted(file.link) for file in files)}])"


def create_view(connection: Any, name: str, files: Sequence[OpenPart]) -> None:
    """Make the rows of some parts a view; without parts it is an empty one."""
    if files:
        query = f"SELECT * FROM {scan(files)}"
    else:
        columns = ", ".join(
            f'CAST(NULL AS {column.kind.value}) AS "{column.name}"'
            for column in TABLES[name].columns
        )
        query = f"SELECT {columns} WHERE false"
    connection.execute(f'CREATE VIEW "{name}" AS {query}')


def _checksum(descriptor: int) -> tuple[int, int]:
    offset = crc = 0
    while chunk := os.pread(descriptor, _CHUNK, offset):
        crc = zlib.crc32(chunk, crc)
        offset += len(chunk)
    return offset, crc


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _as_os_error(error: Exception) -> OSError:
    # DuckDB tells the system's error number only inside its message, if at all.
    text = str(error)
    if match := re.search(r'errno\\?"\s*:\s*\\?"(\d+)', text):
        return OSError(int(match[1]), os.strerror(int(match[1])))
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES):
        if os.strerror(number) in text:
            return OSError(number, os.strerror(number))
    return OSError(0, text.splitlines()[0])


class Snapshot:
    """A consistent view of a recording, even while another process writes it.

    The parts are opened together and kept open: a writer that merges them and takes
    their names away does not disturb a query. Each is checked once against its checksum.
    With `salvage`, parts that are missing or damaged are left out and named in `damages`.
    """

    def __init__(self, folder: Path, header: Header, salvage: bool = False) -> None:
        self.header = header
        self.damages: list[str] = []
        self._stack = ExitStack()
        self.close = weakref.finalize(self, self._stack.close)  # at the latest when forgotten
        try:
            parts = self._open(folder, salvage)
            # Never closed but forgotten: a result of `sql` may outlive the snapshot.
            self.connection = connect()
            for name in TABLES.keys() | parts.keys():
                if parts.get(name) or name in TABLES:
                    create_view(self.connection, name, parts.get(name, []))
        except BaseException:
            self.close()
            raise

    def _open(self, folder: Path, salvage: bool) -> dict[str, list[OpenPart]]:
        parts: dict[str, list[OpenPart]] = {name: [] for name in self.header.tables}
        for name, listed in self.header.tables.items():
            for part in listed:
                try:
                    file = self._stack.enter_context(OpenPart(folder, part))
                    file.verify()
                    parts[name].append(file)
                except FileNotFoundError:
                    current = read_header(folder)
                    if current.tables != self.header.tables:
                        # A writer merged this part since the header was read: start again.
                        self.header = current
                        self.damages.clear()
                        self._stack.close()
                        return self._open(folder, salvage)
                    self._skip(damaged(folder / part.file, "it is missing"), salvage)
                except OSError as error:
                    self._skip(read_error(folder / part.file, error), salvage)
                except RecordingError as error:
                    self._skip(error, salvage)
        return parts

    def _skip(self, error: RecordingError, salvage: bool) -> None:
        if not salvage:
            raise error
        self.damages.append(f"left out: {str(error).partition(': restore')[0]}")
