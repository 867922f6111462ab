"""Compaction: segments that are complete become Parquet files, a fifth of their size.

A file has 1 to 8 segments, chosen by us by the numbers of its records: DuckDB would read the
headers of all row groups to find one. A file is in the manifest before its segments go, so that
every record is to be found at every moment. Payloads stay in the files that they are in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from gnomon.errors import RecordingError
from gnomon.recording.files import lock, replacing, write_error
from gnomon.recording.parquet import _as_os_error
from gnomon.recording.traces.folder import ParquetFile, read_manifest, segment_path
from gnomon.recording.traces.reader import Hot, Trace
from gnomon.recording.traces.sql import write_parquet

SEGMENTS = 8
"""How many full segments make one file, of some 8 million records."""
_ROWS = SEGMENTS << 20


def compact(path: str | os.PathLike[str], on_progress: Callable[[str], None] | None = None) -> int:
    """Turn the segments of a trace that nobody writes into Parquet; return how many records."""
    trace = Trace(path)
    held = lock(trace.path)
    try:
        trace = Trace(path) if trace.manifest.closed else trace
        parts = [part for part in trace.parts if isinstance(part, Hot)]
        done = 0
        while parts:
            some = [parts.pop(0)]
            while parts and some[-1].end + parts[0].rows - some[0].first <= _ROWS:
                some.append(parts.pop(0))
            _move(trace.path, some)
            done += sum(part.rows for part in some)
            if on_progress is not None:
                on_progress(f"{done:,} records compacted")
        return done
    finally:
        os.close(held)


def _move(folder: Path, parts: list[Hot]) -> None:
    import duckdb

    for part in parts:
        if part.segment.verify() != -1:
            path = segment_path(folder, part.first)
            raise RecordingError(f"'{path}' is damaged: it stays as it is; see `trace info`.")
    path = folder / f"{parts[0].first:012d}.parquet"
    try:
        with replacing(path) as temporary:
            rows = write_parquet(parts, temporary)
        size = path.stat().st_size
    except OSError as error:
        raise write_error(path, error) from None
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        raise write_error(path, _as_os_error(error)) from None
    if rows != parts[-1].end - parts[0].first:
        raise RecordingError(f"cannot write '{path}': DuckDB wrote {rows} rows.")
    times = int(parts[0].columns["time"][0]), int(parts[-1].columns["time"][-1])
    manifest = read_manifest(folder)
    made = ParquetFile(path.name, parts[0].first, rows, *times, size)
    manifest.changed(files=(*manifest.files, made)).write(folder)
    for part in parts:  # readers that have them mapped keep them
        segment_path(folder, part.first).unlink()
