"""Simulated machines: caches, coherence, NUMA and links, described in TOML."""

from __future__ import annotations

from gnomon.machines.counts import Counts, Table, count_names
from gnomon.machines.description import load_machine, machine_names, parse_machine
from gnomon.machines.memory import DEPENDENT, Access, Kind, MemorySystem, Place, Trace
from gnomon.machines.model import (
    Cache,
    Core,
    Duplex,
    FieldError,
    Link,
    Machine,
    MemoryController,
    Node,
    Placement,
    Prefetcher,
    Replacement,
    Tlb,
    Translation,
    WritePolicy,
)

__all__ = [
    "DEPENDENT",
    "Access",
    "Cache",
    "Core",
    "Counts",
    "Duplex",
    "FieldError",
    "Kind",
    "Link",
    "Machine",
    "MemoryController",
    "MemorySystem",
    "Node",
    "Place",
    "Placement",
    "Prefetcher",
    "Replacement",
    "Table",
    "Tlb",
    "Trace",
    "Translation",
    "WritePolicy",
    "count_names",
    "load_machine",
    "machine_names",
    "parse_machine",
]
