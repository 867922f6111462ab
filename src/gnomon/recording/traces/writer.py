"""Writing a trace: records are appended in batches of columns, and stay whatever happens then.

A batch is committed when `append` returns: a process that is killed loses nothing of it. When the
machine loses power, what follows the last `sync` may be lost; opening the trace cuts it back to
blocks that check.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.contents import Provenance
from gnomon.recording.files import exists, lock, write_error
from gnomon.recording.traces.folder import (
    NAMES,
    Interface,
    Manifest,
    is_ours,
    is_trace,
    read_manifest,
    segment_path,
    trace_path,
)
from gnomon.recording.traces.types import COLUMNS, EXTRA, FIXED, PAYLOAD, class_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon._native import TraceSegment

BLOCK = 4096
CAPACITY = 1 << 20
_SMALLEST = 1 << 14  # of the first segment; those that follow grow up to CAPACITY


class Batch:
    """Some records as columns, with their payloads.

    `ends` are where the payloads end in `payload`, one after the other. Columns beside the fixed
    ones may be left out; fixed ones that are left out are zero.
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        ends: NDArray[Any] | None = None,
        payload: bytes = b"",
    ) -> None:
        import numpy as np

        if unknown := sorted(set(columns) - COLUMNS.keys() | {"payload"} & set(columns)):
            raise UsageError(f"a trace has no column '{unknown[0]}'.")
        if "time" not in columns or "type" not in columns:
            raise UsageError("a batch of records needs the columns time and type.")
        self.columns = {
            name: np.ascontiguousarray(values, COLUMNS[name].kind)
            for name, values in columns.items()
        }
        self.ends = None if ends is None else np.ascontiguousarray(ends, "u8")
        self.payload = payload
        lengths = {len(values) for values in self.columns.values()}
        if self.ends is not None:
            lengths.add(len(self.ends))
        if len(lengths) != 1:
            raise UsageError("the columns of a batch must be of one length.")

    def __len__(self) -> int:
        return len(self.columns["time"])

    def some(self, start: int, stop: int) -> Batch:
        """Return some of the records."""
        columns = {name: values[start:stop] for name, values in self.columns.items()}
        if self.ends is None:
            return Batch(columns)
        begin = int(self.ends[start - 1]) if start else 0
        ends = self.ends[start:stop]
        end = int(ends[-1]) if len(ends) else begin
        return Batch(columns, ends - self.ends.dtype.type(begin), self.payload[begin:end])

    @property
    def names(self) -> frozenset[str]:
        """The columns beside the fixed ones that it needs."""
        fixed = {each.name for each in FIXED}
        return frozenset(self.columns.keys() - fixed) | (
            {PAYLOAD.name} if self.ends is not None else set()
        )


