"""The wire protocol of user-level messages: descriptors, packets, and who may write where.

The sender names the address at the receiver, so that nothing is copied on the way. Software and
network interface exchange descriptors at both ends (L443 to L470). A packet has at most 1,024
bytes of payload and a CRC.

The document gives the widths of most fields and 38 bytes for a message without payload (36 in
one place). Chosen here so that the sum is 38: nodes have 16 bits, and the CRC of a whole
message has 16 bits. The first packet has the header of the message, a sequence number and a
CRC; further packets have 10 bytes before their payload. The last one ends with the CRC of the
message.
"""

from __future__ import annotations

import struct
from binascii import crc_hqx
from dataclasses import astuple, dataclass, field, fields, replace
from enum import IntEnum
from zlib import crc32

from gnomon.errors import GnomonError


class ProtocolError(GnomonError):
    """Bytes that are no message, or a message that does not fit the wire."""


class ProtectionError(ProtocolError):
    """A message to or from where its sender has no right to write or read."""


_LAYOUT = struct.Struct("<6I5Q")
_DOORBELL_BIT, _CACHE_BIT = 0x01, 0x02


class Doorbell(IntEnum):
    """Whether a message wakes a thread where it arrives."""

    POLL = 0
    WAKE = 1


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A message to be sent, or one that has come; 64 bytes in memory.

    Addresses named `_src` are the sender's, those named `_dest` the receiver's. Where a
    message comes from is filled in by the network interface; at the receiver `_src`
    addresses are zero.
    """

    dest_node_id: int = 0
    comm_id: int = 0
    src_node_id: int = 0
    message_flags: int = 0
    user_field: int = 0
    metadata_size: int = 0
    metadata_src: int = 0
    metadata_dest: int = 0
    data_size: int = 0
    data_src: int = 0
    data_dest: int = 0

    def __post_init__(self) -> None:
        for each, limit in zip(fields(self), (32,) * 6 + (64,) * 5, strict=True):
            value = getattr(self, each.name)
            if not 0 <= value < 1 << limit:
                raise ProtocolError(
                    f"{each.name} of a message is {value}: it has {limit} bits without a sign."
                )

    @property
    def doorbell(self) -> Doorbell:
        """Whether it is to wake a thread."""
        return Doorbell.WAKE if self.message_flags & _DOORBELL_BIT else Doorbell.POLL

    @property
    def cache_hint(self) -> bool:
        """Whether its sender wants it in the receiver's cache."""
        return bool(self.message_flags & _CACHE_BIT)

    def flagged(self, doorbell: Doorbell, *, cache_hint: bool = True) -> Descriptor:
        """Return the descriptor with these flags."""
        flags = (_DOORBELL_BIT if doorbell is Doorbell.WAKE else 0) | (
            _CACHE_BIT if cache_hint else 0
        )
        return replace(self, message_flags=flags)

    def pack(self) -> bytes:
        """Return the descriptor as it stands in memory."""
        return _LAYOUT.pack(*astuple(self))

    @classmethod
    def unpack(cls, content: bytes) -> Descriptor:
        """Return the descriptor that stands in these bytes."""
        if len(content) != _LAYOUT.size:
            raise ProtocolError(f"a descriptor has {_LAYOUT.size} bytes, not {len(content)}.")
        return cls(*_LAYOUT.unpack(content))


DESCRIPTOR_BYTES = _LAYOUT.size


@dataclass(frozen=True, slots=True)
class Connection:
    """An entry that the system sets up and user code cannot reach.

    `nodes` are the physical nodes of the job in the order of their virtual numbers. Memory
    from `base` to before `bounds` may be written to. With `inject` cleared no message goes
    into the cache.
    """

    comm_id: int
    context: int
    base: int
    bounds: int
    nodes: tuple[int, ...]
    inject: bool = True


