"""Simulated machines: caches, coherence, NUMA and links, described in TOML."""

from __future__ import annotations

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
