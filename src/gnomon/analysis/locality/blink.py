"""SMiLE's monitor on the Blinks of a simulated fabric: remote accesses alone pass there.

`FabricStream` is what all nodes ask of others, for `gnomon locality`. `BlinkMonitor` is the card of
one node, whose registers stand in the global address space: `RemoteMonitor` configures and reads it
from another node, with packets that cross the fabric like all others (Hockauf et al., section 3.4;
which register is where is our declaration).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.locality.counters import CounterSetup, decode
from gnomon.analysis.locality.result import Origin
from gnomon.analysis.locality.streams import Accesses, Stream
from gnomon.errors import UsageError
from gnomon.fabric.layout import BLINK_REQUEST, BLINK_RESPONSE, load_layout
from gnomon.fabric.load import NODE_SHIFT, Listed, operation
from gnomon.fabric.run import TO_RING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.fabric import Columns, FabricRun
    from gnomon.launch import Command
    from gnomon.sources.abilities import HasTraffic

_OFFSET = np.uint64((1 << NODE_SHIFT) - 1)
_NODE_WINDOW = 36  # bits of an address within a node, where nodes stand side by side
_READ_BYTES = 64  # a request to read does not say how much: the adapter reads lines
REGISTERS = 0xFFFF_FFFF_0000
"""Where the registers of a node's monitor begin, within its address space."""
_REGISTER_BYTES = 8


def accesses_of(columns: Columns, node: int | None = None) -> Accesses:
    """Return the requests that Blinks hand to their nodes, to one node or to all, as accesses.

    Addresses are offsets in one node; of several nodes each has a window of 64 GiB of its own.
    Accesses to the registers of monitors are left out.
    """
    kind = columns["type"]
    chosen = (kind >= BLINK_REQUEST) & (kind < BLINK_RESPONSE)
    chosen &= columns["flags"] & TO_RING == 0
    offset = columns["addr"] & _OFFSET
    chosen &= offset < np.uint64(REGISTERS)
    if node is not None:
        chosen &= columns["dst"] == node
    home = columns["dst"][chosen]
    address = offset[chosen]
    if node is None:
        address = home.astype(np.uint64) << np.uint64(_NODE_WINDOW) | address
    data = np.array([0, *(load_layout().type(n).data_bytes for n in range(1, 37))], np.uint32)
    size = data[kind[chosen]]
    count = int(chosen.sum())
    return Accesses(
        time_ns=columns["time"][chosen],
        address=address,
        size=np.where(size, size, np.uint32(_READ_BYTES)).astype(np.uint32),
        write=size > 0,
        source=columns["src"][chosen].astype(np.int16),
        home=home.astype(np.int16),
        thread=np.zeros(count, np.int32),
    )


class FabricStream(Stream):
    """What the nodes of a fabric ask of each other while they have a load."""

    may_end_early = True

    def __init__(self, source: HasTraffic, command: Command) -> None:
        self._source, self._command = source, command
        self.origin = Origin(
            kind="simulated",
            what=" ".join(command.argv),
            machine=source.fabric.name,
            seen="requests that arrive over the Blink of each node",
            nodes=source.fabric.topology.nodes,
            simulated=True,
        )

    def __iter__(self) -> Iterator[Accesses]:
        for columns, now_ns in self._source.traffic(self._command):
            self.duration_ns = now_ns
            yield accesses_of(columns)
        self.exit_status = 0


# ---- the card of one node ------------------------------------------------------------------------


class Register(IntEnum):
    """Registers of a monitor, in words of 8 bytes; the last five can only be read."""

    ENABLE = 0  # 1 counts; going from 0 to 1 begins anew with what the others say
    COUNTERS = 1
    RANGE_BYTES = 2
    PAGE_BYTES = 3
    STATIC_START = 4  # of one static counter; none where start and end are equal
    STATIC_END = 5
    ACCESSES = 8
    FLUSHED = 9
    EXTENSIONS = 10
    STATIC_COUNT = 11
    LOST = 12

    @property
    def address(self) -> int:
        """Where it stands within the address space of its node."""
        return REGISTERS + self * _REGISTER_BYTES


_READ_ONLY = frozenset(
    (Register.ACCESSES, Register.FLUSHED, Register.EXTENSIONS, Register.STATIC_COUNT, Register.LOST)
)


