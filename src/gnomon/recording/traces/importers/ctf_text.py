"""The text that babeltrace2 prints of traces in the Common Trace Format, as LTTng writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BufferedReader
from typing import TYPE_CHECKING

from gnomon.recording.traces.importers.lines import Days, Rows, in_range, lines
from gnomon.recording.traces.writer import Batch

if TYPE_CHECKING:
    from gnomon.recording.traces.importers import Reading

TITLE = "what `babeltrace2 --clock-seconds` prints"
_EVENT = re.compile(
    r"^\[(?:(?P<date>\d{4}-\d\d-\d\d) )?(?:(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"|(?P<seconds>\d{1,10}))\.(?P<part>\d{9})\](?: \(\+[?\d.]+\))?\s(?P<middle>.*?)\s?"
    r"(?P<event>[^\s{}]+): (?P<fields>\{.*\})$"
)
_PAIR = re.compile(r'(\w+) = (?:"((?:[^"\\]|\\.)*)"|\(?\s*"?(-?\d{1,20}))')


def sniff(head: bytes) -> bool:
    """Whether a text begins with a time in brackets, and an event behind it."""
    first = head.decode("utf-8", "replace").lstrip().partition("\n")[0]
    return _EVENT.match(first.rstrip("\r")) is not None


def read(stream: BufferedReader, reading: Reading) -> Iterator[Batch]:
    """Yield events; the text of each is its fields as they were printed."""
    rows, days = Rows(reading), Days()
    for number, line in lines(stream, reading):
        if not line.strip():
            continue
        match = _EVENT.match(line)
        if match is None:
            raise reading.damaged(f"line {number:,} is no event: {line.strip()[:60]!r}")
        if rows.full:
            yield rows.taken()
        found = {name: text or value for name, text, value in _PAIR.findall(match["fields"])}
        cpu = int(found.get("cpu_id", "0") or 0) if _whole(found.get("cpu_id")) else 0
        if not in_range("lc", cpu):
            raise reading.damaged(f"line {number:,} has a CPU that is none: {cpu}")
        rows.add(
            match["fields"],
            time=_time(match, days, reading, number),
            type=128,
            lc=cpu,
            event=match["event"],
            process=found.get("procname"),
            pid=_number(found, "vpid", "pid"),
            tid=_number(found, "vtid", "tid"),
        )
    if len(rows):
        yield rows.taken()


def _time(match: re.Match[str], days: Days, reading: Reading, number: int) -> int:
    part = int(match["part"])
    if match["seconds"]:
        return int(match["seconds"]) * 10**9 + part if len(match["seconds"]) < 11 else part
    of_day = int(match["hour"]) * 3600 + int(match["minute"]) * 60 + int(match["second"])
    if not match["date"]:
        return days.time(of_day * 10**9 + part)
    try:
        date = datetime.fromisoformat(match["date"]).replace(tzinfo=UTC)
    except ValueError:
        raise reading.damaged(f"line {number:,} has a date that is none") from None
    return (int(date.timestamp()) + of_day) * 10**9 + part


def _whole(text: str | None) -> bool:
    return bool(text) and str(text).isdecimal() and str(text).isascii()


def _number(found: dict[str, str], *names: str) -> int | None:
    for name in names:
        value = found.get(name)
        if _whole(value) and in_range("pid", int(str(value))):
            return int(str(value))
    return None
