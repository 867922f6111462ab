"""The memory system of a simulated machine: references in, latencies and counts out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.machines.ledger import Counts, counts_of
from gnomon.machines.lowering import (
    PLACEMENTS,
    TICKS_PER_CYCLE,
    native_system,
    ns_of_ticks,
    ticks_of_ns,
)
from gnomon.machines.machine import Placement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gnomon.machines.machine import Machine

_HIGHEST_ADDRESS = 1 << 60  # page tables live above


class Kind(IntEnum):
    """What a reference does."""

    LOAD = 0
    STORE = 1
    FETCH = 2


class Place(IntEnum):
    """Where a reference was answered.

    A cache of another core answers only when it may hold the one valid copy.
    """

    L1 = 0
    L2 = 1
    L3 = 2
    LOCAL_CACHE = 3
    REMOTE_CACHE = 4
    LOCAL_MEMORY = 5
    REMOTE_MEMORY = 6


DEPENDENT = 4
"""Added to a Kind in a trace: the thread waits for the result before it goes on."""


@dataclass(frozen=True, slots=True)
class Access:
    """The answer to one reference: from where, from which node, after how long."""

    place: Place
    node: int
    cycles: float
    ns: float


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What one hardware thread does, in order.

    `operations` holds a Kind each, plus DEPENDENT; without it all are independent loads.
    `sizes` are bytes, needed only where references cross lines; `gaps` are cycles of other
    work before a reference.
    """

    thread: int
    addresses: NDArray[np.uint64]
    operations: NDArray[np.uint8] | None = None
    sizes: NDArray[np.uint8] | None = None
    gaps: NDArray[np.uint16] | None = None

    def __post_init__(self) -> None:
        for name in ("operations", "sizes", "gaps"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.addresses):
                raise UsageError(
                    f"a trace has {len(self.addresses)} addresses and {len(column)} {name}."
                )


