"""The files of a recording as they were at one moment, held open for queries."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gnomon.errors import RecordingError
from gnomon.recording._files import read_error
from gnomon.recording._header import read_header
from gnomon.recording._parquet import OpenPart, connect, create_view, damaged
from gnomon.recording._tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.recording._header import Header


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