@dataclass(slots=True)
class ConnectionTable:
    """The connections of one network interface."""

    node: int
    _entries: dict[int, Connection] = field(default_factory=dict)

    def add(self, connection: Connection) -> None:
        """Set a connection up."""
        if not 0 <= connection.comm_id < 1 << 16:
            raise ProtectionError(f"connection {connection.comm_id} has no number of 16 bits.")
        if connection.comm_id in self._entries:
            raise ProtectionError(f"connection {connection.comm_id} is there already.")
        if not 0 <= connection.base <= connection.bounds < 1 << 48:
            raise ProtectionError("the bounds of a connection are no range of addresses.")
        if self.node not in connection.nodes:
            raise ProtectionError(f"node {self.node} has no part in that connection.")
        self._entries[connection.comm_id] = connection

    def remove(self, comm_id: int) -> None:
        """Take a connection away; messages that still come for it are refused."""
        self.find(comm_id)
        del self._entries[comm_id]

    def allow_injection(self, comm_id: int, *, allowed: bool) -> None:
        """Set or clear the bit with which the system keeps messages out of the cache."""
        self._entries[comm_id] = replace(self.find(comm_id), inject=allowed)

    def find(self, comm_id: int) -> Connection:
        """Return a connection by its number."""
        found = self._entries.get(comm_id)
        if found is None:
            raise ProtectionError(
                f"node {self.node} has no connection {comm_id}: establish communication first."
            )
        return found

    def outgoing(self, descriptor: Descriptor) -> Descriptor:
        """Check a message to be sent; returns it with the physical destination and its source."""
        connection = self.find(descriptor.comm_id)
        if descriptor.dest_node_id >= len(connection.nodes):
            raise ProtectionError(
                f"there is no node {descriptor.dest_node_id} in connection {descriptor.comm_id}: "
                f"it has {len(connection.nodes)}, counted from 0."
            )
        return replace(
            descriptor,
            dest_node_id=connection.nodes[descriptor.dest_node_id],
            src_node_id=connection.nodes.index(self.node),
        )

    def check_local(self, descriptor: Descriptor) -> None:
        """Check the addresses from which a message is to be fetched."""
        connection = self.find(descriptor.comm_id)
        _check_range(connection, "metadata_src", descriptor.metadata_src, descriptor.metadata_size)
        _check_range(connection, "data_src", descriptor.data_src, descriptor.data_size)

    def incoming(self, descriptor: Descriptor) -> tuple[Connection, Descriptor]:
        """Check a message that has come; returns its connection and the descriptor to deliver."""
        if descriptor.dest_node_id != self.node:
            raise ProtectionError(
                f"a message for node {descriptor.dest_node_id} came to node {self.node}."
            )
        connection = self.find(descriptor.comm_id)
        if descriptor.src_node_id >= len(connection.nodes):
            raise ProtectionError(
                f"a message of node {descriptor.src_node_id} came, which is not in the connection."
            )
        for name in ("metadata", "data"):
            start, size = getattr(descriptor, f"{name}_dest"), getattr(descriptor, f"{name}_size")
            _check_range(connection, f"{name}_dest", start, size)
        here = connection.nodes.index(self.node)
        return connection, replace(descriptor, dest_node_id=here, metadata_src=0, data_src=0)


def _check_range(connection: Connection, name: str, start: int, size: int) -> None:
    if size and not connection.base <= start <= start + size <= connection.bounds:
        raise ProtectionError(
            f"{name} names {size} bytes at {start:#x}, outside of what the connection may use: "
            f"{connection.base:#x} to {connection.bounds:#x}."
        )


