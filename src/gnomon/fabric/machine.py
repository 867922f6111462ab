"""The remote accesses of a simulated machine as a load: its nodes are those of the fabric.

The machine goes ahead of the fabric and hears nothing of it: its own links say how long an access
takes there, the fabric how long it would take here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.fabric.load import NODE_SHIFT, Listed, operation
from gnomon.fabric.topology import FabricError

if TYPE_CHECKING:
    from gnomon.machines.execution import Execution

_OPERATIONS = (operation("read64"), operation("write64"))
_OFFSET = (1 << NODE_SHIFT) - 1


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """What runs on a simulated machine, by its words; 64 B are read or written at a time."""

    machine: str
    command: tuple[str, ...]
    seed: int = 1


class MachineFeed:
    """A machine that is run as far as its accesses are wanted."""

    def __init__(self, load: MachineLoad, hosts: int) -> None:
        from gnomon.machines import Execution, load_machine
        from gnomon.machines.workloads import build, parse_workload

        machine = load_machine(load.machine)
        if len(machine.nodes) > hosts:
            raise FabricError(
                f"{machine.name} has {len(machine.nodes)} nodes, and the fabric only {hosts}"
            )
        if len(machine.nodes) == 1:
            raise FabricError(f"{machine.name} has one node, so no access is remote")
        name, parameters = parse_workload(load.command)
        program = build(name, parameters, seed=load.seed)
        self._execution: Execution = Execution(machine, program, seed=load.seed)
        self._monitor = _native.StreamMonitor(False)
        self._execution.memory.watch_remote(self._monitor)
        self._last_ns = 0.0
        self.ended = False

    def advance(self, until_ns: float) -> Listed:
        """Go on to a time and return the accesses since the last call, in order of time."""
        import numpy as np

        from gnomon.machines.lowering import TICKS_PER_CYCLE
        from gnomon.machines.memory import MONITORED

        pieces = []
        while not self.ended and self._execution.now_ns < until_ns:
            self.ended = self._execution.advance(until_ns, seconds=0.05)
            pieces.append(np.frombuffer(self._monitor.take(), MONITORED))
        rows = np.concatenate(pieces) if pieces else np.empty(0, MONITORED)
        rows = rows[rows["node"] != rows["home"]]
        per_ns = self._execution.machine.core.clock_ghz * TICKS_PER_CYCLE
        # Threads that run ahead of each other within a piece may be told of late.
        time = np.maximum(rows["time"] / per_ns, self._last_ns)
        order = np.argsort(time, kind="stable")
        rows, time = rows[order], time[order]
        self._last_ns = max(self._last_ns, until_ns, *time[-1:].tolist())
        home = rows["home"].astype(np.uint64)
        return Listed(
            time,
            rows["node"].astype(np.uint16),
            rows["home"].astype(np.uint16),
            (rows["write"] != 0).astype(np.int64),
            home << np.uint64(NODE_SHIFT) | rows["address"] & np.uint64(_OFFSET),
            _OPERATIONS,
        )
