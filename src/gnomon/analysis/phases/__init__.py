"""Phases of a program: where its footprint, or any other series, changes its course.

result = gn.phases("run.gnomon")
for phase in result.phases:
    print(phase.start, phase.end, phase.fits[0].slope, phase.count("page-faults").rate)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.phases.finding import phases
    from gnomon.analysis.phases.result import (
        Break,
        Choice,
        Phase,
        PhaseCount,
        PhaseFit,
        PhaseSeries,
        PhasesResult,
        Shape,
    )

__all__ = [
    "Break",
    "Choice",
    "Phase",
    "PhaseCount",
    "PhaseFit",
    "PhaseSeries",
    "PhasesResult",
    "Shape",
    "phases",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {**dict.fromkeys(__all__, "result"), "phases": "finding"},
)
