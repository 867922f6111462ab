"""Manzke (2006): all counters of a node from two registers, by a Kalman filter."""

from __future__ import annotations

from gnomon.analysis.study import Experiment, Study

STUDY = Study(
    name="manzke",
    title="Estimating all counters of a Pentium III node from two at a time",
    document="Manzke 2006, Distributed shared memory architectures and global performance state "
    "estimation",
    experiments=(
        Experiment("E1", "the interval of sampling", f"{__name__}.processes:jitter"),
        Experiment("E2", "identification of processes", f"{__name__}.processes:identification"),
        Experiment("E3", "the covariance between readings", f"{__name__}.processes:covariance"),
        Experiment("E4", "what the dense filter costs", f"{__name__}.costs:dense"),
        Experiment("E5", "what the sparse filter costs", f"{__name__}.costs:sparse"),
        Experiment(
            "E6", "following a counter that is read every third tick", f"{__name__}.tracking"
        ),
        Experiment("E7", "six events on two registers", f"{__name__}.machine:registers"),
        Experiment("E8", "derived measurements", f"{__name__}.derived"),
        Experiment("E9", "two processors in one state", f"{__name__}.smp"),
    ),
)
