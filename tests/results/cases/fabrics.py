"""Lists of fabrics; one in full in the hostile case."""

from __future__ import annotations

from gnomon.fabric.result import FabricRow, FabricsResult
from gnomon.recording.contents import Provenance


def _of(number: int, text: str = "") -> FabricsResult:
    rows = tuple(
        FabricRow(
            name=text or f"ring-{each}",
            title=text or "SCI ring",
            topology=text or "ring",
            nodes=8,
            rings=1,
            links=8,
            link_gb_per_s=0.667,
            link_ns=12.0,
            go_bits=each % 2 == 0,
            blink_ns=48.0,
            output_queue=each % 3,
            active_buffers=64,
            input_buffers=64,
            reads=1,
            writes=16,
            messages=0,
        )
        for each in range(number)
    )
    loads = ((text or "traffic:uniform", text or "gaps between low= and high="),)
    origin = Provenance(text or "fabric", simulated=True)
    return FabricsResult(rows, text or "layout", loads, explained=bool(text), provenance=origin)


def small() -> FabricsResult:
    return _of(10)


def empty() -> FabricsResult:
    return FabricsResult(())


def hostile(text: str) -> FabricsResult:
    return _of(1, text)


def huge(rows: int) -> FabricsResult:
    return _of(rows)
