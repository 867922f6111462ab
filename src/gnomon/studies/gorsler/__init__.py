"""Gorsler (2009): counters of the UltraSPARC T2 behind PAPI, and a sparse matrix product."""

from __future__ import annotations

from gnomon.studies.model import Experiment, Study

STUDY = Study(
    name="gorsler",
    title="Counting on a simulated UltraSPARC T2 (Niagara 2)",
    document="Gorsler 2009, a PAPI backend for the Sun Niagara 2",
    experiments=(Experiment("E7", "what can be counted", f"{__name__}.listing"),),
)
