"""Results of every kind, made from known numbers, to look at in reports."""

from __future__ import annotations

from random import Random

import numpy as np

from gnomon.analysis.phases import PhaseSeries, PhasesResult, phases
from gnomon.analysis.runs import RunTable
from gnomon.analysis.scaling import Scaling, scale_table
from gnomon.recording.contents import EventInfo, Provenance, RunInfo


def scale_result() -> Scaling:
    """One event that is linear in n, one quadratic, one constant."""
    random = Random(5)
    runs, rows = [], []
    for number, n in enumerate((1, 2, 4, 8, 16, 32, 64) * 3):
        runs.append(RunInfo(number, 0, number, number + 1, 0, parameters={"n": str(n)}))
        noise = [1 + random.gauss(0, 0.005) for _ in range(3)]
        rows.append([(100 + 50.0 * n) * noise[0], (10 + 3.0 * n * n) * noise[1], 77.0 * noise[2]])
    names = ("linear", "quadratic", "level")
    table = RunTable(
        Provenance("perf", command=("./program", "{n}"), host="box"),
        tuple(EventInfo(name) for name in names),
        tuple(runs),
        np.array(rows),
    )
    return scale_table(table, ["n=128"])


def phases_result() -> PhasesResult:
    """Memory that rises for four tenths of the time and then stays."""
    times = np.arange(200.0)
    noise = np.random.default_rng(1).normal(0, 1e5, 200)
    values = np.minimum(times, 80.0) * 1e6 + noise
    return phases(PhaseSeries("memory", times, values, "B"))
