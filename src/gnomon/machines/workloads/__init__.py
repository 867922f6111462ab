"""Workloads for simulated machines: native generators of operations with exact counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.machines.workloads.definition import (
        Parameter,
        ParameterType,
        WorkloadDescription,
        describe,
        workload_names,
    )
    from gnomon.machines.workloads.programs import build, parse_workload

__all__ = [
    "Parameter",
    "ParameterType",
    "WorkloadDescription",
    "build",
    "describe",
    "parse_workload",
    "workload_names",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    dict.fromkeys(__all__, "definition") | dict.fromkeys(("build", "parse_workload"), "programs"),
)