class MemorySystem:
    """Caches, directory, links and memory of a machine, in simulated time.

    The same machine, seed, quantum and references give the same counts and times, bit for
    bit. Addresses are physical and virtual at once: the page of an address only decides
    which node it lives on.
    """

    def __init__(self, machine: Machine, *, seed: int = 1) -> None:
        self.machine = machine
        self.seed = seed
        self._system = _native.MachineSystem(native_system(machine, seed))

    def access(
        self,
        thread: int,
        address: int,
        size: int = 8,
        kind: Kind = Kind.LOAD,
        *,
        dependent: bool = True,
    ) -> Access:
        """Make one reference; the thread's time moves on."""
        self._check_thread(thread)
        self._check_range(address, size)
        place, node, latency = self._system.access(thread, address, size, kind, dependent)
        return Access(
            Place(place), node, latency / TICKS_PER_CYCLE, ns_of_ticks(self.machine, latency)
        )

    def run(
        self,
        traces: Sequence[Trace],
        *,
        quantum_ns: float = 0.0,
        until_ns: float | None = None,
    ) -> tuple[int, ...]:
        """Run traces side by side and return how far each came.

        Threads take turns in simulated time. A quantum above zero lets a thread run that far
        ahead of the slowest, which is faster and changes the order of what happens within it.
        """
        streams = []
        for trace in traces:
            self._check_thread(trace.thread)
            addresses = _column(trace.addresses, np.uint64)
            if addresses.size and int(addresses.max()) >= _HIGHEST_ADDRESS:
                raise UsageError("a trace has addresses of 2^60 or above.")
            operations = _column(trace.operations, np.uint8)
            if operations is not None and operations.size and int(operations.max()) > 6:
                raise UsageError("a trace has operations that are no Kind, plus DEPENDENT.")
            sizes, gaps = _column(trace.sizes, np.uint8), _column(trace.gaps, np.uint16)
            streams.append(_native.MachineStream(trace.thread, addresses, operations, sizes, gaps))
        if len({trace.thread for trace in traces}) < len(traces):
            raise UsageError("two traces are for the same thread.")
        quantum = self.quantum(quantum_ns)
        until = None if until_ns is None else ticks_of_ns(self.machine, until_ns)
        return tuple(self._system.run(streams, quantum, until))

    def place(
        self,
        placement: Placement,
        nodes: Sequence[int] | None = None,
        *,
        start: int | None = None,
        size: int = 0,
    ) -> None:
        """Say where pages will be placed that are not placed yet: of a range, or all others.

        The latest range that holds a page decides.
        """
        having = [i for i, node in enumerate(self.machine.nodes) if node.memory is not None]
        chosen = having if nodes is None else list(nodes)
        if not chosen or not set(chosen) <= set(having):
            wrong = next((node for node in chosen if node not in having), "none")
            raise UsageError(
                f"placement: {self.machine.name} has no memory on node {wrong}: choose from "
                f"{', '.join(map(str, having))}."
            )
        if placement is Placement.BIND and len(chosen) != 1:
            raise UsageError("pages are bound to one node: name it.")
        if start is not None:
            self._check_range(start, size)
        self._system.set_placement(PLACEMENTS.index(placement), chosen, start, size)

    def migrate(self, start: int, size: int, node: int, *, thread: int = 0) -> None:
        """Move the pages of a range to a node; the thread does it and loses the time.

        Pages that are not placed yet stay so.
        """
        self._check_thread(thread)
        self._check_range(start, size)
        if not 0 <= node < len(self.machine.nodes) or self.machine.nodes[node].memory is None:
            raise UsageError(f"node {node} of {self.machine.name} has no memory.")
        self._system.migrate(thread, start, size, node)

    def node_of(self, address: int) -> int | None:
        """Return the node of an address, None before its page is first used."""
        return self._system.node_of(address)

    def time_ns(self, thread: int) -> float:
        """Return how far a thread has come in simulated time."""
        self._check_thread(thread)
        return ns_of_ticks(self.machine, self._system.time(thread))

    def quantum(self, nanoseconds: float) -> int:
        """Return a quantum in ticks, if the machine allows it."""
        quantum = ticks_of_ns(self.machine, nanoseconds)
        if not 0 <= quantum <= self._system.longest_quantum:
            most = ns_of_ticks(self.machine, self._system.longest_quantum)
            raise UsageError(f"the quantum must be 0 to {most:g} ns, not {nanoseconds:g}.")
        return quantum

    def engine(
        self, spec: _native.EngineSpec, feeds: Sequence[_native.Feed], binding: Sequence[int]
    ) -> _native.Engine:
        """Return what executes feeds on this memory; nothing else may use it meanwhile."""
        return _native.Engine(self._system, spec, list(feeds), list(binding))

    def watch_remote(self, monitor: _native.Monitor | None) -> None:
        """Tell a monitor of every reference that another node answers, or none any more."""
        self._system.set_monitor(monitor)

    def counts(self) -> Counts:
        """Return a copy of all counts."""
        return counts_of(self._system, self.machine.name, self.seed)

    def clear_counts(self) -> None:
        """Set all counts to zero; caches, pages and times stay as they are."""
        self._system.clear_counts()

    def state(self, core: int, address: int) -> str:
        """Return the MESI state of a line in the caches of a core: M, E, S or I."""
        if not 0 <= core < self.machine.cores:
            raise UsageError(f"{self.machine.name} has no core {core}.")
        return self._system.state(core, address)

    def _check_thread(self, thread: int) -> None:
        if not 0 <= thread < self.machine.threads:
            raise UsageError(
                f"{self.machine.name} has {self.machine.threads} threads, none is number {thread}."
            )

    def _check_range(self, start: int, size: int) -> None:
        if size < 1 or start < 0 or start + size > _HIGHEST_ADDRESS:
            raise UsageError(f"{size} bytes at {start:#x} are no range of addresses below 2^60.")


def _column(values: NDArray[np.generic] | None, kind: type[np.generic]) -> NDArray[np.generic]:
    return None if values is None else np.ascontiguousarray(values, dtype=kind)  # type: ignore[return-value]


MONITORED = np.dtype(
    [
        ("time", np.int64),
        ("address", np.uint64),
        ("size", np.uint32),
        ("task", np.uint32),
        ("node", np.uint16),
        ("home", np.uint16),
        ("write", np.uint8),
        ("place", np.uint8),
        ("spare", np.uint16),
    ]
)
"""What a monitor of a simulated machine keeps of an access; times are in ticks."""
