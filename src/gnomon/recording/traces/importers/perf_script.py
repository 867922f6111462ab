"""The text that `perf script` prints: samples and tracepoints, with their call chains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BufferedReader
from typing import TYPE_CHECKING

from gnomon.recording.traces.importers.lines import Rows, in_range, lines, seconds
from gnomon.recording.traces.writer import Batch

if TYPE_CHECKING:
    from gnomon.recording.traces.importers import Reading

TITLE = "what `perf script` prints"
_EVENT = re.compile(
    r"^\s*(?P<comm>\S.*?)\s+(?P<pid>-?\d{1,10})(?:/(?P<tid>-?\d{1,10}))?\s+"
    r"(?:\[(?P<cpu>\d{1,5})\]\s+)?(?:[.a-zA-Z0-9]{4,5}\s+)?(?P<time>\d{1,12}\.\d{1,9}):\s+"
    r"(?:(?P<period>\d{1,20})\s+)?(?P<event>\S+):(?:\s+(?P<rest>.*))?$"
)
_FRAME = re.compile(r"^\s*(?P<ip>[0-9a-f]{1,16})\s+(?P<symbol>.+?)(?:\+0x[0-9a-f]+)?\s+\(.*\)\s*$")


def sniff(head: bytes) -> bool:
    """Whether a text has a line of an event near its beginning."""
    some = head.decode("utf-8", "replace").splitlines()
    told = [line for line in some if line.strip() and not line.startswith("#")]
    return bool(told) and _EVENT.match(told[0]) is not None


def read(stream: BufferedReader, reading: Reading) -> Iterator[Batch]:
    """Yield events; the text of each is its arguments, then its call chain."""
    rows, after_blank = Rows(reading), True
    for number, line in lines(stream, reading):
        if not line.strip() or line.startswith("#"):
            after_blank = True
            continue
        match = _EVENT.match(line)
        if match is None:
            frame = _FRAME.match(line)
            if frame is None or not len(rows) or (after_blank and not line[0].isspace()):
                raise reading.damaged(f"line {number:,} is no event: {line.strip()[:60]!r}")
            rows.extend(line.strip())
            if "symbol" not in rows.last:
                rows.last["addr"] = int(frame["ip"], 16)
                rows.last["symbol"] = frame["symbol"]
            after_blank = False
            continue
        after_blank = False
        if rows.full:
            yield rows.taken()
        time = seconds(match["time"])
        thread = int(match["tid"] or match["pid"])
        process = int(match["pid"]) if match["tid"] else None
        period = int(match["period"]) if match["period"] else None
        cpu = int(match["cpu"] or 0)
        if time is None or not in_range("lc", cpu) or not in_range("value", period or 0):
            raise reading.damaged(f"line {number:,} has a number that is too large")
        rest = match["rest"] or ""
        here = _FRAME.match(rest)
        rows.add(
            rest,
            time=time,
            type=128,
            lc=cpu,
            event=match["event"],
            process=match["comm"],
            pid=process if process is None or process >= 0 else None,
            tid=thread if thread >= 0 else None,
            value=period,
            addr=int(here["ip"], 16) if here else None,
            symbol=here["symbol"] if here else None,
        )
    if len(rows):
        yield rows.taken()
