"""The network interface of a node: takes messages, deposits those that arrive, and notifies."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gnomon.errors import StateError
from gnomon.messaging.protocol import (
    ConnectionTable,
    Descriptor,
    MessageDecoder,
    ProtectionError,
    encode,
)
from gnomon.messaging.uln.injection import Placement, lines, place_line

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
