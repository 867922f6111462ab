"""What `gn.trace` offers: a function for each word of `gnomon trace`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.analysis.traces import chains, latencies
from gnomon.analysis.traces.result import (
    PairCount,
    Stretch,
    TraceChain,
    TraceExport,
    TraceLatency,
    TraceResult,
    TraceRows,
    TypeCount,
    Value,
)
from gnomon.errors import UsageError
from gnomon.recording.traces.exporters import export_trace
from gnomon.recording.traces.matches import Matches
from gnomon.recording.traces.queries import query_of
from gnomon.recording.traces.reader import Hot, Trace
from gnomon.recording.traces.sql import TraceDatabase
from gnomon.recording.traces.types import FAMILIES, OVERVIEWS, TYPE_NAMES

if TYPE_CHECKING:
    from gnomon.recording.contents import Provenance

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_STRETCHES = 60
_PAIRS = """
    SELECT coalesce(source, src::VARCHAR), coalesce(destination, dst::VARCHAR), count(*),
           sum(length)::BIGINT
    FROM packets WHERE coalesce(source, src::VARCHAR) IS NOT NULL
    GROUP BY ALL ORDER BY 3 DESC, 1, 2 LIMIT $top"""


def open_traces(paths: Paths) -> list[Trace]:
    """Open traces, in the order in which they are numbered from 1."""
    named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not named:
        raise UsageError("name a trace.")
    return [Trace(path) for path in named]


def from_files(
    files: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word of the command
    sort: bool = False,
    salvage: bool = False,
    compact: bool = False,
    overwrite: bool = False,
) -> TraceResult:
    """Import files of other tools into a new trace, and say what is in it."""
    from gnomon.recording.traces.importers import import_trace

    path = import_trace(
        files, output, format=format, sort=sort, salvage=salvage, overwrite=overwrite
    )
    return _kept(path, compact)


def capture(
    output: str | os.PathLike[str],
    *,
    interface: str = "any",
    packets: str = "",
    command: Sequence[str] | None = None,
    duration: str | float | None = None,
    snap: int = 262_144,
    compact: bool = False,
    overwrite: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> TraceResult:
    """Capture packets of a network interface until a command or a time ends, by tcpdump."""
    from gnomon.recording.traces.capture import capture_packets

    path = capture_packets(
        output,
        interface=interface,
        packets=packets,
        command=command,
        duration=duration,
        snap=snap,
        overwrite=overwrite,
        on_progress=on_progress,
    )
    return _kept(path, compact)


def _kept(path: Path, compact: bool) -> TraceResult:
    if compact:
        from gnomon.recording.traces.compaction import compact as to_parquet

        to_parquet(path)
    return info(path)


def info(path: str | os.PathLike[str], *, top: int = 10, verify: bool = False) -> TraceResult:
    """Say what is in a trace; `verify` checks every block of it."""
    trace = Trace(path)
    start, stop = trace.span
    with TraceDatabase((trace,)) as database:
        counts = database.ask("SELECT type, count(*) FROM rows GROUP BY type ORDER BY 2 DESC, 1")
        pairs = database.ask(_PAIRS, {"top": top}) if counts.rows else None
    types = tuple(
        TypeCount(
            int(kind),
            TYPE_NAMES.get(int(kind), f"type {kind}"),
            FAMILIES.get(int(kind), "other"),
            int(count),
        )
        for kind, count in counts.rows
    )
    families = {each.family for each in types}
    classes, stretches = _stretches(trace, families)
    return TraceResult(
        str(trace.path),
        trace.rows,
        sum(each.stat().st_size for each in trace.path.iterdir()),
        start,
        stop,
        trace.manifest.closed,
        types,
        tuple(PairCount(str(a), str(b), int(n), size) for a, b, n, size in pairs.rows)
        if pairs
        else (),
        tuple(each.name for each in trace.interfaces),
        classes,
        stretches,
        trace.manifest.notes,
        tuple(trace.verify()) if verify else (),
        len(trace.manifest.files),
        sum(isinstance(part, Hot) for part in trace.parts),
        provenance=trace.manifest.provenance,
    )


def _stretches(trace: Trace, families: set[str]) -> tuple[tuple[str, ...], tuple[Stretch, ...]]:
    start, stop = trace.span
    if not trace.rows or stop <= start:
        return (), ()
    pixels = min(_STRETCHES, stop - start)
    names = OVERVIEWS.get(next(iter(families)), ()) if len(families) == 1 else ()
    counts = trace.overview(start, stop + 1, pixels)
    if not names:
        counts, names = counts.sum(axis=1, keepdims=True), ("records",)
    kept = [at for at in range(len(names)) if counts[:, at].any()]
    span = stop + 1 - start
    return tuple(names[at] for at in kept), tuple(
        Stretch(start + span * p // pixels, tuple(int(counts[p, at]) for at in kept))
        for p in range(pixels)
    )


def query(
    text: str,
    traces: Paths,
    *,
    params: Mapping[str, Any] | None = None,
    queries: str | os.PathLike[str] | None = None,
    top: int = 1000,
) -> TraceRows:
    """Answer one SELECT over traces, or a query that is known by its name."""
    if top < 1:
        raise UsageError("--top must be at least 1.")
    sql, given = query_of(text, params or {}, queries)
    opened = open_traces(traces)
    with TraceDatabase(opened) as database:
        answer = database.ask(sql, given, top)
    rows = tuple(tuple(map(_plain, row)) for row in answer.rows)
    return TraceRows(text, answer.columns, rows, answer.more, provenance=_origin(opened))


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return str(value)


def records(trace: str | os.PathLike[str], *, filter: str = "", top: int = 20) -> TraceRows:  # noqa: A002
    """List records that a display filter keeps, the first of them."""
    if top < 1:
        raise UsageError("--top must be at least 1.")
    opened = Trace(trace)
    found = Matches(opened, filter).page(0, top + 1).tolist()
    start = opened.span[0]
    rows = []
    for number in found[:top]:
        fields = opened.record(number)
        kind = int(fields["type"])
        rows.append(
            (
                number,
                (int(fields["time"]) - start) / 1e9,
                chains.place_of(opened, int(fields["lc"])),
                TYPE_NAMES.get(kind, f"type {kind}"),
                chains.end_of(fields, "source", "src", "sport") or _text(fields, "process"),
                chains.end_of(fields, "destination", "dst", "dport") or _text(fields, "event"),
                fields.get("length"),
            )
        )
    columns = ("record", "seconds", "seen", "type", "from", "to", "bytes")
    more = len(found) > top
    return TraceRows(filter, columns, tuple(rows), more, provenance=_origin([opened]))


def _text(fields: Mapping[str, int | str], name: str) -> str:
    return str(fields.get(name, ""))


def chain(record: int, traces: Paths, *, trace: int = 1, top: int = 100) -> TraceChain:
    """Return what belongs to a record: its transaction, its conversation, or its thread."""
    from dataclasses import replace

    opened = open_traces(traces)
    found = chains.chain(opened, record, trace=trace, top=top)
    return replace(found, provenance=_origin(opened))


def latency(
    traces: Paths, begins: str, ends: str, *, by: str = "transaction", top: int = 10
) -> TraceLatency:
    """Return the times from records that one filter keeps to what another keeps and matches."""
    from dataclasses import replace

    opened = open_traces(traces)
    found = latencies.latency(opened, begins, ends, by=by, top=top)
    return replace(found, provenance=_origin(opened))


def export(
    trace: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    to: str | None = None,
    filter: str = "",  # noqa: A002 - the word of the command
    overwrite: bool = False,
) -> TraceExport:
    """Write records of a trace for another tool: pcap, JSON of Chrome and Perfetto, Parquet."""
    opened, path = Trace(trace), Path(output).absolute()
    if path.exists() and not overwrite:
        raise UsageError(f"'{output}' already exists: choose another name, or --force.")
    count = export_trace(opened, path, to=to, filter=filter)
    form = to or path.suffix.removeprefix(".")
    size = path.stat().st_size
    return TraceExport(str(path), form, count, size, filter, provenance=_origin([opened]))


def _origin(traces: Sequence[Trace]) -> Provenance:
    """Return where traces come from: simulated if any of them is."""
    found = [trace.manifest.provenance for trace in traces]
    return next((each for each in found if each.simulated), found[0])
