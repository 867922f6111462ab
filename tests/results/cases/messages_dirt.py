"""Runs of the ray tracer: one, none, and sweeps with their laws."""

from __future__ import annotations

from gnomon.analysis.messages.raytracer.result import DirtResult, DirtRun, Settings, Sweep
from gnomon.recording.contents import Provenance
from gnomon.result import Quantity


def _run(number: int = 0, text: str = "") -> DirtRun:
    parts = {"renderer": 143e6, "cache_down": 9e6, text or "other": 1.0}
    return DirtRun(Settings(seed=number), 0.9 + number, 0.4, 43, 9, 50 + number, 50, 0, parts)


def small() -> DirtResult:
    return DirtResult((_run(),), provenance=Provenance("messages", host="box"))


def empty() -> DirtResult:
    return DirtResult(())


def hostile(text: str) -> DirtResult:
    return DirtResult(
        (_run(0, text), _run(1, text)),
        Sweep.WAKES,
        {text: Quantity.exactly(1.0)},
        warnings=(text,),
    )


def huge(rows: int) -> DirtResult:
    law = {"exponent": Quantity(1.2, 0.9, 1.4)}
    return DirtResult(tuple(map(_run, range(rows))), Sweep.BRICKS, law)
