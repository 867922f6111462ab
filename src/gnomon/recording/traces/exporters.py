"""Traces for other tools: pcap for Wireshark, JSON for Chrome and Perfetto, Parquet for all."""

from __future__ import annotations

import itertools
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.files import replacing, replacing_text, write_error
from gnomon.recording.parquet import _as_os_error
from gnomon.recording.traces.matches import Matches, gather
from gnomon.recording.traces.sql import TraceDatabase, quoted_text
from gnomon.recording.traces.types import EXTRA, FAMILIES, FIXED, NO_NUMBER, TYPE_NAMES

if TYPE_CHECKING:
    from gnomon.recording.traces.reader import Trace

FORMATS = {"pcap": ".pcap", "json": ".json", "parquet": ".parquet"}
"""The formats, and how names of their files end."""
_AT_ONCE = 1 << 15
_PRIVATE = 147  # the link type for packets that Wireshark has no name for
_SNAP = 1 << 18


def export_trace(
    trace: Trace,
    path: str | os.PathLike[str],
    *,
    to: str | None = None,
    filter: str = "",  # noqa: A002 - the word of the command
) -> int:
    """Write the records that a filter keeps to one file and return how many there were.

    Without `to` the ending of the name says which format. The file is there as a whole or not at
    all.
    """
    path = Path(path).absolute()
    form = to or next((f for f, end in FORMATS.items() if path.suffix == end), None)
    if form not in FORMATS:
        raise UsageError(
            f"'{path.name}' does not say which format: end it in {', '.join(FORMATS.values())}, or "
            f"say --to {', '.join(FORMATS)}."
        )
    matches = Matches(trace, filter)
    try:
        if form == "pcap":
            return _write_pcap(trace, matches, path)
        if form == "json":
            return _write_json(trace, matches, path)
        return _write_parquet(trace, matches, path)
    except OSError as error:
        raise write_error(path, error) from None


def _pages(matches: Matches) -> Iterator[Any]:
    for number in itertools.count():
        page = matches.page(number, _AT_ONCE)
        if not len(page):
            return
        yield page


# ---- pcap ---------------------------------------------------------------------------------------


def _write_pcap(trace: Trace, matches: Matches, path: Path) -> int:
    import numpy as np

    from gnomon._native import pcap_records

    links = {each.link for each in trace.interfaces if each.link is not None} or {_PRIVATE}
    count = 0
    with replacing(path) as temporary, temporary.open("wb") as stream:
        stream.write(bytes(24))
        seen: set[int] = set()
        for page in _pages(matches):
            columns = gather(trace, page, ("time", "lc", "length", "type"))
            data = [payload for run in _runs(trace, page) for payload in run]
            sizes = np.array([len(each) for each in data], "u8")
            if not sizes.all():
                raise RecordingError(
                    f"record {int(page[np.flatnonzero(sizes == 0)[0]])} has no bytes: only packets "
                    "whose bytes were recorded can be written as pcap; choose them with --filter."
                )
            if columns["time"][0] < 0 or columns["time"][-1] >= (2**32) * 10**9:
                raise RecordingError("times before 1970 or after 2106 have no place in pcap.")
            if any(FAMILIES.get(int(kind)) == "event" for kind in np.unique(columns["type"])):
                raise UsageError("events are no packets: choose packets with --filter.")
            seen |= set(np.unique(columns["lc"]).tolist())
            lengths = np.where(columns["length"] == NO_NUMBER, sizes, columns["length"])
            stream.write(
                pcap_records(
                    columns["time"],
                    np.maximum(lengths, sizes).astype("u4"),
                    np.cumsum(sizes, dtype="u8"),
                    np.frombuffer(b"".join(data), "u1"),
                )
            )
            count += len(page)
        used = {trace.interfaces[at].link for at in seen if at < len(trace.interfaces)} or links
        if len(used) > 1:
            raise UsageError(
                "a pcap file has one kind of link, and these packets have several: choose an "
                "interface with --filter 'frame.interface == 0'."
            )
        stream.seek(0)
        link = next(iter(used)) or 0
        stream.write(struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, _SNAP, link))
        stream.flush()
    return count


def _runs(trace: Trace, numbers: Any) -> Iterator[list[bytes]]:
    """Yield the payloads of records, those that follow each other at once."""
    import numpy as np

    edges = np.flatnonzero(np.diff(numbers) != 1) + 1
    for run in np.split(numbers, edges):
        at, end = int(run[0]), int(run[-1]) + 1
        while at < end:
            part, row = trace.where(at)
            take = min(end, part.end) - at
            yield part.payloads(row, row + take)
            at += take


# ---- JSON of Chrome and Perfetto ----------------------------------------------------------------


def _write_json(trace: Trace, matches: Matches, path: Path) -> int:
    count, begin = 0, trace.span[0]
    about = json.dumps({"source": trace.manifest.provenance.source, "start_ns": begin})
    with replacing_text(path) as stream:
        stream.write(f'{{"otherData": {about}, "displayTimeUnit": "ns", "traceEvents": [\n')
        for page in _pages(matches):
            for number in page.tolist():
                event = json.dumps(_event(trace, number, begin))
                stream.write(f"{',' if count else ''}{event}\n")
                count += 1
        stream.write("]}\n")
    return count


def _event(trace: Trace, number: int, begin: int) -> dict[str, Any]:
    found = trace.record(number)
    kind = int(found["type"])
    name = str(found.get("event") or TYPE_NAMES.get(kind, f"type {kind}"))
    phase = {129: "B", 130: "E"}.get(kind, "i")
    event: dict[str, Any] = {
        "name": name,
        "cat": FAMILIES.get(kind, "other"),
        "ph": phase,
        "ts": (int(found["time"]) - begin) / 1000,
        "pid": found.get("pid", 0),
        "tid": found.get("tid", found["lc"]),
        "args": {"record": number, **{k: v for k, v in found.items() if k not in _SHOWN}},
    }
    if phase == "i":
        event["s"] = "t"
    return event


_SHOWN = ("time", "event", "pid", "tid")


# ---- Parquet ------------------------------------------------------------------------------------


def _write_parquet(trace: Trace, matches: Matches, path: Path) -> int:
    """Write what the view `packets` shows, with names as texts."""
    import duckdb

    columns = {each.name: each.name for each in (*FIXED, *EXTRA)}
    where = matches.filter.sql(columns)
    with TraceDatabase((trace,), locked=False) as database, replacing(path) as temporary:
        query = (
            f"SELECT packets.* EXCLUDE (trace) FROM packets WHERE id IN "
            f"(SELECT id FROM rows WHERE {where}) ORDER BY id"
        )
        if matches.filter.tree is None:
            query = "SELECT * EXCLUDE (trace) FROM packets ORDER BY id"
        target = f"{quoted_text(str(temporary))} (FORMAT parquet, COMPRESSION zstd)"
        try:
            written = database.connection.execute(f"COPY ({query}) TO {target}").fetchall()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise write_error(path, _as_os_error(error)) from None
    return int(written[0][0])
