"""Traces: every packet or event one by one, in order of time, with what it says of itself.

with TraceWriter("run", Provenance("instrument")) as writer:
    writer.append({"time": times, "type": types, "src": senders, ...})   # columns of numpy
trace = Trace("run.trace")
trace.record(40200)
Matches(trace, "sci.echo and sci.dst == 3").page(0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.recording.traces.compaction import compact
    from gnomon.recording.traces.filters import FilterError
    from gnomon.recording.traces.folder import Interface
    from gnomon.recording.traces.matches import Filter, Matches, gather
    from gnomon.recording.traces.reader import Trace
    from gnomon.recording.traces.sql import Answer, TraceDatabase
    from gnomon.recording.traces.writer import Batch, TraceWriter

__all__ = [
    "Answer",
    "Batch",
    "Filter",
    "FilterError",
    "Interface",
    "Matches",
    "Trace",
    "TraceDatabase",
    "TraceWriter",
    "compact",
    "gather",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Answer": "sql",
        "Batch": "writer",
        "Filter": "matches",
        "FilterError": "filters",
        "Interface": "folder",
        "Matches": "matches",
        "Trace": "reader",
        "TraceDatabase": "sql",
        "TraceWriter": "writer",
        "compact": "compaction",
        "gather": "matches",
    },
)