PAYLOAD_BYTES = 1024
"""Of a packet, at most."""
LARGEST_PART = (1 << 28) - 1
"""Bytes of metadata and of data, at most: sizes have 28 bits."""
# dest, comm, flags, source, user field; then two addresses of 48 and two sizes of 28 bits.
_START = struct.Struct(">HHBHI")
_SEQUENCE_AND_CRC = struct.Struct(">HI")
_FURTHER = struct.Struct(">HHHI")
_ADDRESS_BYTES, _SIZES_BYTES, _MESSAGE_CRC_BYTES = 6, 7, 2
_HEADER_BYTES = _START.size + 2 * _ADDRESS_BYTES + _SIZES_BYTES
_FIRST_BYTES = _HEADER_BYTES + _SEQUENCE_AND_CRC.size
MINIMAL_BYTES = _FIRST_BYTES + _MESSAGE_CRC_BYTES
"""Of a message without payload."""
FURTHER_BYTES = _FURTHER.size
"""Before the payload of each packet but the first."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it comes out at the receiver."""

    descriptor: Descriptor
    metadata: bytes = b""
    data: bytes = b""


def packet_count(payload: int) -> int:
    """Return in how many packets a message with so many bytes of payload goes."""
    return max(-(-payload // PAYLOAD_BYTES), 1)


def wire_bytes(payload: int) -> int:
    """Return how many bytes a message with so many bytes of payload has on the wire."""
    return MINIMAL_BYTES + payload + FURTHER_BYTES * (packet_count(payload) - 1)


def encode(descriptor: Descriptor, metadata: bytes = b"", data: bytes = b"") -> list[bytes]:
    """Return the packets of a message; its destination is a physical node here."""
    for name, size, part in (
        ("metadata", descriptor.metadata_size, metadata),
        ("data", descriptor.data_size, data),
    ):
        if size != len(part):
            raise ProtocolError(
                f"the descriptor says {size} bytes of {name}, but {len(part)} are given."
            )
    header = _header(descriptor)
    payload = metadata + data
    parts = [payload[at : at + PAYLOAD_BYTES] for at in range(0, len(payload), PAYLOAD_BYTES)]
    parts = parts or [b""]
    check = crc_hqx(header + payload, 0xFFFF).to_bytes(_MESSAGE_CRC_BYTES, "big")
    parts[-1] += check
    first = _SEQUENCE_AND_CRC.pack(0, _packet_crc(header, 0, parts[0]))
    packets = [header + first + parts[0]]
    route = header[:4]
    for number, part in enumerate(parts[1:], 1):
        sequence = number & 0xFFFF
        crc = _packet_crc(route, sequence, part)
        packets.append(route + _SEQUENCE_AND_CRC.pack(sequence, crc) + part)
    return packets


def _header(descriptor: Descriptor) -> bytes:
    for name, bits in (
        ("dest_node_id", 16),
        ("src_node_id", 16),
        ("comm_id", 16),
        ("message_flags", 8),
        ("metadata_size", 28),
        ("data_size", 28),
        ("metadata_dest", 48),
        ("data_dest", 48),
    ):
        value = getattr(descriptor, name)
        if value >> bits:
            raise ProtocolError(f"{name} is {value}: on the wire it has {bits} bits.")
    start = _START.pack(
        descriptor.dest_node_id,
        descriptor.comm_id,
        descriptor.message_flags,
        descriptor.src_node_id,
        descriptor.user_field,
    )
    addresses = b"".join(
        address.to_bytes(_ADDRESS_BYTES, "big")
        for address in (descriptor.metadata_dest, descriptor.data_dest)
    )
    sizes = (descriptor.metadata_size << 28 | descriptor.data_size).to_bytes(_SIZES_BYTES, "big")
    return start + addresses + sizes


def _parse_header(content: bytes) -> Descriptor:
    dest, comm, flags, source, user = _START.unpack_from(content)
    at = _START.size
    addresses = [
        int.from_bytes(content[at + i * _ADDRESS_BYTES : at + (i + 1) * _ADDRESS_BYTES], "big")
        for i in range(2)
    ]
    sizes = int.from_bytes(content[at + 2 * _ADDRESS_BYTES : _HEADER_BYTES], "big")
    return Descriptor(
        dest_node_id=dest,
        comm_id=comm,
        src_node_id=source,
        message_flags=flags,
        user_field=user,
        metadata_size=sizes >> 28,
        metadata_dest=addresses[0],
        data_size=sizes & LARGEST_PART,
        data_dest=addresses[1],
    )


def _packet_crc(front: bytes, sequence: int, payload: bytes) -> int:
    return crc32(payload, crc32(front + sequence.to_bytes(2, "big")))


@dataclass(slots=True)
class MessageDecoder:
    """Puts the packets that come over one channel, in order, together to messages again.

    After a `ProtocolError` it waits for the first packet of another message.
    """

    _header: bytes = b""
    _descriptor: Descriptor | None = None
    _payload: bytearray = field(default_factory=bytearray)
    _packets: int = 0

    @property
    def in_progress(self) -> bool:
        """Whether a message has begun that is not complete."""
        return self._descriptor is not None

    def feed(self, packet: bytes) -> Message | None:
        """Take a packet; returns the message that it completes, if it does."""
        try:
            return self._begin(packet) if self._descriptor is None else self._go_on(packet)
        except ProtocolError:
            self._forget()
            raise

    def _begin(self, packet: bytes) -> Message | None:
        if len(packet) < _FIRST_BYTES:
            raise ProtocolError(
                f"a packet of {len(packet)} bytes cannot begin a message: the header is cut off."
            )
        header, payload = packet[:_HEADER_BYTES], packet[_FIRST_BYTES:]
        sequence, crc = _SEQUENCE_AND_CRC.unpack_from(packet, _HEADER_BYTES)
        if crc != _packet_crc(header, sequence, payload):
            raise ProtocolError("a packet is damaged: its CRC does not match.")
        if sequence != 0:
            raise ProtocolError(f"packet {sequence} came where a message should begin.")
        self._header, self._descriptor, self._packets = header, _parse_header(header), 0
        return self._take(payload)

    def _go_on(self, packet: bytes) -> Message | None:
        if len(packet) < FURTHER_BYTES:
            raise ProtocolError(f"a packet of {len(packet)} bytes has no complete header.")
        sequence, crc = _SEQUENCE_AND_CRC.unpack_from(packet, 4)
        payload = packet[FURTHER_BYTES:]
        if crc != _packet_crc(packet[:4], sequence, payload):
            raise ProtocolError("a packet is damaged: its CRC does not match.")
        if packet[:4] != self._header[:4]:
            raise ProtocolError("a packet of another message came before this one was complete.")
        if sequence != self._packets & 0xFFFF:
            raise ProtocolError(
                f"packet {sequence} came where {self._packets & 0xFFFF} was expected: "
                "one is lost or twice there."
            )
        return self._take(payload)

    def _take(self, payload: bytes) -> Message | None:
        assert self._descriptor is not None
        wanted = self._descriptor.metadata_size + self._descriptor.data_size
        rest = wanted - len(self._payload)
        last = rest <= PAYLOAD_BYTES
        expected = rest + _MESSAGE_CRC_BYTES if last else PAYLOAD_BYTES
        if len(payload) != expected:
            raise ProtocolError(
                f"a packet has {len(payload)} bytes of payload where {expected} were expected."
            )
        self._packets += 1
        if not last:
            self._payload += payload
            return None
        self._payload += payload[:-_MESSAGE_CRC_BYTES]
        check = int.from_bytes(payload[-_MESSAGE_CRC_BYTES:], "big")
        if check != crc_hqx(self._header + bytes(self._payload), 0xFFFF):
            raise ProtocolError("a message is damaged: its CRC does not match.")
        split = self._descriptor.metadata_size
        content = bytes(self._payload)
        message = Message(replace(self._descriptor), content[:split], content[split:])
        self._forget()
        return message

    def _forget(self) -> None:
        self._header, self._descriptor, self._payload, self._packets = b"", None, bytearray(), 0
