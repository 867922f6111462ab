"""A trace instrument on simulated links and Blinks: probes, triggers, memory boards, a decoder.

stream = probe(columns, 0, Point.LINK, form, symbol_ns)
trace = acquire(stream, ram, Acquisition(levels=(Level(0),), before=1000), form)
write_trace(trace, "run1", form.name)
packets = decode(read_trace("run1"), form)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.fabric.instrument.board import (
        Acquisition,
        MemoryRow,
        Trace,
        acquire,
        acquire_together,
    )
    from gnomon.fabric.instrument.decoder import Decoded, decode
    from gnomon.fabric.instrument.files import read_trace, write_trace
    from gnomon.fabric.instrument.latency import Latencies, between
    from gnomon.fabric.instrument.samples import Point, Stream, probe
    from gnomon.fabric.instrument.trigger import Level, MatchRam, pattern

__all__ = [
    "Acquisition",
    "Decoded",
    "Latencies",
    "Level",
    "MatchRam",
    "MemoryRow",
    "Point",
    "Stream",
    "Trace",
    "acquire",
    "acquire_together",
    "between",
    "decode",
    "pattern",
    "probe",
    "read_trace",
    "write_trace",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(
            ("Acquisition", "MemoryRow", "Trace", "acquire", "acquire_together"), "board"
        ),
        **dict.fromkeys(("read_trace", "write_trace"), "files"),
        **dict.fromkeys(("Latencies", "between"), "latency"),
        **dict.fromkeys(("Point", "Stream", "probe"), "samples"),
        **dict.fromkeys(("Level", "MatchRam", "pattern"), "trigger"),
        **dict.fromkeys(("Decoded", "decode"), "decoder"),
    },
)
