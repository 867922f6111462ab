"""Sterz (2016): which counters tell what a program does, and in which phase it does it."""

from __future__ import annotations

from gnomon.analysis.study import Experiment, Study

STUDY = Study(
    name="sterz",
    title="Counters that tell what a program does",
    document="Sterz 2016, analysing NUMA performance by hardware event counters",
    experiments=(
        Experiment("E2", "principal components of instructions and cycles", f"{__name__}.axes"),
        Experiment(
            "E3", "a matrix summed in row and in column order", f"{__name__}.strides:strides"
        ),
        Experiment("E4", "a parallel sort with 1 to 8 threads", f"{__name__}.sorting"),
        Experiment("E5", "phases of a program", f"{__name__}.breaks"),
        Experiment("E6", "latencies of loads that stay local", f"{__name__}.loads:local_loads"),
        Experiment("E7", "what remote loads cost", f"{__name__}.loads:remote_loads"),
        Experiment("E8", "what one load generator reads", f"{__name__}.channel:generator"),
        Experiment("E9", "a channel filled by generators", f"{__name__}.channel:saturation"),
        Experiment("E10", "idle and busy receivers", f"{__name__}.channel:receivers"),
        Experiment("E11", "cross-talk of the two directions", f"{__name__}.channel:crosstalk"),
        Experiment("E12", "the worst that load can do", f"{__name__}.channel:worst"),
    ),
)
