"""Writing a recording so that nothing that was flushed is ever lost."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from gnomon.errors import GnomonError, RecordingError, StateError
from gnomon.recording.contents import EventInfo
from gnomon.recording.files import lock, write_error
from gnomon.recording.folder import (
    create_folder,
    next_number,
    recording_path,
    remove_leftovers,
)
from gnomon.recording.header import Header, Part, read_header
from gnomon.recording.parquet import connect, merge_parts, write_part
from gnomon.recording.tables import (
    ESTIMATES,
    FLUSHES,
    HISTOGRAMS,
    READINGS,
    SAMPLES,
    TABLES,
    Buffer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from gnomon.recording.contents import Estimate, Provenance, Reading, RunInfo, Sample

_MERGE_AT = 32
"""How many small parts may gather before they become one larger part."""


@dataclass(frozen=True, slots=True)
class _State:
    """What is on disk and what is not yet.

    The two change hands in one assignment: wherever Ctrl-C strikes, rows are in exactly
    one of them.
    """

    header: Header
    buffers: dict[str, Buffer]


class RecordingWriter:
    """Takes readings and samples and puts them on disk as they come.

    `path` gets the suffix `.gnomon` if it has none. Rows are flushed when `flush_rows`
    have gathered or `flush_seconds` have passed since the last flush, whichever an
    `append` notices first. A flush is there as a whole or not at all, so that a process
    that is killed leaves a readable recording, marked incomplete. Leaving the `with`
    block marks it complete; leaving it by an exception keeps what was taken, marked
    incomplete, with the reason among the warnings.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        provenance: Provenance,
        events: Iterable[EventInfo] = (),
        *,
        overwrite: bool = False,
        flush_rows: int = 65_536,
        flush_seconds: float = 1.0,
    ) -> None:
        header = Header(provenance, {event.name: event for event in events})
        self.path = recording_path(path)
        self._lock: int | None = create_folder(self.path, header, overwrite)
        self._start(header, flush_rows, flush_seconds)

    @classmethod
    def reopen(
        cls,
        path: str | os.PathLike[str],
        *,
        flush_rows: int = 65_536,
        flush_seconds: float = 1.0,
    ) -> Self:
        """Open an existing recording to add to it; until closed it counts as incomplete."""
        writer = cls.__new__(cls)
        writer.path = recording_path(path)
        read_header(writer.path)  # for its message, should this be no recording
        descriptor = lock(writer.path)
        try:
            # Read under the lock: another writer may just have finished.
            header = read_header(writer.path)
            header.complete = False
            header.write(writer.path)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise write_error(writer.path, error) from None
            raise
        writer._lock = descriptor
        remove_leftovers(writer.path, header)
        writer._start(header, flush_rows, flush_seconds)
        return writer

    def _start(self, header: Header, flush_rows: int, flush_seconds: float) -> None:
        self._state = _State(header, {name: Buffer(table) for name, table in TABLES.items()})
        self._changed = False
        self._flush_rows = flush_rows
        self._flush_seconds = flush_seconds
        self._number = next_number(self.path)
        self._levels: dict[str, int] = {}  # how often the rows of a part were merged
        # Loaded and connected now, so that nothing is loaded while something is measured,
        # and with one thread, so that the measured program keeps its processors.
        import numpy  # noqa: F401

        self._connection = connect(threads=1)
        self._flushed_at = time.monotonic()

    def append(self, readings: Iterable[Reading]) -> None:
        """Take readings; an event that was not declared is added under its bare name."""
        self._append(READINGS.name, readings)

    def append_samples(self, samples: Iterable[Sample]) -> None:
        """Take samples, under the same rules as readings."""
        self._append(SAMPLES.name, samples)

    def append_estimates(self, estimates: Iterable[Estimate]) -> None:
        """Take estimates, under the same rules as readings."""
        self._append(ESTIMATES.name, estimates)

    def append_estimate_columns(self, columns: Sequence[Any]) -> None:
        """Take estimates as the columns of their table: at 50 Hz rows would cost too much."""
        self._append_columns(ESTIMATES.name, columns)

    def append_flush_columns(self, columns: Sequence[Any]) -> None:
        """Take flush records of counters of accesses, as the columns of their table."""
        self._append_columns(FLUSHES.name, columns)

    def append_bin_columns(self, columns: Sequence[Any]) -> None:
        """Take bins of histograms as the columns of their table."""
        self._append_columns(HISTOGRAMS.name, columns)

    def append_wall_columns(self, name: str, columns: Sequence[Any]) -> None:
        """Take rows of a table of wall time, as its columns: see `gnomon.recording.wall_store`."""
        self._append_columns(name, columns)

    def _append_columns(self, name: str, columns: Sequence[Any]) -> None:
        self._check_open()
        buffer = self._state.buffers[name]
        buffer.append_columns(columns, len(columns[0]))
        self._flush_when_due(buffer)

    def add_event(self, event: EventInfo) -> None:
        """Declare a further event, or describe one anew."""
        self._check_open()
        self._header.events[event.name] = event
        self._changed = True

    def add_run(self, run: RunInfo) -> None:
        """Add a run, or replace the one of the same number and batch, and flush.

        A run that is listed in a recording is therefore there with all its readings up
        to this call, which is what a survey needs to be resumed.
        """
        self._check_open()
        self._header.runs[run.run, run.batch] = run
        self._changed = True
        self.flush()

    def warn(self, text: str) -> None:
        """Note something a reader of the recording should know; once is enough."""
        self._check_open()
        if text not in self._header.warnings:
            self._header.warnings.append(text)
            self._changed = True

    def flush(self) -> None:
        """Put everything taken so far on disk; on an error it is kept for the next try."""
        self._check_open()
        full = {name: buffer for name, buffer in self._state.buffers.items() if len(buffer)}
        self._flushed_at = time.monotonic()
        if not full and not self._changed:
            return
        added: dict[str, Part] = {}
        try:
            for name, buffer in full.items():
                added[name] = write_part(self._connection, self._new_path(name), buffer)
                self._declare(buffer)
            tables = self._header.tables
            tables = tables | {name: [*tables.get(name, []), added[name]] for name in added}
            empty = {name: Buffer(TABLES[name]) for name in full}
            self._commit(tables, self._state.buffers | empty)
        except RecordingError:
            self._remove(list(added.values()))
            raise
        for name, part in added.items():
            self._levels[part.file] = 0
            self._merge_small(name)

    def close(self) -> None:
        """Flush, merge the parts of each table into one file, and mark the recording complete."""
        if self._lock is None:
            return
        try:
            self.flush()
            tables = self._header.tables
            merged = {name: self._merged(name, parts) for name, parts in tables.items()}
            self._header.complete = True
            try:
                self._commit(merged)
            finally:
                remove_leftovers(self.path, self._header)
        finally:
            self._release()

    def suspend(self) -> None:
        """Flush and let go, but leave the recording incomplete: it will be reopened."""
        if self._lock is None:
            return
        try:
            self.flush()
        finally:
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif self._lock is not None:
            reason = str(error) or type(error).__name__
            if not isinstance(error, GnomonError) and str(error):
                reason = f"{type(error).__name__}: {error}"
            self.warn(f"the recording stopped early: {reason}")
            try:
                self.flush()
            except RecordingError:
                pass  # the first error is the one to show
            finally:
                self._release()

    def _append(self, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._check_open()
        rest = iter(rows)
        while chunk := list(islice(rest, self._flush_rows)):
            buffer = self._state.buffers[name]
            buffer.append(chunk)
            if len(buffer) >= self._flush_rows:
                self.flush()
        self._flush_when_due(self._state.buffers[name])

    def _flush_when_due(self, buffer: Buffer) -> None:
        waited = time.monotonic() - self._flushed_at
        if len(buffer) >= self._flush_rows or (len(buffer) and waited >= self._flush_seconds):
            self.flush()

    def _check_open(self) -> None:
        if self._lock is None:
            raise StateError(f"'{self.path}' was closed: reopen the recording to add to it.")

    @property
    def _header(self) -> Header:
        return self._state.header

    def _declare(self, buffer: Buffer) -> None:
        if "event" not in {column.name for column in buffer.table.columns}:
            return
        for name in buffer.texts("event"):
            self._header.events.setdefault(name, EventInfo(name))

    def _commit(
        self, tables: dict[str, list[Part]], buffers: dict[str, Buffer] | None = None
    ) -> None:
        """Make a new list of parts the one that counts."""
        header = replace(self._header, tables=tables)
        try:
            header.write(self.path)
        except OSError as error:
            raise write_error(self.path, error) from None
        self._state = _State(header, buffers or self._state.buffers)
        self._changed = False

    def _merge_small(self, name: str) -> None:
        """Keep the number of parts low while recording for hours, as a counter carries digits."""
        parts = self._header.tables[name]
        level = self._levels.get(parts[-1].file)
        same = list(takewhile(lambda p: self._levels.get(p.file) == level, reversed(parts)))[::-1]
        if level is None or len(same) < _MERGE_AT:
            return
        merged = self._merged(name, same)
        if merged == same:
            return
        self._commit(self._header.tables | {name: parts[: -len(same)] + merged})
        self._remove(same)
        self._levels[merged[0].file] = level + 1
        self._merge_small(name)

    def _merged(self, name: str, parts: list[Part]) -> list[Part]:
        """Return one part with the rows of several; the same ones if that did not work out."""
        if len(parts) < 2:
            return parts
        try:
            return [merge_parts(self._connection, self._new_path(name), parts)]
        except (OSError, RecordingError):
            return parts  # all rows are there; only the folder is less tidy

    def _new_path(self, name: str) -> Path:
        path = self.path / f"{name}-{self._number:06d}.parquet"
        self._number += 1
        return path

    def _remove(self, parts: list[Part]) -> None:
        for part in parts:
            (self.path / part.file).unlink(missing_ok=True)
            self._levels.pop(part.file, None)

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
            self._connection.close()
