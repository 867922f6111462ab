"""Results of every kind, made from known numbers, to look at in reports."""

from __future__ import annotations

from random import Random

import numpy as np

from gnomon.analysis.compare import Comparison, compare_tables
from gnomon.analysis.phases import PhaseSeries, PhasesResult, phases
from gnomon.analysis.runs import RunTable
from gnomon.analysis.scaling import Scaling, scale_table
from gnomon.recording.model import EventInfo, Provenance, RunInfo


def _table(factor: float, command: str, seed: int, events: int = 12) -> RunTable:
    random = Random(seed)
    values = np.array(
        [
            [
                1_000.0 * (i + 1) * (1 + random.gauss(0, 0.01)) * (factor if i % 3 == 0 else 1.0)
                for i in range(events)
            ]
            for _ in range(8)
        ]
    )
    infos = tuple(EventInfo(f"a-rather-long-name-of-an-event-{i}") for i in range(events))
    runs = tuple(RunInfo(i, 0, i * 100, i * 100 + 50, 0) for i in range(8))
    return RunTable(Provenance("perf", command=(command,), host="box"), infos, runs, values)


def compare_result() -> Comparison:
    """Every third of twelve events is a third higher in B."""
    return compare_tables(_table(1.0, "./old", 1), _table(1.33, "./new", 2))


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
