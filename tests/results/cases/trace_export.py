"""Files that traces were exported to."""

from __future__ import annotations

from gnomon.analysis.traces.result import TraceExport
from gnomon.recording.contents import Provenance


def small() -> TraceExport:
    origin = Provenance("tcpdump")
    return TraceExport("/tmp/redis.pcap", "pcap", 1000, 74_024, "tcp", provenance=origin)


def empty() -> TraceExport:
    return TraceExport("a.pcap", "pcap", 0, 24)


def hostile(text: str) -> TraceExport:
    return TraceExport(text, text, 3, 24, text, provenance=Provenance(text))


def huge(rows: int) -> TraceExport:
    return TraceExport("a.pcap", "pcap", rows, 24)