class BlinkMonitor:
    """The counter array on one node's Blink, behind its registers."""

    def __init__(self, node: int, setup: CounterSetup | None = None) -> None:
        self.node = node
        self.setup = setup or CounterSetup()
        self.enabled = False
        self._registers = {
            Register.COUNTERS: self.setup.counters,
            Register.RANGE_BYTES: self.setup.range_bytes,
            Register.PAGE_BYTES: self.setup.page_bytes,
            Register.STATIC_START: 0,
            Register.STATIC_END: 0,
        }
        self._array = self.setup.native()
        self._last_ns = 0

    def sense(self, columns: Columns) -> None:
        """Count the accesses that pass the Blink, if the monitor is enabled."""
        if not self.enabled:
            return
        accesses = accesses_of(columns, self.node)
        if len(accesses):
            self._last_ns = int(accesses.time_ns[-1])
            self._array.count(
                np.ascontiguousarray(accesses.time_ns),
                np.ascontiguousarray(accesses.address),
                np.ascontiguousarray(accesses.size),
                np.ascontiguousarray(accesses.write).view(np.uint8),
            )

    def read(self, register: Register) -> int:
        """Return what a register has."""
        array = self._array
        if register is Register.ENABLE:
            return int(self.enabled)
        if register is Register.STATIC_COUNT:
            return sum(count for _, _, count, _ in array.fixed())
        counted = {
            Register.ACCESSES: array.accesses,
            Register.FLUSHED: array.flushed,
            Register.EXTENSIONS: array.extensions,
            Register.LOST: array.lost,
        }
        return counted[register] if register in counted else self._registers[register]

    def write(self, register: Register, value: int) -> None:
        """Set a register; invalid values are refused when the monitor is enabled."""
        if register in _READ_ONLY:
            raise UsageError(f"the register {register.name} can only be read.")
        if register is not Register.ENABLE:
            self._registers[register] = value
            return
        if value and not self.enabled:
            given = self._registers
            ends = (given[Register.STATIC_START], given[Register.STATIC_END])
            self.setup = replace(
                self.setup,
                counters=given[Register.COUNTERS],
                range_bytes=given[Register.RANGE_BYTES],
                page_bytes=given[Register.PAGE_BYTES],
                static=(ends,) if ends[0] != ends[1] else (),
            )
            self._array = self.setup.native()
        self.enabled = bool(value)

    def records(self) -> NDArray[np.void]:
        """Return the flush records so far, and what is still in the counters, which are freed."""
        self._array.finish(self._last_ns)
        return decode(*self._array.take(), self.node)


@dataclass(slots=True)
class RemoteMonitor:
    """A monitor as another node sees it: each access to a register is a transaction on the fabric.

    The run must keep Blink records; they are handed to the monitors as time goes on.
    """

    run: FabricRun
    monitors: dict[int, BlinkMonitor]
    asking: int

    def write(self, node: int, register: Register, value: int) -> float:
        """Write a register of a node's monitor; return when the packet arrived there, in ns."""
        return self._access(node, register, value)[1]

    def read(self, node: int, register: Register) -> int:
        """Return what a register of a node's monitor had when the packet arrived there."""
        return self._access(node, register, None)[0]

    def advance(self, until: int) -> None:
        """Let time go on to a time in symbols."""
        self.run.advance(until)
        self._hand_out(self.run.take())

    def _access(self, node: int, register: Register, value: int | None) -> tuple[int, float]:
        if node not in self.monitors:
            raise UsageError(f"node {node} has no monitor.")
        if node == self.asking:
            raise UsageError(f"node {node} reads its own monitor without the fabric.")
        now = self.run.now
        address = node << NODE_SHIFT | register.address
        self.run.add(
            Listed(
                np.array([now * self.run.fabric.symbol_ns]),
                np.array([self.asking], np.uint16),
                np.array([node], np.uint16),
                np.zeros(1, np.int64),
                np.array([address], np.uint64),
                (operation("read16" if value is None else "write16"),),
            )
        )
        while True:
            self.run.advance(self.run.now + self.run.fabric.delay)
            columns = self.run.take()
            here = (columns["addr"] == np.uint64(address)) & (columns["src"] == self.asking)
            here &= (columns["dst"] == node) & (columns["type"] >= BLINK_REQUEST)
            here &= (columns["type"] < BLINK_RESPONSE) & (columns["flags"] & TO_RING == 0)
            arrived = np.flatnonzero(here)
            if not len(arrived):
                self._hand_out(columns)
                continue
            at = int(arrived[0])
            self._hand_out({name: each[:at] for name, each in columns.items()})
            monitor = self.monitors[node]
            if value is not None:
                monitor.write(register, value)
            found = monitor.read(register)
            self._hand_out({name: each[at:] for name, each in columns.items()})
            return found, float(columns["time"][at])

    def _hand_out(self, columns: Columns) -> None:
        if len(columns["time"]):
            for monitor in self.monitors.values():
                monitor.sense(columns)
