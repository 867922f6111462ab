"""Simulated machines: caches, coherence, NUMA and links, described in TOML."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.machines.checks import FieldError
    from gnomon.machines.core import Core, InstructionCycles, Pipeline, Prefetcher
    from gnomon.machines.counts import Counts, Table, count_names
    from gnomon.machines.description import load_machine, machine_names, parse_machine
    from gnomon.machines.execution import (
        Execution,
        ExecutionError,
        RunOptions,
        ThreadState,
        ThreadStatus,
    )
    from gnomon.machines.ledger import Ledger, Mode, ledger_names
    from gnomon.machines.memory import DEPENDENT, Access, Kind, MemorySystem, Place, Trace
    from gnomon.machines.model import (
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
    from gnomon.machines.program import Observed, Program, Range
    from gnomon.machines.watches import SAMPLE, LatencyWatch, OverflowWatch, Watch

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
    "Cache": "model",
    "Core": "core",
    "Counts": "counts",
    "DEPENDENT": "memory",
    "Duplex": "model",
    "Execution": "execution",
    "ExecutionError": "execution",
    "FieldError": "checks",
    "InstructionCycles": "core",
    "Kind": "memory",
    "LatencyWatch": "watches",
    "Ledger": "ledger",
    "Link": "model",
    "Machine": "model",
    "MemoryController": "model",
    "MemorySystem": "memory",
    "Mode": "ledger",
    "Node": "model",
    "Observed": "program",
    "OverflowWatch": "watches",
    "Pipeline": "core",
    "Place": "memory",
    "Placement": "model",
    "Prefetcher": "core",
    "Program": "program",
    "Range": "program",
    "Replacement": "model",
    "RunOptions": "execution",
    "SAMPLE": "watches",
    "Table": "counts",
    "ThreadState": "execution",
    "ThreadStatus": "execution",
    "Tlb": "model",
    "Trace": "memory",
    "Translation": "model",
    "Watch": "watches",
    "WritePolicy": "model",
    "count_names": "counts",
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
