"""Lists of workloads; one explained in the hostile case."""

from __future__ import annotations

from gnomon.machines.workloads import Parameter, ParameterType, WorkloadDescription
from gnomon.machines.workloads.definition import WorkloadsResult
from gnomon.recording.contents import Provenance


def _of(number: int, text: str = "") -> WorkloadsResult:
    parameters = (
        Parameter("size", ParameterType.BYTES, "16MB", text or "of each array", 64, None, unit="B"),
        Parameter("init", ParameterType.CHOICE, "no", text or "who writes", choices=("no", "yes")),
        Parameter(text or "share", ParameterType.REAL, "1", "a share", 0.5, 1),
    )
    rows = tuple(
        WorkloadDescription(
            text or f"workload-{each}",
            text or "STREAM triad",
            text or "a[i] = b[i] + s * c[i]",
            text or "STREAM",
            (text or "a = b",),
            parameters,
        )
        for each in range(number)
    )
    origin = Provenance(text or "machine", simulated=True)
    return WorkloadsResult(rows, explained=bool(text), provenance=origin)


def small() -> WorkloadsResult:
    return _of(10)


def empty() -> WorkloadsResult:
    return WorkloadsResult(())


def hostile(text: str) -> WorkloadsResult:
    return _of(1, text)


def huge(rows: int) -> WorkloadsResult:
    return _of(rows)
