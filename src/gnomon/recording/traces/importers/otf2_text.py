"""The text that `otf2-print -A` prints of traces of parallel programs: regions and messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedReader
from typing import TYPE_CHECKING

from gnomon.recording.traces.importers.lines import Rows, in_range, lines
from gnomon.recording.traces.writer import Batch

if TYPE_CHECKING:
    from gnomon.recording.traces.importers import Reading

TITLE = "what `otf2-print -A` prints"
_EVENT = re.compile(
    r"^(?P<event>[A-Z][A-Z0-9_]+)\s+(?P<where>\d{1,20})\s+(?P<time>\d{1,20})(?:\s+(?P<rest>.*))?$"
)
_REGION = re.compile(r'Region: (?:"(?P<name>(?:[^"\\]|\\.)*)"|(?P<number>\d+))')
_RATE = re.compile(r"^CLOCK_PROPERTIES\b.*?Ticks per Seconds?: (?P<rate>\d{1,12})")
_PEER = re.compile(r"(?:Receiver|Sender): (?P<peer>\d{1,10})")
_LENGTH = re.compile(r"(?:Length|Msg Length|Message Length): (?P<bytes>\d{1,12})")
_TYPES = {"ENTER": 129, "LEAVE": 130}


def sniff(head: bytes) -> bool:
    """Whether a text is that of otf2-print."""
    return b"OTF2-PRINT" in head[:200]


def read(stream: BufferedReader, reading: Reading) -> Iterator[Batch]:
    """Yield events in ns; lines that are none of the list of events are definitions."""
    rows, rate, begun = Rows(reading), 0, False
    for number, line in lines(stream, reading):
        if found := _RATE.match(line):
            rate = int(found["rate"])
        begun = begun or line.startswith("=== Events")
        match = _EVENT.match(line) if begun else None
        if match is None:
            if begun and re.match(r"^[A-Z][A-Z0-9_]{2,}\s", line):
                raise reading.damaged(f"line {number:,} is no event: {line.strip()[:60]!r}")
            continue
        if rows.full:
            yield rows.taken()
        ticks, where = int(match["time"]), int(match["where"])
        time = ticks * 10**9 // rate if rate else ticks
        if not in_range("time", time):
            raise reading.damaged(f"line {number:,} has a time that is too large")
        rest = match["rest"] or ""
        region, peer = _REGION.search(rest), _PEER.search(rest)
        kind = _TYPES.get(match["event"], 128)
        lane, other = min(where & 0xFFFFFFFF, 65535), None
        if peer and match["event"].startswith(("MPI_SEND", "MPI_ISEND", "MPI_RECV", "MPI_IRECV")):
            kind = 131 if "SEND" in match["event"] else 132
            other = min(int(peer["peer"]), 65535)
        size = _LENGTH.search(rest)
        length = int(size["bytes"]) if size else None
        rows.add(
            rest,
            time=time,
            type=kind,
            lc=lane,
            event=(region["name"] or f"region {region['number']}") if region else match["event"],
            tid=lane,
            src=None if other is None else lane if kind == 131 else other,
            dst=None if other is None else other if kind == 131 else lane,
            length=length if length is not None and in_range("length", length) else None,
        )
    if not begun:
        raise reading.damaged("it has no list of events: print it with `otf2-print -A`")
    if not rate:
        reading.notes.append("no clock rate was printed (`otf2-print -A` does): a tick is a ns.")
    if len(rows):
        yield rows.taken()
