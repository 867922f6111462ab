"""Phases: of memory that rises and stays, of a run with counts, and of nothing."""

from __future__ import annotations

import numpy as np

from gnomon.analysis.phases import PhaseSeries, PhasesResult, phases
from gnomon.analysis.phases.result import Break, Choice, Phase, PhaseCount, PhaseFit, Shape
from gnomon.recording.contents import Provenance, Status


def small() -> PhasesResult:
    """Memory that rises for four tenths of the time and then stays."""
    times = np.arange(200.0)
    noise = np.random.default_rng(1).normal(0, 1e5, 200)
    values = np.minimum(times, 80.0) * 1e6 + noise
    return phases(PhaseSeries("memory", times, values, "B"))


def empty() -> PhasesResult:
    return PhasesResult((), (), (), Shape.LINES, (), "")


def _count(number: int, text: str) -> PhaseCount:
    status = (Status.COUNTED, Status.SCALED, Status.NOT_COUNTED)[number % 3]
    known = status is not Status.NOT_COUNTED
    return PhaseCount(
        text or f"event-{number}",
        "ns" if number % 2 else "",
        1234.5 * number if known else None,
        2.5e8 * number if known else None,
        1.0 if known else 0.0,
        status,
    )


def run(events: int = 8, points: int = 40, text: str = "") -> PhasesResult:
    """Two phases of a level and a rate, with as many counts in each."""
    times = np.linspace(1e7, 1e9, points)
    level = PhaseSeries(text or "footprint:rss", times, np.minimum(times, 5e8) / 10, "B")
    rate = PhaseSeries(text or "task-clock", times, np.full(points, 9e8), "ns/s", is_rate=True)
    counts = tuple(_count(number, text) for number in range(events))
    ramp = (PhaseFit(level.name, 1e6, 5e7, 1e8, "B"), PhaseFit(rate.name, 9e8, 9e8, 0.0, "ns/s"))
    flat = (PhaseFit(level.name, 5e7, 5e7, 0.0, "B"), PhaseFit(rate.name, 9e8, 9e8, 0.0, "ns/s"))
    half = points // 2
    return PhasesResult(
        (level, rate),
        (Phase(0.0, 5e8, half, ramp, counts), Phase(5e8, 1e9, points - half, flat, counts)),
        (Break(5e8, 4.9e8, 5.1e8, half, 0.001),),
        Shape.LINES,
        (
            Choice(1, Shape.LINES, 9.0, 2, -10.0, ()),
            Choice(2, Shape.LINES, 1.0, 5, -90.0, (half,), 0.001, chosen=True),
        ),
        text or "2 phases (lines): the best by BIC",
        "ns",
        provenance=Provenance("host", command=(text or "./program",), host=text),
        warnings=(text or "a warning",),
    )


def hostile(text: str) -> PhasesResult:
    return run(text=text)


def huge(rows: int) -> PhasesResult:
    return run(rows, 10 * rows)
