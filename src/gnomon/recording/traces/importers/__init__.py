"""Traces from files of other tools: found by their content, read in pieces, refused with a place.

An importer is a module with `TITLE`, `sniff` of the first bytes, and `read`, which yields batches
of records in the order of the file.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.contents import Provenance
from gnomon.recording.files import read_error
from gnomon.recording.traces.folder import Interface
from gnomon.recording.traces.types import COLUMNS
from gnomon.recording.traces.writer import Batch, TraceWriter

if TYPE_CHECKING:
    from types import ModuleType

FORMATS = {
    "pcap": "captures",
    "perf": "perf_script",
    "ctf": "ctf_text",
    "otf2": "otf2_text",
    "csv": "csv_rows",
}
"""The formats, and the module of each."""
_HEAD = 4096


class DamagedError(RecordingError):
    """A file that is not whole; what came before the place was read."""


@dataclass
class Reading:
    """What an importer is given, and what it tells besides records."""

    file: str
    numbers: Callable[[Sequence[str]], list[int]]
    interfaces: list[Interface] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    clock: str = "CLOCK_REALTIME"

    def damaged(self, how: str) -> DamagedError:
        """Return the error for a file that cannot be read on."""
        return DamagedError(
            f"'{self.file}' is damaged or cut short: {how}. With --salvage what comes before "
            "that place is kept."
        )


def import_trace(
    files: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word of the command
    sort: bool = False,
    salvage: bool = False,
    overwrite: bool = False,
    command: Sequence[str] = (),
) -> Path:
    """Make a trace of files of other tools and return its path; "-" is standard input.

    Records must be in order of time, unless `sort` may hold all of them in memory; several files
    are always sorted. A file that is damaged leaves no trace, or with `salvage` what came before.
    """
    if not files:
        raise UsageError("nothing to import: name a file.")
    if format is not None and format not in FORMATS:
        raise UsageError(f"there is no format '{format}': choose from {', '.join(FORMATS)}.")
    with ExitStack() as stack:
        streams = [(str(file), stack.enter_context(_opened(str(file)))) for file in files]
        modules = [_module(name, stream, format) for name, stream in streams]
        origin = Provenance(
            source="import",
            command=tuple(command),
            imported_from=", ".join(Path(name).name for name, _ in streams),
            clock="CLOCK_REALTIME",
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        writer = TraceWriter(output, origin, overwrite=overwrite, sync_every=None)
        try:
            readings = [Reading(name, writer.numbers) for name, _ in streams]
            batches = _all(modules, streams, readings, salvage)
            if sort or len(files) > 1:
                batches = sorted_by_time(batches)
            for batch in batches:
                writer.append(batch)
            writer.describe(
                interfaces=[each for reading in readings for each in reading.interfaces],
                notes=[note for reading in readings for note in reading.notes],
            )
        except BaseException:
            writer.close()
            from gnomon.recording.traces.writer import remove_trace

            remove_trace(writer.path)
            raise
        writer.close()
    return writer.path


def _all(
    modules: Sequence[ModuleType],
    streams: Sequence[tuple[str, BufferedReader]],
    readings: Sequence[Reading],
    salvage: bool,
) -> Iterator[Batch]:
    seen = 0
    for module, (_, stream), reading in zip(modules, streams, readings, strict=True):
        try:
            for batch in module.read(stream, reading):
                yield _moved(batch, seen) if seen else batch
        except DamagedError as error:
            if not salvage:
                raise
            reading.notes.append(str(error).partition(". With --salvage")[0] + ".")
        except OSError as error:
            raise read_error(Path(reading.file), error) from None
        seen += len(reading.interfaces)


def _moved(batch: Batch, interfaces: int) -> Batch:
    """Number the interfaces of a later file on from those of the files before it."""
    columns = {**batch.columns}
    if "lc" in columns and interfaces:
        columns["lc"] = (columns["lc"].astype("i8") + interfaces).clip(0, 65535)
    return Batch(columns, batch.ends, batch.payload)


def _opened(name: str) -> BufferedReader:
    if name == "-":
        return cast(BufferedReader, sys.stdin.buffer)
    path = Path(name)
    try:
        if path.is_dir():
            raise UsageError(
                f"'{path}' is a folder: give the text that `babeltrace2 --clock-seconds` or "
                "`otf2-print` writes of it."
            )
        return path.open("rb")
    except OSError as error:
        raise read_error(path, error) from None


def _module(name: str, stream: BufferedReader, chosen: str | None) -> ModuleType:
    modules = {each: import_module(f"{__name__}.{file}") for each, file in FORMATS.items()}
    if chosen is not None:
        return modules[chosen]
    head = _peeked(stream)
    for module in modules.values():
        if module.sniff(head):
            return module
    if not head:
        raise RecordingError(f"'{name}' is empty: there is nothing to import.")
    known = "; ".join(f"{each}: {module.TITLE}" for each, module in modules.items())
    raise RecordingError(f"'{name}' is of no known format; --format says which ({known}).")


def _peeked(stream: BufferedReader) -> bytes:
    head = stream.peek(_HEAD)[:_HEAD]
    until = time.monotonic() + 1.0
    while 0 < len(head) < 24 and time.monotonic() < until:  # a pipe that has just begun
        more = stream.peek(_HEAD)[:_HEAD]
        if len(more) == len(head):
            break
        head = more
    return head


def sorted_by_time(batches: Iterator[Batch], size: int = 1 << 16) -> Iterator[Batch]:
    """Sort all records by time, in memory; those of one time stay in their order."""
    import numpy as np

    every = [batch for batch in batches if len(batch)]
    if not every:
        return
    names = frozenset[str]().union(*(batch.columns.keys() for batch in every))
    columns = {name: np.concatenate([_filled(b, name) for b in every]) for name in sorted(names)}
    order = np.argsort(columns["time"], kind="stable")
    bases = np.cumsum([0, *(len(batch.payload) for batch in every)])
    ends = np.concatenate(
        [
            base + (np.zeros(len(b), "u8") if b.ends is None else b.ends).astype("i8")
            for base, b in zip(bases.tolist(), every, strict=False)
        ]
    )
    starts = np.concatenate(([0], ends[:-1]))
    data = np.frombuffer(b"".join(batch.payload for batch in every), "u1")
    has_payload = any(batch.ends is not None for batch in every)
    for at in range(0, len(order), size):
        some = order[at : at + size]
        part = {name: values[some] for name, values in columns.items()}
        if not has_payload:
            yield Batch(part)
            continue
        lengths = np.maximum(ends[some] - starts[some], 0)
        own = np.cumsum(lengths)
        places = np.repeat(starts[some] - own + lengths, lengths) + np.arange(int(own[-1]))
        yield Batch(part, own, data[places].tobytes())


def _filled(batch: Batch, name: str) -> Any:
    import numpy as np

    found = batch.columns.get(name)
    if found is not None:
        return found
    return np.full(len(batch), COLUMNS[name].missing or 0, COLUMNS[name].kind)
