"""Simulated machines: caches, coherence, NUMA and links, described in TOML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

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
    from gnomon.machines.loads import FAST, SLOW, LoadRun
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
    from gnomon.machines.pmu.description import load_pmu
    from gnomon.machines.program import Observed, Program, Range
    from gnomon.machines.signals import Process, load_signal
    from gnomon.machines.workloads.programs import build, parse_workload

__all__ = [
    "DEPENDENT",
    "FAST",
    "SAMPLE",
    "SLOW",
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
    "LoadRun",
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
    "Process",
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
    "build",
    "count_names",
    "ledger_names",
    "load_machine",
    "load_pmu",
    "load_signal",
    "machine_names",
    "parse_machine",
    "parse_workload",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Access": "memory",
        "Cache": "machine",
        "Core": "core",
        "Counts": "ledger",
        "DEPENDENT": "memory",
        "Duplex": "machine",
        "Execution": "execution",
        "ExecutionError": "execution",
        "FAST": "loads",
        "FieldError": "fields",
        "InstructionCycles": "core",
        "Kind": "memory",
        "LatencyWatch": "execution",
        "Ledger": "ledger",
        "Link": "machine",
        "LoadRun": "loads",
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
        "Process": "signals",
        "Program": "program",
        "Range": "program",
        "Replacement": "machine",
        "RunOptions": "execution",
        "SAMPLE": "execution",
        "SLOW": "loads",
        "Table": "ledger",
        "ThreadState": "execution",
        "ThreadStatus": "execution",
        "Tlb": "machine",
        "Trace": "memory",
        "Translation": "machine",
        "Watch": "execution",
        "WritePolicy": "machine",
        "build": "workloads.programs",
        "count_names": "ledger",
        "ledger_names": "ledger",
        "load_machine": "description",
        "load_pmu": "pmu.description",
        "load_signal": "signals",
        "machine_names": "description",
        "parse_machine": "description",
        "parse_workload": "workloads.programs",
    },
)
