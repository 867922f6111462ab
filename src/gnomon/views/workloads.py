"""How the workloads of simulated machines look: all in a table, one with its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.units import format_bytes
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from gnomon.machines.workloads import Parameter, WorkloadDescription

_UNREACHED = 1e12
_COMMON = ("threads", "iterations", "placement", "seed", "cpus")


def print_workloads(workloads: Sequence[WorkloadDescription], stream: TextIO) -> None:
    """Write a line for each workload, with the parameters that are its own."""
    table = Table((Column("workload"), Column("title"), Column("parameters"), Column("source")))
    for each in workloads:
        own = " ".join(p.name for p in each.parameters if p.name not in _COMMON)
        table.add(each.name, each.title, own, each.source)
    table.print(stream)
    stream.write(
        f"\n{len(workloads)} workloads for simulated machines; "
        "`gnomon machine workloads NAME` tells more\n"
    )


def workloads_as_json(workloads: Sequence[WorkloadDescription]) -> list[dict[str, Any]]:
    """Return all workloads in the form that scripts read."""
    return [workload_as_json(each) for each in workloads]


def workload_as_json(workload: WorkloadDescription) -> dict[str, Any]:
    """Return one workload in the form that scripts read."""
    return asdict(workload)


def print_workload(workload: WorkloadDescription, stream: TextIO) -> None:
    """Write what a workload does, and its parameters with their defaults."""
    stream.write(f"{workload.name}: {workload.title} (for simulated machines)\n\n")
    stream.writelines(f"  {line}\n" for line in workload.text.splitlines())
    stream.write(f"  source: {workload.source}\n\n")
    table = Table((Column("parameter"), Column("default"), Column("values"), Column("meaning")))
    for each in workload.parameters:
        table.add(each.name, each.default, _values(each), each.help)
    table.print(stream)
    stream.write(
        f"\n  as in: gnomon count --on laptop -- workload:{workload.name}{_example(workload)}\n"
    )


def _values(parameter: Parameter) -> str:
    """Return what may be given, in few words."""
    if parameter.choices:
        return ", ".join(parameter.choices)
    if parameter.minimum is None and parameter.maximum is None:
        return ""
    low, high = _limit(parameter, parameter.minimum), _limit(parameter, parameter.maximum)
    if not high:
        return f"from {low}"
    return f"{low} to {high}" if low else f"up to {high}"


def _limit(parameter: Parameter, limit: float | None) -> str:
    """Return a limit as people write it; one that nobody will reach is left out."""
    if limit is None or limit >= _UNREACHED:
        return ""
    return format_bytes(int(limit)) if parameter.unit == "B" else f"{limit:,g}"


def _example(workload: WorkloadDescription) -> str:
    """Return the parameters that are changed most often, as they are written."""
    return "".join(
        f" {each.name}={each.default}"
        for each in workload.parameters
        if each.name in ("size", "threads")
    )
