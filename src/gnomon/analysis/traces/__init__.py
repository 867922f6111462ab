"""Traces of packets and events: taken, imported, asked, followed and given to other tools.

What `gn.trace` offers is in `words.py`: a function for each word of `gnomon trace`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.traces.result import (
        TraceChain,
        TraceExport,
        TraceLatency,
        TraceResult,
        TraceRows,
    )
    from gnomon.analysis.traces.words import (
        capture,
        chain,
        export,
        from_files,
        info,
        latency,
        query,
        records,
    )

__all__ = [
    "TraceChain",
    "TraceExport",
    "TraceLatency",
    "TraceResult",
    "TraceRows",
    "capture",
    "chain",
    "export",
    "from_files",
    "info",
    "latency",
    "query",
    "records",
]

_WORDS = ("capture", "chain", "export", "from_files", "info", "latency", "query", "records")
_RESULTS = ("TraceChain", "TraceExport", "TraceLatency", "TraceResult", "TraceRows")
__getattr__, __dir__ = lazy_names(
    __name__, {**dict.fromkeys(_WORDS, "words"), **dict.fromkeys(_RESULTS, "result")}
)
