"""The network in simulated time: the clock, wires and ports, and the interface of each node.

A network interface takes messages, deposits those that arrive, into the cache or past it
(figure 4), and notifies.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count

from gnomon.errors import StateError
from gnomon.messaging.protocol import (
    ConnectionTable,
    Descriptor,
    MessageDecoder,
    ProtectionError,
    encode,
)


@dataclass(slots=True)
class Clock:
    """A time in nanoseconds that jumps from event to event."""

    now: int = 0
    _events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    _number: count[int] = field(default_factory=count)

    def at(self, time: int, what: Callable[[], None]) -> None:
        """Let something happen at a time, now or later."""
        heapq.heappush(self._events, (max(time, self.now), next(self._number), what))

    @property
    def next_time(self) -> int | None:
        """When something happens next, None if never."""
        return self._events[0][0] if self._events else None

    def step(self) -> None:
        """Go to the next event and let it happen."""
        self.now, _, what = heapq.heappop(self._events)
        what()


@dataclass(slots=True)
class Network:
    """Messages that leave a node follow each other, and so do those that enter one."""

    clock: Clock
    latency: int
    bytes_per_ns: int = 1
    _out: dict[int, int] = field(default_factory=dict)
    _into: dict[int, int] = field(default_factory=dict)

    def send(
        self,
        source: int,
        dest: int,
        size: int,
        arrived: Callable[[int, int, int], None],
    ) -> None:
        """Put a message on the wire now, or when the port is free.

        `arrived` is called when the last byte is at the destination, with the times at which
        the first byte left, the first one arrived and the last one did.
        """
        duration = -(-size // self.bytes_per_ns)
        leaves = max(self.clock.now, self._out.get(source, 0))
        self._out[source] = leaves + duration

        def head_arrives() -> None:
            # The port is taken when the head is there: messages that were sent earlier from
            # farther away must not hold it before.
            head = max(self.clock.now, self._into.get(dest, 0))
            self._into[dest] = head + duration
            self.clock.at(head + duration, lambda: arrived(leaves, head, head + duration))

        self.clock.at(leaves + self.latency, head_arrives)


LINE_BYTES = 64


class Placement(StrEnum):
    """What becomes of a cache line of a message."""

    INJECT = "injected"
    """Allocated in the second-level cache without reading memory: the whole line is new."""
    INJECT_AND_FILL = "injected and filled"
    """Allocated, and the rest of the line read from memory."""
    UPDATE = "updated"
    """Written where the line is cached already."""
    FORWARD = "forwarded"
    """Written to memory."""


def place_line(
    *, hint: bool, connection: bool, running: bool, cached: bool, whole: bool
) -> Placement:
    """Decide about a line: by the message, the connection, and who runs.

    `whole` says whether the message covers all of the line. A line is injected only when
    the sender asks for it, the system allows it and the receiving process runs.
    """
    if cached:
        return Placement.UPDATE
    if hint and connection and running:
        return Placement.INJECT if whole else Placement.INJECT_AND_FILL
    return Placement.FORWARD


def lines(address: int, size: int) -> list[tuple[int, bool]]:
    """Return the lines that a range touches, each with whether the range covers all of it."""
    first, last = address // LINE_BYTES, (address + size - 1) // LINE_BYTES
    return [
        (
            line,
            address <= line * LINE_BYTES and (line + 1) * LINE_BYTES <= address + size,
        )
        for line in range(first, last + 1 if size else first)
    ]


PIO_BYTES = 1024
"""A message of programmed I/O has at most so many bytes of metadata and data."""
QUEUE_LENGTH = 1024
"""So many messages can wait, or be read and not yet freed."""


@dataclass(eq=False, slots=True)
class Note:
    """A message that has come, as `poll_recv` and `sleep_recv` return it."""

    descriptor: Descriptor
    number: int
    arrived: int
    freed: bool = False


@dataclass(slots=True)
class Memory:
    """The memory of a process that messages may use."""

    base: int
    content: bytearray

    def read(self, address: int, size: int) -> bytes:
        """Return bytes."""
        at = self._at(address, size)
        return bytes(self.content[at : at + size])

    def write(self, address: int, data: bytes) -> None:
        """Put bytes."""
        at = self._at(address, len(data))
        self.content[at : at + len(data)] = data

    def _at(self, address: int, size: int) -> int:
        at = address - self.base
        if size < 0 or at < 0 or at + size > len(self.content):
            raise ProtectionError(
                f"{size} bytes at {address:#x} are outside of the memory for messages: "
                f"{self.base:#x} to {self.base + len(self.content):#x}."
            )
        return at


@dataclass(slots=True)
class NetworkInterface:
    """One node's: connections, the queue of messages that have come, and the cache's view."""

    node: int
    memory: Memory
    connections: ConnectionTable
    running: Callable[[], bool]
    queue: deque[Note] = field(default_factory=deque)
    placements: Counter[Placement] = field(default_factory=Counter)
    cached: set[int] = field(default_factory=set)
    _held: int = 0

    def packets_by_dma(self, descriptor: Descriptor) -> tuple[Descriptor, list[bytes]]:
        """Check a message, fetch it from memory and cut it into packets."""
        physical = self.connections.outgoing(descriptor)
        self.connections.check_local(descriptor)
        metadata = self.memory.read(descriptor.metadata_src, descriptor.metadata_size) \
            if descriptor.metadata_size else b""  # fmt: skip
        data = (
            self.memory.read(descriptor.data_src, descriptor.data_size)
            if descriptor.data_size
            else b""
        )
        return physical, encode(physical, metadata, data)

    def packets_by_pio(
        self, descriptor: Descriptor, metadata: bytes, data: bytes
    ) -> tuple[Descriptor, list[bytes]]:
        """Check a message that was written to registers and cut it into packets."""
        if len(metadata) + len(data) > PIO_BYTES:
            raise ProtectionError(
                f"{len(metadata) + len(data)} bytes are too many for programmed I/O: "
                f"at most {PIO_BYTES}; send by DMA."
            )
        physical = self.connections.outgoing(descriptor)
        return physical, encode(physical, metadata, data)

    def deposit(self, packets: list[bytes], number: int, time: int) -> Note:
        """Check a message that has come, write it to memory and queue its descriptor."""
        decoder = MessageDecoder()
        message = None
        for packet in packets:
            message = decoder.feed(packet)
        assert message is not None
        connection, descriptor = self.connections.incoming(message.descriptor)
        if len(self.queue) + self._held >= QUEUE_LENGTH:
            raise StateError(
                f"the receive queue of node {self.node} is full: {QUEUE_LENGTH} messages are "
                "neither received nor freed; call free_note when a message is done with."
            )
        for address, part in (
            (descriptor.metadata_dest, message.metadata),
            (descriptor.data_dest, message.data),
        ):
            self._place(address, len(part), descriptor, inject=connection.inject)
            if part:
                self.memory.write(address, part)
        note = Note(descriptor, number, time)
        self.queue.append(note)
        return note

    def _place(self, address: int, size: int, descriptor: Descriptor, *, inject: bool) -> None:
        for line, whole in lines(address, size):
            placement = place_line(
                hint=descriptor.cache_hint,
                connection=inject,
                running=self.running(),
                cached=line in self.cached,
                whole=whole,
            )
            self.placements[placement] += 1
            if placement is not Placement.FORWARD:
                self.cached.add(line)

    def has_before(self, time: int) -> bool:
        """Whether a message had arrived before a time: one that arrives right then is not seen."""
        return bool(self.queue) and self.queue[0].arrived < time

    def take(self) -> Note | None:
        """Take the oldest message out of the queue."""
        if not self.queue:
            return None
        self._held += 1
        return self.queue.popleft()

    def free(self, note: Note) -> None:
        """Give the place of a message back."""
        if note.freed:
            raise StateError("this message was freed before: free_note once for each.")
        note.freed = True
        self._held -= 1
