"""Simulated machines as they are listed, and one in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gnomon.machines.machine import Machine
from gnomon.machines.routes import Matrix
from gnomon.result import Result


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A machine in a list; memory and links are those of its first node and link."""

    name: str
    title: str
    nodes: int
    cores: int
    threads: int
    clock_ghz: float
    caches: tuple[int, ...]  # B, the first level first
    memories: int
    memory_gb_per_s: float
    memory_ns: float
    links: int
    link_gb_per_s: float | None = None
    link_ns: float | None = None


@dataclass(frozen=True, slots=True)
class MachinesResult(Result):
    """The simulated machines that come with gnomon."""

    kind: ClassVar[str] = "machines"

    rows: tuple[MachineRow, ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of a simulated machine: so many general ones a thread, `uncore` a node."""

    title: str
    general: int
    fixed: tuple[str, ...]
    uncore: int
    width: int
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MachineResult(Result):
    """A simulated machine, its counters, and what a read of one node costs in another's memory.

    `latency_ns` and `gb_per_s` have a row a reading node, a column a node with the memory; they
    are those beyond the caches, without other load. None is a node without memory.
    """

    kind: ClassVar[str] = "machine"

    machine: Machine
    counters: Counters
    latency_ns: Matrix
    gb_per_s: Matrix
