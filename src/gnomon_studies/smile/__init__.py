"""Hockauf et al. (1998): a monitor with few counters that follow remote memory accesses."""

from __future__ import annotations

from gnomon.analysis.study import Experiment, Study

STUDY = Study(
    name="smile",
    title="Counters that follow remote accesses",
    document="Hockauf, Karl, Leberecht, Oberhuber, Wagner 1998, monitoring for DSM systems",
    experiments=(
        Experiment("E1", "how long both programs run", f"{__name__}.totals:runtime"),
        Experiment("E2", "FFT: one page, counters x range", f"{__name__}.pages:fft"),
        Experiment("E3", "RADIX: one page, counters x range", f"{__name__}.pages:radix"),
        Experiment("E4", "how much the monitor writes", f"{__name__}.totals:rates"),
        Experiment("E5", "all that a node sends, not one page", f"{__name__}.totals:nodes"),
    ),
)
