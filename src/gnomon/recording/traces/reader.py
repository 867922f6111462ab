"""Reading a trace: a consistent prefix of it, also while it is being written.

A `Trace` has parts in order of time: mapped segments, whose rows are taken once when it is opened,
and Parquet files of what was compacted. A record's number is its place in the trace.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.files import lock
from gnomon.recording.traces.folder import (
    Interface,
    Manifest,
    ParquetFile,
    read_manifest,
    read_names,
    segment_firsts,
    segment_path,
    trace_path,
)
from gnomon.recording.traces.types import CLASSES, COLUMNS, FIXED, PAYLOAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon._native import TraceSegment

_PIECE = 122_880  # rows of Parquet that are decoded at once: one of its row groups


@dataclass(frozen=True)
class Hot:
    """The first rows of a mapped segment."""

    segment: TraceSegment
    first: int
    rows: int
    columns: dict[str, Any]  # arrays of its rows, without payloads

    @property
    def end(self) -> int:
        """The number of the record behind its last."""
        return self.first + self.rows

    def index(self) -> NDArray[Any]:
        """Return an entry for each of its blocks: times, and sets of types and ends."""
        import numpy as np

        kind = [("t_first", "i8"), ("t_last", "i8"), ("types", "u8"), ("srcs", "u8")]
        return np.frombuffer(
            self.segment.index(self.rows),
            [
                *kind,
                ("dsts", "u8"),
                ("before", "u4", CLASSES),
                ("check", "u8"),
                ("within", "u2", (8, CLASSES)),
            ],
        )

    def some(self, start: int, stop: int) -> dict[str, Any]:
        """Return the columns of some rows, counted from its first."""
        return {name: values[start:stop] for name, values in self.columns.items()}

    def payloads(self, start: int, stop: int) -> list[bytes]:
        """Return the payloads of some rows, counted from its first."""
        import numpy as np

        if PAYLOAD.name not in {name for name, _ in self.segment.columns()}:
            return [b""] * (stop - start)
        ends = self.segment.column(PAYLOAD.name)[max(start - 1, 0) : stop].astype("i8")
        ends = ends if start else np.concatenate(([0], ends))
        data = self.segment.payloads(start, stop)
        places = (ends - ends[0]).tolist()
        return [data[a:b] for a, b in pairwise(places)]


@dataclass(frozen=True)
class Cold:
    """A Parquet file of records that were compacted; their payloads stay where they were."""

    folder: Path
    file: ParquetFile
    _asked: list[Any] = field(default_factory=list, compare=False)  # its connection, and pieces

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.folder / self.file.file

    @property
    def first(self) -> int:
        """The number of its first record."""
        return self.file.first

    @property
    def rows(self) -> int:
        """How many records it has."""
        return self.file.rows

    @property
    def end(self) -> int:
        """The number of the record behind its last."""
        return self.file.end

    def ask(self, query: str, parameters: Sequence[int] = ()) -> dict[str, Any]:
        """Answer a query of its rows, which are the table `file`, by an array for each column."""
        if not self._asked:
            from gnomon.recording.parquet import connect
            from gnomon.recording.traces.sql import quoted_text

            connection = connect(1)
            source = f"read_parquet({quoted_text(str(self.path))})"
            connection.execute(f"CREATE VIEW file AS SELECT * FROM {source}")
            self._asked.extend((connection, lru_cache(16)(self._decoded)))
        return dict(self._asked[0].execute(query, parameters).fetchnumpy())

    def one(self, row: int) -> dict[str, Any]:
        """Return the columns of one row, counted from its first."""
        number = self.first + row
        return _named(self.ask("SELECT * FROM file WHERE id = ?", (number,)))

    def _piece(self, at: int) -> dict[str, Any]:
        if not self._asked:
            self.ask("SELECT 1 LIMIT 0")
        found: dict[str, Any] = self._asked[1](at)
        return found

    def _decoded(self, at: int) -> dict[str, Any]:
        ends = self.first + at, self.first + at + _PIECE
        return _named(self.ask("SELECT * FROM file WHERE id >= ? AND id < ? ORDER BY id", ends))

    def some(self, start: int, stop: int) -> dict[str, Any]:
        """Return the columns of some rows, counted from its first."""
        import numpy as np

        parts = []
        for piece in range(start // _PIECE, -(-stop // _PIECE)):
            at = piece * _PIECE
            found = self._piece(at)
            low, high = max(start - at, 0), min(stop - at, _PIECE)
            parts.append({name: values[low:high] for name, values in found.items()})
        if len(parts) == 1:
            return {name: values for name, values in parts[0].items() if name != PAYLOAD.name}
        names = [name for name in parts[0] if name != PAYLOAD.name] if parts else []
        return {name: np.concatenate([part[name] for part in parts]) for name in names}

    def ends(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return where the payloads of some rows end in the files of their segments."""
        import numpy as np

        found = [self._piece(at) for at in range(start // _PIECE * _PIECE, stop, _PIECE)]
        if not found or PAYLOAD.name not in found[0]:
            return None
        whole = np.concatenate([each[PAYLOAD.name] for each in found])
        base = start // _PIECE * _PIECE
        return whole[start - base : stop - base]

    def payloads(self, start: int, stop: int) -> list[bytes]:
        """Return the payloads of some rows, counted from its first."""
        ends = self.ends(max(start - 1, 0), stop)
        if ends is None:
            return [b""] * (stop - start)
        firsts = [int(p.name[:12]) for p in sorted(self.folder.glob("*.seg.data"))]
        found = []
        before = int(ends[0]) if start else 0
        for number, end in enumerate(ends[1 if start else 0 :].tolist(), self.first + start):
            owner = firsts[bisect_right(firsts, number) - 1] if firsts else number
            if owner == number:
                before = 0
            with segment_path(self.folder, owner).with_suffix(".seg.data").open("rb") as stream:
                found.append(os.pread(stream.fileno(), max(end - before, 0), before))
            before = end
        return found


def _named(found: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a file as those of segments are."""
    found["addr"] = found.pop("page").astype("u8") << 12 | found.pop("off")
    del found["id"]
    return {name: values for name, values in found.items() if name in COLUMNS}


Part = Hot | Cold


class Trace:
    """A trace as it is at one moment; `refreshed` has what has come since."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = trace_path(path) if not Path(path).is_dir() else Path(path).absolute()
        self.manifest = _settled(self.path)
        for _ in range(100):
            parts = _parts(self.path, self.manifest)
            current = read_manifest(self.path)
            if current.files == self.manifest.files:
                break
            self.manifest = current  # compacted meanwhile
        self.parts: tuple[Part, ...] = parts
        self.names = read_names(self.path)
        self._firsts = [part.first for part in self.parts]
        self.rows = self.parts[-1].end if self.parts else 0

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """Where its records were seen."""
        return self.manifest.interfaces

    def refreshed(self) -> Trace:
        """Return the trace as it is now."""
        return Trace(self.path)

    @property
    def span(self) -> tuple[int, int]:
        """The times of its first and its last record, in ns."""
        if not self.parts:
            return 0, 0
        return _time(self.parts[0], 0), _time(self.parts[-1], self.parts[-1].rows - 1)

    def where(self, number: int) -> tuple[Part, int]:
        """Return the part that has a record, and its row there."""
        if not 0 <= number < self.rows:
            last = f"0 to {self.rows - 1:,}" if self.rows else "none"
            raise UsageError(f"there is no record {number:,}: the trace has {last}.")
        part = self.parts[bisect_right(self._firsts, number) - 1]
        return part, number - part.first

    def record(self, number: int) -> dict[str, int | str]:
        """Return what a record has, by field: no field that its type does not have."""
        part, row = self.where(number)
        if isinstance(part, Hot):
            columns = part.columns
        else:
            columns, row = part.one(row), 0
        kind = int(columns["type"][row])
        found: dict[str, int | str] = {}
        for name, values in columns.items():
            column = COLUMNS[name]
            if (kind not in column.types and column not in FIXED[:3]) or column is PAYLOAD:
                continue
            value = int(values[row])
            if column.missing is None or value != column.missing:
                found[name] = self.text(value) if column.names else value
        return found

    def text(self, number: int) -> str:
        """Return the text that records have the number of."""
        return self.names[number] if number < len(self.names) else f"name {number}"

    def payload(self, number: int) -> bytes:
        """Return the bytes of a record; empty where none were kept."""
        part, row = self.where(number)
        return part.payloads(row, row + 1)[0]

    def overview(self, start: int, stop: int, pixels: int) -> NDArray[Any]:
        """Count the records of each class in equal stretches from `start` up to `stop`.

        Counts are exact at every zoom: whole blocks come from the index of a segment.
        """
        import numpy as np

        from gnomon._native import trace_overview

        if stop <= start or not 0 < pixels <= 10**6:
            raise UsageError("an overview needs a stretch of time, and 1 to 1,000,000 pixels.")
        hot = [part for part in self.parts if isinstance(part, Hot)]
        rows = [part.rows for part in hot]
        segments = [part.segment for part in hot]
        counts = trace_overview(segments, rows, start, stop, pixels)
        total: NDArray[Any] = np.frombuffer(counts, "u4").reshape(pixels, CLASSES).astype("i8")
        cold = [part for part in self.parts if isinstance(part, Cold)]
        if cold:
            from gnomon.recording.traces.sql import overview_of_files

            total = total + overview_of_files(cold, start, stop, pixels)
        return total

    def families(self) -> dict[int, int]:
        """Return how many records there are of each type."""
        from gnomon.recording.traces.sql import TraceDatabase

        with TraceDatabase((self,)) as database:
            found = database.ask("SELECT type, count(*) FROM rows GROUP BY type ORDER BY type")
        return {int(kind): int(count) for kind, count in found.rows}

    def verify(self) -> list[str]:
        """Check every block of every segment; return what is wrong, in words."""
        found = []
        for part in self.parts:
            if isinstance(part, Cold):
                size = part.path.stat().st_size
                if size != part.file.size:
                    found.append(f"{part.path.name} has {size:,} of {part.file.size:,} bytes")
            elif (block := part.segment.verify()) != -1:
                place = "its index" if block == -2 else f"records {part.first + block * 4096:,} on"
                found.append(f"{segment_path(self.path, part.first).name}: {place}")
        return found


def _time(part: Part, row: int) -> int:
    if isinstance(part, Hot):
        return int(part.columns["time"][row])
    return part.file.t_last if row else part.file.t_first


def _parts(folder: Path, manifest: Manifest) -> tuple[Part, ...]:
    parts: list[Part] = [Cold(folder, each) for each in manifest.files]
    for part in parts:
        if isinstance(part, Cold) and not part.path.is_file():
            raise RecordingError(f"'{part.path}' is missing: restore it from a copy.")
    end = manifest.files[-1].end if manifest.files else 0
    for first in segment_firsts(folder):
        if first < end:
            continue  # compacted, and not deleted yet
        try:
            segment = open_segment(folder, first)
        except FileNotFoundError:
            break  # compacted since the folder was read: its manifest tells
        rows = segment.rows
        if first != end or segment.first != first:
            raise _damaged(folder, first, f"records {end:,} to {first - 1:,} are missing")
        if not rows:
            break
        names = [name for name, _ in segment.columns() if name in COLUMNS]
        columns = {name: segment.column(name)[:rows] for name in names if name != PAYLOAD.name}
        parts.append(Hot(segment, first, rows, columns))
        end = first + rows
    return tuple(parts)


def open_segment(folder: Path, first: int, *, writable: bool = False) -> TraceSegment:
    """Open a segment; invalid content is an error that names the file."""
    from gnomon._native import TraceSegment

    path = segment_path(folder, first)
    try:
        segment = TraceSegment.open(str(path), writable)
        kinds = {name: COLUMNS[name].kind for name, _ in segment.columns() if name in COLUMNS}
        if [name for name, _ in segment.columns()][: len(FIXED)] != [c.name for c in FIXED] or any(
            kinds.get(name, kind) != kind for name, kind in segment.columns()
        ):
            raise ValueError("its columns are not those of a trace")
    except ValueError as error:
        raise _damaged(folder, first, str(error)) from None
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise _damaged(folder, first, reason.lower()) from None
    return segment


def _damaged(folder: Path, first: int, how: str) -> RecordingError:
    path = segment_path(folder, first)
    return RecordingError(f"'{path}' is damaged ({how}): restore it from a copy.")


def _settled(folder: Path) -> Manifest:
    """Return the manifest; a trace that nobody writes any more and nobody has ended is ended."""
    manifest = read_manifest(folder)
    if manifest.closed:
        return manifest
    try:
        held = lock(folder)
    except RecordingError:
        return manifest  # it is being written
    try:
        manifest = read_manifest(folder)
        if manifest.closed or not os.access(folder, os.W_OK):
            return manifest
        end = manifest.files[-1].end if manifest.files else 0
        lost, broken = 0, False
        for first in [first for first in segment_firsts(folder) if first >= end]:
            try:
                segment = open_segment(folder, first, writable=True)
            except (RecordingError, FileNotFoundError):
                # Killed while it was made: nothing was committed to it.
                broken = True
            if broken:
                _put_aside(folder, first)
                continue
            had = segment.rows
            kept = had if segment.sealed and segment.verify() == -1 else segment.recover()
            lost, broken = lost + had - kept, kept < had
            if not kept:
                del segment
                segment_path(folder, first).unlink()
                Path(f"{segment_path(folder, first)}.data").unlink(missing_ok=True)
        notes = manifest.notes
        if lost:
            text = f"{lost:,} records at its end did not check after its writer was interrupted"
            notes = (*notes, f"{text}: they are left out.")
        manifest = manifest.changed(closed=True, cut=manifest.cut + lost, notes=notes)
        manifest.write(folder)
    finally:
        os.close(held)
    return manifest


def _put_aside(folder: Path, first: int) -> None:
    """Take what follows a loss out of the trace, without deleting it."""
    for path in (segment_path(folder, first), Path(f"{segment_path(folder, first)}.data")):
        if path.exists():
            path.rename(f"{path}.lost")
