"""Workloads for simulated machines: native generators of operations with exact counts."""

from gnomon.machines.workloads.build import build, parse_workload
from gnomon.machines.workloads.definition import (
    Parameter,
    ParameterType,
    WorkloadDescription,
    describe,
    workload_names,
)

__all__ = [
    "Parameter",
    "ParameterType",
    "WorkloadDescription",
    "build",
    "describe",
    "parse_workload",
    "workload_names",
]
