"""Simulated machines: caches, coherence, NUMA and links, described in TOML."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.machines.core import Core, InstructionCycles, Pipeline, Prefetcher
    from gnomon.machines.description import load_machine, machine_names, parse_machine
    from gnomon.machines.execution import (
        SAMPLE,
        Execution,
        ExecutionError,
        LatencyWatch,
        OverflowWatch,
        RunOptions,
        ThreadState,
        ThreadStatus,
        Watch,
    )
    from gnomon.machines.fields import FieldError
    from gnomon.machines.ledger import Counts, Ledger, Mode, Table, count_names, ledger_names
    from gnomon.machines.machine import (
        Cache,
        Duplex,
        Link,
        Machine,
        MemoryController,
        Node,
        Placement,
        Replacement,
        Tlb,
        Translation,
        WritePolicy,
    )
    from gnomon.machines.memory import DEPENDENT, Access, Kind, MemorySystem, Place, Trace
    from gnomon.machines.program import Observed, Program, Range

__all__ = [
    "DEPENDENT",
    "SAMPLE",
    "Access",
    "Cache",
    "Core",
    "Counts",
    "Duplex",
    "Execution",
    "ExecutionError",
    "FieldError",
    "InstructionCycles",
    "Kind",
    "LatencyWatch",
    "Ledger",
    "Link",
    "Machine",
    "MemoryController",
    "MemorySystem",
    "Mode",
    "Node",
    "Observed",
    "OverflowWatch",
    "Pipeline",
    "Place",
    "Placement",
    "Prefetcher",
    "Program",
    "Range",
    "Replacement",
    "RunOptions",
    "Table",
    "ThreadState",
    "ThreadStatus",
    "Tlb",
    "Trace",
    "Translation",
    "Watch",
    "WritePolicy",
    "count_names",
    "ledger_names",
    "load_machine",
    "machine_names",
    "parse_machine",
]

_MODULES = {
    "Access": "memory",
    "Cache": "machine",
    "Core": "core",
    "Counts": "ledger",
    "DEPENDENT": "memory",
    "Duplex": "machine",
    "Execution": "execution",
    "ExecutionError": "execution",
    "FieldError": "fields",
    "InstructionCycles": "core",
    "Kind": "memory",
    "LatencyWatch": "execution",
    "Ledger": "ledger",
    "Link": "machine",
    "Machine": "machine",
    "MemoryController": "machine",
    "MemorySystem": "memory",
    "Mode": "ledger",
    "Node": "machine",
    "Observed": "program",
    "OverflowWatch": "execution",
    "Pipeline": "core",
    "Place": "memory",
    "Placement": "machine",
    "Prefetcher": "core",
    "Program": "program",
    "Range": "program",
    "Replacement": "machine",
    "RunOptions": "execution",
    "SAMPLE": "execution",
    "Table": "ledger",
    "ThreadState": "execution",
    "ThreadStatus": "execution",
    "Tlb": "machine",
    "Trace": "memory",
    "Translation": "machine",
    "Watch": "execution",
    "WritePolicy": "machine",
    "count_names": "ledger",
    "ledger_names": "ledger",
    "load_machine": "description",
    "machine_names": "description",
    "parse_machine": "description",
}


def __getattr__(name: str) -> Any:
    # Names are fetched on first use: the simulation needs numpy, `gnomon cc` does not.
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
