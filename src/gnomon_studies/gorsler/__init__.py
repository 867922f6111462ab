"""Gorsler (2009): counters of the UltraSPARC T2 behind PAPI, and a sparse matrix product."""

from __future__ import annotations

from gnomon.analysis.study import Experiment, Study

STUDY = Study(
    name="gorsler",
    title="Counting on a simulated UltraSPARC T2 (Niagara 2)",
    document="Gorsler 2009, a PAPI backend for the Sun Niagara 2",
    experiments=(
        Experiment("E1", "accuracy of a long count", f"{__name__}.counting:accuracy"),
        Experiment(
            "E2", "one thread, and what the portable layer costs", f"{__name__}.counting:overhead"
        ),
        Experiment("E3", "only the master works", f"{__name__}.teams:serialised"),
        Experiment("E4", "all threads update one matrix", f"{__name__}.teams:race"),
        Experiment("E5", "every thread works on its own", f"{__name__}.teams:threads"),
        Experiment("E6", "overflow profiling", f"{__name__}.counting:profiling"),
        Experiment("E7", "what can be counted", f"{__name__}.counting:listing"),
        Experiment("E9", "more events than counters", f"{__name__}.multiplexing"),
        Experiment(
            "E10", "a sparse matrix product with 16 to 144 threads", f"{__name__}.sweep:sweep"
        ),
    ),
)