class TraceWriter:
    """Writes a new trace; nobody else can write to it meanwhile, and anyone can read it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        provenance: Provenance,
        *,
        overwrite: bool = False,
        sync_every: float | None = 1.0,
        interfaces: Sequence[Interface] = (),
    ) -> None:
        self.path = trace_path(path)
        self.rows = 0
        self._segment: TraceSegment | None = None
        self._layout: list[str] = []
        self._unsynced: list[TraceSegment] = []
        self._numbers: dict[str, int] = {"": 0}
        self._sync_every, self._synced = sync_every, time.monotonic()
        self._manifest = Manifest(provenance, interfaces=tuple(interfaces))
        _make_folder(self.path, overwrite)
        self._lock = lock(self.path)
        self._manifest.write(self.path)
        try:
            self._names = (self.path / NAMES).open("ab", buffering=0)
        except OSError as error:
            raise write_error(self.path / NAMES, error) from None

    def number(self, text: str) -> int:
        """Return the number by which records refer to a text."""
        return self.numbers((text,))[0]

    def numbers(self, texts: Sequence[str]) -> list[int]:
        """Return the numbers of texts; new ones are on record before any record uses them."""
        new = [text for text in dict.fromkeys(texts) if text not in self._numbers]
        if new:
            lines = b"".join(json.dumps(text).encode() + b"\n" for text in new)
            try:
                self._names.write(lines)
            except OSError as error:
                raise write_error(self.path / NAMES, error) from None
            for text in new:
                self._numbers[text] = len(self._numbers)
        return [self._numbers[text] for text in texts]

    def append(self, batch: Batch | Mapping[str, Any]) -> int:
        """Append records in order of time and return the number of the first of them.

        A batch with a time before the one in front of it is refused from there on.
        """
        import numpy as np

        batch = batch if isinstance(batch, Batch) else Batch(batch)
        first, at, count = self.rows, 0, len(batch)
        if not count:
            return first
        if self._segment is not None and not batch.names <= set(self._layout):
            self._end_segment()
        ends = batch.ends if batch.ends is not None else np.zeros(count, "u8")
        payload = np.frombuffer(batch.payload, "u1")
        while at < count:
            segment = self._room(batch, count - at)
            arrays = self._arrays(batch, segment, ends)
            try:
                took = segment.append(arrays, at, ends, payload)
            except OSError as error:
                raise write_error(self.path, error) from None
            if took < 0:
                self._keep_before(segment, arrays, at, -1 - took, ends, payload)
                raise self._backwards(int(batch.columns["time"][at - took - 1]))
            at += took
            self.rows += took
        if self._sync_every is not None and time.monotonic() - self._synced > self._sync_every:
            self.sync()
        return first

    def _arrays(self, batch: Batch, segment: TraceSegment, ends: Any) -> list[Any]:
        import numpy as np

        arrays = []
        for name, kind in segment.columns():
            if name == PAYLOAD.name:
                arrays.append(ends)
            elif name in batch.columns:
                arrays.append(batch.columns[name])
            else:
                missing = COLUMNS[name].missing or 0
                arrays.append(np.full(len(batch), missing, kind))
        return arrays

    def _keep_before(
        self, segment: TraceSegment, arrays: Any, at: int, rows: int, ends: Any, payload: Any
    ) -> None:
        """Append the records that are in order."""
        arrays = [values[: at + rows] for values in arrays]
        self.rows += segment.append(arrays, at, ends[: at + rows], payload)

    def _backwards(self, here: int) -> RecordingError:
        return RecordingError(
            f"the clock steps backwards at record {self.rows}, by {self._last_time() - here:,} "
            "ns: a trace is in order of time. The records before it are kept; sort them all to "
            "have the others as well (--sort)."
        )

    def _last_time(self) -> int:
        if self._segment is not None and self._segment.rows:
            return int(self._segment.column("time")[self._segment.rows - 1])
        return self._last

    _last = -(2**63)

    def _room(self, batch: Batch, wanted: int) -> TraceSegment:
        from gnomon._native import TraceSegment

        segment = self._segment
        if segment is not None and segment.rows < segment.capacity:
            return segment
        capacity = _SMALLEST if segment is None else segment.capacity * 4
        if segment is not None:
            self._end_segment()
        while capacity < min(wanted, CAPACITY):
            capacity *= 4
        if self.rows:  # order holds across segments as well
            here = int(batch.columns["time"][len(batch) - wanted])
            if here < self._last:
                raise self._backwards(here)
        self._layout = sorted(batch.names | set(self._layout))
        extra = [each for each in (*EXTRA, PAYLOAD) if each.name in self._layout]
        path = segment_path(self.path, self.rows)
        columns = [[each.name, each.kind] for each in (*FIXED, *extra)]
        try:
            self._segment = TraceSegment.create(
                str(path), columns, min(capacity, CAPACITY), self.rows, class_table()
            )
        except OSError as error:
            raise write_error(path, error) from None
        return self._segment

    def _end_segment(self) -> None:
        if self._segment is not None:
            self._last = self._last_time()
            self._segment.seal()
            self._unsynced.append(self._segment)
            self._segment = None

    def sync(self) -> None:
        """Put what was appended on the disk, so that a loss of power cannot take it."""
        try:
            os.fsync(self._names.fileno())
            for segment in (*self._unsynced, self._segment):
                if segment is not None:
                    segment.sync()
        except OSError as error:
            raise write_error(self.path, error) from None
        self._unsynced.clear()
        self._synced = time.monotonic()

    def describe(self, *, interfaces: Sequence[Interface] = (), notes: Sequence[str] = ()) -> None:
        """Add what was learnt while records came in: interfaces, and sentences for readers."""
        self._manifest = self._manifest.changed(
            interfaces=tuple(interfaces) or self._manifest.interfaces,
            notes=(*self._manifest.notes, *notes),
        )

    def close(self) -> None:
        """End the trace: it is complete then, and on the disk."""
        if self._names.closed:
            return
        try:
            self._end_segment()
            self.sync()
            self._manifest.changed(closed=True).write(self.path)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the trace as a killed writer would: what is committed stays."""
        if not self._names.closed:
            self._names.close()
            os.close(self._lock)
            self._segment = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make_folder(path: Path, overwrite: bool) -> None:
    if exists(path):
        if not overwrite:
            raise RecordingError(
                f"'{path}' already exists: choose another name, or replace it "
                "(--force, overwrite=True)."
            )
        remove_trace(path)
    try:
        path.mkdir()
    except OSError as error:
        raise write_error(path, error) from None


def remove_trace(path: Path) -> None:
    """Delete a trace, unless there is something in its folder that is none of it."""
    if not is_trace(path):
        raise RecordingError(f"'{path}' is not replaced: it is no trace; choose another name.")
    read_manifest(path)
    os.close(lock(path))
    strangers = sorted(each.name for each in path.iterdir() if not is_ours(each.name))
    if strangers:
        raise RecordingError(
            f"'{path}' is not replaced: '{strangers[0]}' in it is no part of a trace; "
            "move that elsewhere or choose another name."
        )
    try:
        for each in sorted(path.iterdir(), key=lambda each: each.name == "trace.json"):
            each.unlink()
        path.rmdir()
    except OSError as error:
        raise write_error(path, error) from None
